"""A second backward through a graph, or a part of one, whose saved tensors are freed."""

from __future__ import annotations

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.carried import Border, border, detach_fixes, recompute_fix, shared_frame
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import ACCUMULATE, Failure, History, op_name
from tutor.trace import NONE
from tutor.trace.state import NodeState, PassState

KIND = "freed-graph"


def raised(history: History, failure: Failure) -> Finding | None:
    """A pass that failed at a node whose saves an earlier pass had released."""
    run = failure.run
    if run is None:
        return None
    failing = run.stale[0] if run.stale is not None and run.stale[2] == NONE else run.failing
    node = history.nodes.get(failing)
    if run.stale is None:
        if node is None or not NONE < node.freed < run.run:
            return None
    elif run.stale[2] != NONE:
        return None
    edges = border(history, run, failing)
    if not edges:
        return None  # no earlier pass went here: what is freed was freed by this very pass
    freeing = _freed_by(history, run, node, edges)
    whole = bool(edges) and edges[0].new is None
    facts: dict[str, Fact] = {
        "op": node.name if node is not None else "",
        "saver": op_name(node.name) if node is not None else "an op",
        "call": "autograd.grad" if run.event.kind == "grad" else "backward",
        "first_call": "autograd.grad"
        if freeing is not None and freeing.event.kind == "grad"
        else "backward",
    }
    causes = _causes(history, run, edges, node)
    return finding(
        KIND,
        "error",
        "whole" if whole else "part",
        facts,
        cause=causes,
        witness=[
            history.place("witness", freeing.site, freeing.moment, note("frees"))
            if freeing is not None
            else None
        ],
        surfaced=[surfaced(history, note("needs-freed"))],
        fixes=_fixes(history, run, edges, freeing, failing, whole),
    )


def _freed_by(
    history: History, run: PassState, node: NodeState | None, edges: list[Border]
) -> PassState | None:
    for candidate in [node, *(edge.old for edge in edges)]:
        if candidate is not None and NONE < candidate.freed < run.run:
            return history.last.passes.get(candidate.freed)
    earlier = [p for p in history.passes if p.run < run.run and not p.event.retain]
    return earlier[-1] if earlier else None


def _causes(
    history: History, run: PassState, edges: list[Border], failing: NodeState | None
) -> list[FindingPlace | None]:
    """The last op on the old side, its line in the function that called backward, the failed op."""
    found: list[FindingPlace | None] = []
    old = [edge.old for edge in edges[:2]]
    if not old and failing is not None:
        old = [failing]
    for node in old:
        words = note("freed-part")
        found.append(history.place("cause", node.site, node.moment, words))
        near = shared_frame(node.site, run.site)
        if near is not None and near != node.site[-1]:
            site = node.site[: node.site.index(near) + 1]
            found.append(history.place("cause", site, node.moment, words))
    if failing is not None and not failing.name.endswith(ACCUMULATE):
        found.append(history.place("cause", failing.site, failing.moment, note("freed-part")))
    return found


def _fixes(
    history: History,
    run: PassState,
    edges: list[Border],
    freeing: PassState | None,
    failing: int,
    whole: bool,
) -> list[Fix | None]:
    keep = _keep_graph(history, freeing)
    again = recompute_fix(history, edges[0], run) if edges and run.site else None
    if freeing is None or not run.site or _same_step(run, freeing):
        return [keep]
    if whole:
        return [again, keep]
    found = detach_fixes(history, run, failing)
    if _trained_between(history, freeing, run):
        return [*found[:3], again, keep]
    return [*found[:2], keep, again]


def _keep_graph(history: History, freeing: PassState | None) -> Fix | None:
    """retain_graph=True in the call that freed the graph."""
    if freeing is None or not freeing.site:
        return None
    place = freeing.site[-1]
    text = history.text(place.file)
    edit: Edit | None = None
    for call in ("backward", "grad"):
        where = (text, place.file, place.line, call, "retain_graph", "True")
        edit = edit or edits.set_keyword(*where) or edits.add_keyword(*where)
    return fix("retain-graph", {"line": place.line}, edit)


def _same_step(run: PassState, freeing: PassState) -> bool:
    """Whether both passes belong to one iteration: then keeping the graph is what is meant."""
    a, b = run.site[-1], freeing.site[-1]
    return a.frame == b.frame and a.iteration == b.iteration


def _trained_between(history: History, freeing: PassState, run: PassState) -> bool:
    """Whether an optimizer stepped between two passes: the old values are stale then."""
    return any(
        op.func == "Optimizer.step" and freeing.moment < op.moment < run.moment
        for op in history.ops
    )
