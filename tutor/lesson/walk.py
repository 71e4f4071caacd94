"""Where the checks of a step stand, and which names they speak of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from tutor.lesson.checks import Check
from tutor.lesson.checks.body import Body
from tutor.lesson.checks.graphs import Graph, Saved
from tutor.lesson.checks.tensors import Flags, Grad, Storage, Value, Version
from tutor.lesson.document import Loc
from tutor.lesson.steps import AnyStep, Predict
from tutor.trace.expression import Refused, parse, start_paths

_NAMING: dict[type[Body], tuple[str, ...]] = {
    Grad: ("of", "equals", "same_as"),
    Value: ("of", "equals"),
    Flags: ("of",),
    Graph: ("of",),
    Version: ("of", "same_counter_as"),
    Saved: ("of", "shares_storage_with"),
    Storage: ("of", "view_of"),
}
"""The arguments of each check that speak of the learner's names."""


def checks_at(step: AnyStep) -> Iterator[tuple[Loc, Check]]:
    """Each check of a step with its place below the step, those inside others too."""
    yield from _each(("checks",), step.checks)
    for index, mistake in enumerate(step.mistakes):
        yield from _each(("mistakes", index, "when"), mistake.when)
    for index, hint in enumerate(step.hints):
        yield from _each(("hints", index, "when"), hint.when)
    if isinstance(step, Predict):
        for number, question in enumerate(step.asked):
            below: Loc = ("questions", number) if step.questions else ()
            for index, choice in enumerate(question.choices):
                yield from _each((*below, "choices", index, "holds"), choice.holds)


def _each(loc: Loc, checks: tuple[Check, ...]) -> Iterator[tuple[Loc, Check]]:
    for index, check in enumerate(checks):
        yield from _with_parts((*loc, index), check)


def _with_parts(loc: Loc, check: Check) -> Iterator[tuple[Loc, Check]]:
    yield loc, check
    if check.negated is not None:
        yield from _with_parts((*loc, "not"), check.negated)
    for name, parts in (("all", check.every), ("any", check.some)):
        for index, part in enumerate(parts or ()):
            yield from _with_parts((*loc, name, index), part)


def name_of(check: Check) -> str:
    """The check's name as it is written."""
    written = next(iter(check.model_fields_set - {"why"}))
    return type(check).model_fields[written].alias or written


def texts_of(loc: Loc, check: Check) -> Iterator[tuple[Loc, str]]:
    """The expressions and paths that a check speaks of, each with its place."""
    body = check.body
    if body is None:
        return
    below = (*loc, name_of(check))
    for key in _NAMING.get(type(body), ()):
        text = getattr(body, key)
        if isinstance(text, str) and not (isinstance(body, Saved) and body.by_name and key == "of"):
            yield (*below, key), text
    if isinstance(body, Storage):
        for index, text in enumerate(body.same or ()):
            yield (*below, "same", index), text


def names_in(text: str) -> frozenset[str]:
    """The names of the program that an expression reads (`start` and `torch` are none)."""
    try:
        tree = parse(text)
    except Refused:
        return frozenset()
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(names - {"start", "torch"})


def started(text: str) -> frozenset[str]:
    """The names of the setup that an expression asks of `start`."""
    try:
        return frozenset(path.replace("[", ".").split(".")[0] for path in start_paths(text))
    except Refused:
        return frozenset()


@lru_cache(maxsize=256)
def bound(code: str) -> frozenset[str] | None:
    """The names that a program may bind at its top level.

    None where they cannot be told: no Python, `from m import *`, or code made while it runs.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id in ("exec", "globals", "vars", "locals", "setattr"):
                return None
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if any(alias.name == "*" for alias in node.names):
                return None
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
    return frozenset(names)
