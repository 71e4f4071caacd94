"""Graphs that are kept alive and grow over the iterations."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Edit, Fact, Finding
from tutor.explain.history import History
from tutor.explain.kept import Kept, Storing, kept_graphs, storing
from tutor.explain.shown import shown_places
from tutor.trace.state import NodeState

KIND = "graph-memory"


def ran(history: History) -> list[Finding]:
    """A sum, a list or an attribute at which the graphs of several iterations hang."""
    if not any(run.ok for run in history.passes):
        return []
    for kept in kept_graphs(history):
        stored = None if kept.chained else storing(history, kept)
        if not kept.over and not kept.chained and (stored is None or _at_once(kept)):
            continue  # made in one go, and perhaps looked at once
        return [_explain(history, kept, stored)]
    return []


def _at_once(kept: Kept) -> bool:
    """Whether all of them were made by one statement: a comprehension."""
    return any(place.function.endswith("comp>") for place in kept.nodes[-1].site)


def _explain(history: History, kept: Kept, stored: Storing | None) -> Finding:
    node = kept.nodes[-1]
    made = {one.event.node for one in (*kept.nodes, kept.newest)}
    tensors = [t.uid for t in history.tensors.values() if t.meta.node in made]
    name = stored.name if stored is not None else _name(history, node)
    facts: dict[str, Fact] = {
        "name": name,
        "passes": len(kept.nodes) + 1,
        "nodes": sum(1 for _ in history.walk(node.event.node)),
    }
    variant = "sum" if kept.chained else "list"
    if not kept.over:
        variant = "unused"
    words = note("keeps-graphs")
    if stored is not None:
        site = history.site_at(stored.moment + 1)
        kept_in = tuple(site[: _depth(site, stored) + 1]) or (stored.place,)
        cause = history.place("cause", kept_in, stored.moment, words)
        again = history.place("surfaced", kept_in, stored.moment)
    else:
        cause = history.place("cause", node.site, node.moment, words)
        again = history.place("surfaced", node.site, node.moment)
    line = cause.line if cause is not None else 0
    seen = shown_places(history, (), kept.nodes[0].moment, wrong=tensors)
    return finding(
        KIND,
        "warning",
        variant,
        facts,
        cause=[cause],
        surfaced=[*seen, again],
        fixes=[fix("no-graph", {"line": line}, _without_graph(history, node, stored))],
    )


def _depth(site: tuple[object, ...], stored: Storing) -> int:
    for index, place in enumerate(site):
        if place == stored.place:
            return index
    return len(site) - 1


def _name(history: History, node: NodeState) -> str:
    """What a line keeps its result in: a target of the statement, else a name of the tensor."""
    place = node.site[-1]
    text = history.text(place.file)
    statement = source.statement(text, place.line)
    if isinstance(statement, ast.AugAssign):
        return edits.segment(text, statement.target)
    if isinstance(statement, ast.Assign):
        return edits.segment(text, statement.targets[0])
    tensors = [t for t in history.tensors.values() if t.meta.node == node.event.node]
    return history.name(tensors[-1].uid, len(history.trace)) if tensors else "a result"


def _without_graph(history: History, node: NodeState, stored: Storing | None) -> Edit | None:
    """The same statement with `.detach()` on what it keeps."""
    place = stored.place if stored is not None else node.site[-1]
    text = history.text(place.file)
    statement = source.simple_statement(text, place.line)
    value: ast.expr | None = None
    if isinstance(statement, ast.AugAssign):
        value = statement.value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        arguments = statement.value.args
        value = arguments[0] if len(arguments) == 1 else None
    if not isinstance(value, ast.Name | ast.Attribute | ast.Call):
        return None
    return edits.splice(text, place.file, value, f"{edits.segment(text, value)}.detach()")
