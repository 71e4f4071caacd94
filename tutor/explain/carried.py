"""A graph that was carried into a later backward: which value brought it, and how to cut it."""

from __future__ import annotations

import ast
from collections import deque
from dataclasses import dataclass

from tutor.explain import edits, source
from tutor.explain.build import fix
from tutor.explain.finding import Edit, Fact, Fix
from tutor.explain.history import ACCUMULATE, History
from tutor.trace import NONE, Place, Site
from tutor.trace.state import NodeState, PassState


@dataclass(frozen=True, slots=True)
class Border:
    """An old node (seen by an earlier pass) and the new one that reaches it (None: a root)."""

    old: NodeState
    new: NodeState | None


def border(history: History, run: PassState, failing: int) -> list[Border]:
    """Where a pass goes over into nodes that an earlier pass had gone through.

    The borders from which the failing node can be reached come first.
    """
    nodes = history.last.nodes
    before = {number for number, node in nodes.items() if any(v < run.run for v in node.visited)}
    before |= {number for number, node in nodes.items() if NONE < node.freed < run.run}
    pending: deque[tuple[int, int]] = deque((root, NONE) for _, root in run.event.roots)
    seen: set[int] = set()
    found: list[Border] = []
    while pending:
        number, above = pending.popleft()
        node = nodes.get(number)
        if node is None or number in seen or node.name.endswith(ACCUMULATE):
            continue
        seen.add(number)
        if number in before:
            found.append(Border(node, nodes.get(above)))
            continue
        pending.extend((target, number) for target, _ in node.edges if target != NONE)
    return sorted(found, key=lambda b: not reaches(history, b.old.event.node, failing))


def reaches(history: History, start: int, target: int) -> bool:
    """Whether a node leads to another along the edges (or is it)."""
    return start == target or any(n.event.node == target for n in history.last.walk(start))


def shared_frame(site: Site, other: Site) -> Place | None:
    """The innermost place of a site in a frame that the other site is in too."""
    frames = {place.frame for place in other}
    for place in reversed(site):
        if place.frame in frames:
            return place
    return None


def detach_fixes(
    history: History, run: PassState, failing: int, also: Edit | None = None
) -> list[Fix | None]:
    """Cuts of the old graph where the new one takes a value from it.

    `also` is a second edit to make with each (dropping a retain_graph, say).
    """
    found: list[Fix | None] = []
    for edge in border(history, run, failing)[:2]:
        if edge.new is None:
            continue
        carried = [
            tensor
            for tensor in history.last.tensors.values()
            if tensor.meta.node == edge.old.event.node
        ]
        for tensor in carried:
            for named in tensor.names:
                found += _cuts(history, named.name, named.frame, edge, run, also)
    return found


def _cuts(
    history: History, name: str, frame: int, edge: Border, run: PassState, also: Edit | None
) -> list[Fix | None]:
    """Lines that replace a name by its detached value: before its use, or after the backward."""
    assert edge.new is not None
    whole = name.split("[")[0]
    code = f"{whole} = {whole}.detach()"
    if whole != name:
        code = f"{whole} = tuple(part.detach() for part in {whole})"
    spots: list[tuple[Place, bool]] = []
    spots += [(place, True) for place in run.site if place.frame == frame]
    spots += [(place, True) for place in edge.old.site if place.frame == frame]
    spots += [(place, False) for place in edge.new.site if place.frame == frame]
    found: list[Fix | None] = []
    for place, after in spots:
        text = history.text(place.file)
        if after:
            edit = edits.insert_after(text, place.file, place.line, code)
        else:
            edit = edits.insert_before(text, place.file, place.line, code)
        facts: dict[str, Fact] = {"name": whole, "line": place.line}
        both = [edit] if also is None else [edit, also]
        found.append(fix("detach-after" if after else "detach-before", facts, *both))
    return found


def recompute_fix(history: History, edge: Border) -> Fix | None:
    """Repeat the line that made an old value right before its use inside a loop."""
    if edge.new is None or not edge.old.site:
        return None
    for made in reversed(edge.old.site):
        text = history.text(made.file)
        node = source.simple_statement(text, made.line)
        use = next((p for p in edge.new.site if p.frame == made.frame), None)
        if use is None or not isinstance(node, ast.Assign) or len(use.iteration) == 0:
            continue
        if len(made.iteration) >= len(use.iteration):
            continue
        code = "\n".join(source.lines(text)[node.lineno - 1 : node.end_lineno]).strip()
        edit = edits.insert_before(text, made.file, use.line, code)
        return fix("recompute", {"line": made.line, "target": use.line}, edit)
    return None
