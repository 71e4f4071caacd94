"""Which loops enclose a line, read from the source: what iteration counts rest on.

A frame's line events are all that is known of its loops, so the rules below say when a move
from one line to the next began a new iteration. They were measured with `sys.settrace` on
CPython 3.11 to 3.13: a `for` or `while` header is visited before each iteration, `while True`
only before the first, and a loop on one line repeats its own line.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

_COMPREHENSIONS = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop's lines: of its header, of the first statement of its body, and its last.

    `again` is the line from which a move back to `first` is a new iteration: beyond the first
    statement, or inside it where nothing else returns to its head (`if`, `try`, `match`).
    """

    header: int
    first: int
    again: int
    end: int
    silent: bool = False
    """`while True` with a body that can follow itself: its first line repeats."""


Table = dict[int, tuple[Loop, ...]]
"""For each line of one function inside loops, those loops, outermost first."""

Counts = tuple[tuple[int, int], ...]
"""(loop header line, iteration from 1), outermost first."""


def loops_of(text: str, function: str, first_line: int) -> Table:
    """The loops of the function of this (qualified) name whose code begins at this line.

    Empty where the text does not parse, or holds no such function.
    """
    name = function.rpartition(".")[2]
    return _scopes(text).get((name, 0 if name == "<module>" else first_line), {})


@lru_cache(maxsize=256)
def _scopes(text: str) -> dict[tuple[str, int], Table]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    scopes: dict[tuple[str, int], Table] = {("<module>", 0): {}}
    # An explicit stack: a source may nest deeper than Python's recursion limit allows us.
    pending: list[tuple[ast.AST, Table, tuple[Loop, ...]]] = [
        (tree, scopes["<module>", 0], ()),
    ]
    while pending:
        node, table, around = pending.pop()
        if isinstance(node, Function | ast.ClassDef | ast.Lambda):
            own: Table = {}
            scopes[_name(node), _first(node)] = own
            body = node.body if isinstance(node.body, list) else [node.body]
            inside = {id(child) for child in body}
            for child in ast.iter_child_nodes(node):  # defaults and decorators run outside
                place = (own, ()) if id(child) in inside else (table, around)
                pending.append((child, *place))
            continue
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            loop = _loop(node)
            inner = (*around, loop)
            for line in range(loop.header, loop.end + 1):
                table[line] = inner
            body_ids = {id(child) for child in node.body}
            pending.extend(
                (child, table, inner if id(child) in body_ids else around)
                for child in ast.iter_child_nodes(node)
            )
            continue
        if isinstance(node, Comprehension):
            # Only a frame of its own looks it up; Python 3.12 inlines all but generators.
            loop_of_it = _comprehension(node)
            key = (_COMPREHENSIONS[type(node)], node.lineno)
            scopes[key] = {} if loop_of_it is None or key in scopes else loop_of_it
        pending.extend((child, table, around) for child in ast.iter_child_nodes(node))
    return scopes


def _name(node: Function | ast.ClassDef | ast.Lambda) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _first(node: ast.stmt | ast.Lambda) -> int:
    """The line where a statement's code begins: a decorator's, if it has one."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def _loop(node: ast.For | ast.AsyncFor | ast.While) -> Loop:
    body = node.body
    head = body[0]
    match head:
        case ast.If(body=inner) | ast.Try(body=inner) | ast.TryStar(body=inner):
            again = inner[0].lineno
        case ast.Match(cases=cases):
            again = cases[0].pattern.lineno
        case ast.For(body=inner) | ast.AsyncFor(body=inner) | ast.While(body=inner):
            again = (inner[-1].end_lineno or inner[-1].lineno) + 1
        case _:
            again = (head.end_lineno or head.lineno) + 1
    silent = isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
    return Loop(
        node.lineno,
        _first(head),
        again,
        body[-1].end_lineno or body[-1].lineno,
        silent and (len(body) == 1 or isinstance(head, ast.With | ast.AsyncWith)),
    )


def _comprehension(node: Comprehension) -> Table | None:
    """A comprehension's own loop, where its line events tell the iterations apart."""
    line, end = node.lineno, node.end_lineno or node.lineno
    if len(node.generators) > 1:
        return None
    if line == end:
        return {line: (Loop(line, line, line + 1, line),)}
    element_end = max(
        child.end_lineno or child.lineno
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.expr)
    )
    target = node.generators[0].target.lineno
    if element_end >= target:
        return None
    # Its frame goes from the head to the target, then back to the element: each visit of the
    # target's line begins an iteration, as the header line of a loop on one line does.
    loop = Loop(line, target, end + 1, end)
    return dict.fromkeys(range(line, end + 1), (loop,))


def advance(table: Table, counts: Counts, before: int, line: int) -> Counts:
    """The iteration counts after control moved from line `before` to `line` of one frame."""
    around = table.get(line)
    if not around:
        return ()
    old = dict(counts)
    new: list[tuple[int, int]] = []
    outer_moved = False
    for loop in around:
        count = old.get(loop.header, 0)
        inside = (
            not outer_moved and loop.header in old and loop.header <= before <= loop.end
        )  # an inner loop starts afresh when an outer one moves on
        if loop.header == loop.first:
            start = not inside or (before == line == loop.header)
        elif line < loop.first:
            start = False
        else:
            start = not inside or loop.header <= before < loop.first
            start = start or (line == loop.first and before >= loop.again)
            start = start or (loop.silent and line == loop.first == before)
        count = (count if inside else 0) + start
        outer_moved = outer_moved or start or not inside
        new.append((loop.header, count))
    return tuple(new)
