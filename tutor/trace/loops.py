"""Which loops enclose a line, read from the source: what iteration counts rest on."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` or `while`: lines of its header, its first body statement, and its end."""

    header: int
    first: int
    first_end: int
    end: int
    silent: bool = False
    """`while True`: no line event for the header when the body starts again."""


@lru_cache(maxsize=256)
def loops_by_line(text: str) -> dict[int, tuple[Loop, ...]]:
    """For each line inside loops, those loops, outermost first (empty if it does not parse).

    Only loops of the same function as the line count: a function defined in a loop starts
    afresh. The header line belongs to the loop, an `else` branch does not.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    table: dict[int, tuple[Loop, ...]] = {}
    # An explicit stack: a source may nest deeper than Python's recursion limit allows us.
    pending: list[tuple[ast.AST, tuple[Loop, ...]]] = [(tree, ())]
    while pending:
        node, around = pending.pop()
        inner = around
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            if not isinstance(node, (ast.ClassDef, ast.Lambda)):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    table.pop(line, None)
                inner = ()
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            body = node.body
            loop = Loop(
                node.lineno,
                body[0].lineno,
                body[0].end_lineno or body[0].lineno,
                body[-1].end_lineno or body[-1].lineno,
                isinstance(node, ast.While) and isinstance(node.test, ast.Constant),
            )
            inner = (*around, loop)
            for line in range(loop.header, loop.end + 1):
                table[line] = inner
            pending.extend((child, around) for child in node.orelse)
            pending.extend((child, inner) for child in body)
            continue
        pending.extend((child, inner) for child in ast.iter_child_nodes(node))
    return table


Counts = tuple[tuple[int, int], ...]
"""(loop header line, iteration from 1), outermost first."""


def advance(table: dict[int, tuple[Loop, ...]], counts: Counts, before: int, line: int) -> Counts:
    """The iteration counts after control moved from line `before` to `line` of one frame."""
    around = table.get(line)
    if not around:
        return ()
    old = dict(counts)
    new: list[tuple[int, int]] = []
    for loop in around:
        count = old.get(loop.header, 0)
        inside = bool(count) and loop.header <= before <= loop.end
        if loop.header == loop.first:  # `for …: body` on one line: each visit is an iteration
            count = count + 1 if inside and before == line else 1
        elif line == loop.header:
            count = count if inside else 0
        elif line == loop.first:
            again = before == loop.header or before > loop.first_end
            again = again or (loop.silent and before == line)
            if not inside:
                count = 1
            elif again:
                count += 1
        elif not inside:
            count = 1
        new.append((loop.header, count))
    return tuple(new)
