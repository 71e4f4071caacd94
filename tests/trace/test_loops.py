"""Iteration counts: what the rules read from real line events, against counts kept by hand.

Each program calls `at(...)` with the iteration it is really in, outermost loop first; the
counts of the calling frame must say the same.
"""

from __future__ import annotations

import sys
import textwrap
from types import FrameType
from typing import Any

import pytest

from tutor.trace.loops import Counts, advance, loops_of


class Watch:
    """Follows a program's line events, as the observer does, and compares at each `at`."""

    def __init__(self, source: str) -> None:
        self.source = textwrap.dedent(source)
        self.frames: dict[FrameType, tuple[int, Counts]] = {}
        self.seen: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if code.co_filename != "snippet.py":
            return None
        before, counts = self.frames.get(frame, (code.co_firstlineno, ()))
        if event == "line":
            table = loops_of(self.source, code.co_qualname, code.co_firstlineno)
            counts = advance(table, counts, before, frame.f_lineno)
            self.frames[frame] = (frame.f_lineno, counts)
        return self.trace

    def at(self, *wanted: int) -> None:
        _, counts = self.frames[sys._getframe(1)]
        self.seen.append((wanted, tuple(count for _, count in counts if count)))

    def run(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        code = compile(self.source, "snippet.py", "exec")
        previous = sys.gettrace()
        sys.settrace(self.trace)
        try:
            exec(code, {"__name__": "__main__", "at": self.at})
        finally:
            sys.settrace(previous)
        return self.seen


PROGRAMS = {
    "for": """
        at()
        for i in range(3):
            at(i + 1)
            at(i + 1)
        at()
        """,
    "while": """
        n = 0
        while n < 3:
            n += 1
            at(n)
        """,
    "while-true": """
        n = 0
        while True:
            n += 1
            at(n)
            if n == 3:
                break
        at()
        """,
    "while-true-one-statement": """
        n = iter([1, 2, 3])
        try:
            while True:
                at(next(n))
        except StopIteration:
            at()
        """,
    "while-true-first-is-if-and-continue": """
        n = 0
        while True:
            if n < 2:
                n += 1
                at(n)
                continue
            n += 1
            at(n)
            if n == 4:
                break
        """,
    "while-true-first-is-for": """
        n = 0
        while True:
            for j in range(2):
                at(n + 1, j + 1)
            n += 1
            if n == 3:
                break
        """,
    "while-true-only-a-for": """
        n = 0
        def stop():
            global n
            n += 1
            if n == 3:
                raise KeyError
        try:
            while True:
                for j in range(2):
                    at(n + 1, j + 1)
                    if j == 1: stop()
        except KeyError:
            at()
        """,
    "while-true-only-a-with": """
        import contextlib
        n = 0
        while True:
            with contextlib.nullcontext():
                n += 1
                at(n)
                if n == 3:
                    break
        """,
    "while-true-first-is-multi-line-if": """
        n = 0
        while True:
            if (n < 9
                    and n > 5):
                break
            n += 1
            at(n)
            if n == 3:
                break
        """,
    "one-line": """
        for i in range(3): at(i + 1)
        """,
    "one-line-header-long-body": """
        for i in range(3): at(
            i + 1)
        """,
    "one-line-nested": """
        for i in range(2):
            for j in range(3): at(i + 1, j + 1)
        """,
    "header-over-lines": """
        for i in [
            1,
            2,
        ]:
            at(i)
        n = 0
        while (n < 2 and
               n < 3):
            n += 1
            at(n)
        """,
    "nested": """
        for i in range(2):
            at(i + 1)
            for j in range(3):
                at(i + 1, j + 1)
            at(i + 1)
        """,
    "continue-and-break": """
        for i in range(4):
            if i == 1:
                continue
            at(i + 1)
            if i == 2:
                break
        at()
        """,
    "else": """
        for i in range(2):
            at(i + 1)
        else:
            at()
        """,
    "try-first": """
        for i in range(3):
            try:
                at(i + 1)
                1 / (i - 1)
            except ZeroDivisionError:
                at(i + 1)
        """,
    "match-first": """
        n = 0
        while True:
            match n % 2:
                case 0:
                    n += 1
                    at(n)
                case _:
                    n += 1
                    at(n)
            if n == 4:
                break
        """,
    "def-in-loop": """
        for i in range(3):
            def f(value):
                at()
                return value
            at(i + 1)
            f(i)
        """,
    "decorated-def-first": """
        def same(f):
            return f
        for i in range(3):
            @same
            def f(): at()
            at(i + 1)
            f()
        """,
    "loop-in-def-in-loop": """
        def f(n):
            for j in range(n):
                at(j + 1)
            at()
        for i in range(1, 4):
            f(i)
            at(i)
        """,
    "lambda-in-loop": """
        for i in range(2):
            f = lambda: at()
            f()
            at(i + 1)
        """,
    "class-in-loop": """
        for i in range(2):
            class A:
                for j in range(2):
                    at(j + 1)
            at(i + 1)
        """,
    "method-loop": """
        class A:
            def run(self):
                for j in range(2):
                    at(j + 1)
        A().run()
        A().run()
        """,
    "docstring-first": """
        for i in range(3):
            'what follows'
            at(i + 1)
        """,
    "global-first": """
        def f():
            for i in range(3):
                global g
                at(i + 1)
        f()
        """,
    "generator": """
        def numbers():
            for i in range(3):
                at(i + 1)
                yield i
        for n in numbers():
            at(n + 1)
        """,
    "generator-expression": """
        list(at(i + 1) for i in range(3))
        for k in range(2):
            list(at(i + 1) for i in range(2))
            at(k + 1)
        """,
    "generator-expression-over-lines": """
        list(
            at(i + 1)
            for i in range(3)
            if i != 1
        ) if False else None
        list(
            at(i + 1)
            for i in range(3)
        )
        """,
    "calls-over-lines": """
        for i in range(2):
            max(
                0,
                1,
            )
            at(i + 1)
        """,
}

if sys.version_info < (3, 12):  # later ones run a list's comprehension in the frame around it
    PROGRAMS["list-comprehension"] = "[at(i + 1) for i in range(3)]\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_counts_are_those_of_the_run(name: str) -> None:
    seen = Watch(PROGRAMS[name]).run()
    assert seen, "the program never said where it was"
    assert [got for _, got in seen] == [wanted for wanted, _ in seen]


def test_a_comprehension_of_two_loops_says_nothing_rather_than_something_wrong() -> None:
    source = "list(f(a, b) for a in x for b in y)\n"
    assert loops_of(source, "<genexpr>", 1) == {}


@pytest.mark.parametrize("source", ["x = (", "print x.grad", "\0", "(" * 5000])
def test_a_source_that_does_not_parse_has_no_loops(source: str) -> None:
    assert loops_of(source, "<module>", 1) == {}


def test_an_unknown_function_has_no_loops() -> None:
    assert loops_of("for i in x:\n    pass\n", "made_up", 1) == {}


def test_a_deeply_nested_source_is_read_without_recursion() -> None:
    source = "x = " + "-" * 3000 + "1\nfor i in y:\n    pass\n"
    table = loops_of(source, "<module>", 1)
    # Where the parser itself gives up there are no loops; an exception would be a fault.
    assert table == {} or set(table) == {2, 3}
