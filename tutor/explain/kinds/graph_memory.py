"""Graphs that are kept alive and grow over the iterations."""

from __future__ import annotations

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace
from tutor.explain.history import History
from tutor.explain.reads import surfaced_at
from tutor.trace import NONE, Site
from tutor.trace.state import TensorState

KIND = "graph-memory"

GROWN = 3
"""Finished passes whose graphs must hang on one name before it counts as growing."""


def ran(history: History) -> list[Finding]:
    """A name at whose end hang the graphs of several passes that are over."""
    lists: dict[tuple[int, str], list[TensorState]] = {}
    for tensor in history.last.tensors.values():
        if tensor.meta.node == NONE:
            continue
        node = history.last.nodes.get(tensor.meta.node)
        if node is None or node.dead:
            continue
        for named in tensor.names:
            if named.until is not None:
                continue
            if "[" in named.name:
                stem = named.name.split("[")[0]
                lists.setdefault((named.frame, stem), []).append(tensor)
            elif len(_passes_behind(history, tensor.meta.node)) >= GROWN:
                return [_sum(history, tensor, named.name)]
    for (_, stem), tensors in lists.items():
        over = {run for t in tensors for run in _own_passes(history, t.meta.node)}
        if len(over) >= GROWN:
            return [_list(history, tensors[-1], stem)]
    return []


def _passes_behind(history: History, root: int) -> set[int]:
    """The passes that freed parts of the graph below a node."""
    return {node.freed for node in history.last.walk(root) if node.freed != NONE}


def _own_passes(history: History, root: int) -> set[int]:
    node = history.last.nodes.get(root)
    return {node.freed} if node is not None and node.freed != NONE else set()


def _sum(history: History, tensor: TensorState, name: str) -> Finding:
    node = history.last.nodes[tensor.meta.node]
    facts: dict[str, Fact] = {
        "name": name,
        "passes": len(_passes_behind(history, tensor.meta.node)),
        "nodes": sum(1 for _ in history.last.walk(tensor.meta.node)),
    }
    here = node.site[-1]
    text = history.text(here.file)
    statement = source.simple_statement(text, here.line)
    edit: Edit | None = None
    value = getattr(statement, "value", None)
    if statement is not None and value is not None:
        edit = edits.splice(text, here.file, value, f"{edits.segment(text, value)}.item()")
    return finding(
        KIND,
        "warning",
        "sum",
        facts,
        cause=[history.place("cause", node.site, node.moment, note("keeps-graphs"))],
        surfaced=_surfaced(history, node.site, node.moment),
        fixes=[fix("item", {"line": here.line}, edit)],
    )


def _list(history: History, tensor: TensorState, name: str) -> Finding:
    named = next(n for n in reversed(tensor.names) if n.name.startswith(name + "["))
    facts: dict[str, Fact] = {"name": name, "passes": GROWN}
    site = named.site
    return finding(
        KIND,
        "warning",
        "list",
        facts,
        cause=[history.place("cause", site, named.since, note("keeps-graphs"))],
        surfaced=_surfaced(history, site, named.since),
    )


def _surfaced(history: History, site: Site, moment: int) -> list[FindingPlace | None]:
    return [*surfaced_at(history, site, moment), history.place("surfaced", site, moment)]
