"""`.grad` that stays None: of a tensor that is no leaf, or of one that the graph does not reach."""

from __future__ import annotations

import re

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import Cut, cut_between
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.kinds.disconnected import disconnected
from tutor.explain.kinds.retain_grad import retained_before
from tutor.explain.reads import surfaced_at
from tutor.explain.shown import shown_places
from tutor.trace import NONE, Site

NONLEAF = "grad-none-nonleaf"
DISCONNECTED = "grad-none-disconnected"

_USES_NONE = re.compile(r"NoneType")


def raised(history: History, failure: Failure) -> Finding | None:
    """A None from `.grad` that was computed with; a non-leaf that an optimizer refused."""
    if failure.inside("torch/optim/") and "non-leaf" in failure.message and failure.site:
        return _refused(history, failure)
    if failure.kind not in ("TypeError", "AttributeError"):
        return None
    if not _USES_NONE.search(failure.message) or not failure.site:
        return None
    here = failure.site[-1]
    reads = [
        (event, moment)
        for event, moment, site in history.trace.grad_reads
        if event.grad == NONE and site and _same_line(site, here.file, here.line)
    ]
    if not reads:
        return None
    event, moment = reads[-1]
    meta = history.meta(event.uid, moment)
    if meta is None:
        return None
    if meta.node != NONE or not meta.leaf:
        return _nonleaf(history, event.uid, moment, "error", [surfaced(history)])
    seen = [surfaced(history, note("is-none"))]
    cut = _cut_from(history, event.uid, moment)
    if cut is not None:
        return disconnected(history, event.uid, moment, cut, "error", seen)
    name = history.name(event.uid, moment)
    facts: dict[str, Fact] = {"leaf": name}
    if not meta.requires_grad:
        known = history.tensor(event.uid)
        born = known.born if known is not None else ()
        place = history.place("cause", born, moment, note("no-requires-grad"))
        return finding(DISCONNECTED, "error", "no-flag", facts, cause=[place], surfaced=seen)
    done = [run for run in history.passes if run.moment < moment and run.ok]
    variant = "cleared" if _was_cleared(history, event.uid, moment) else "unused"
    if not done:
        variant = "no-backward"
    return finding(
        DISCONNECTED,
        "error",
        variant,
        facts,
        cause=[history.place("cause", failure.site, failure.moment)],
        surfaced=seen,
    )


def _same_line(site: Site, file: str, line: int) -> bool:
    return site[-1].file == file and site[-1].line == line


def _was_cleared(history: History, uid: int, moment: int) -> bool:
    return any(e.uid == uid and e.grad == NONE and m < moment for m, e in history.grad_events)


def _refused(history: History, failure: Failure) -> Finding:
    here = failure.site[-1]
    node = source.statement(history.text(here.file), here.line)
    found = history.computed_on(node, here.frame, failure.moment)
    facts: dict[str, Fact] = {"tensor": "a computed tensor"}
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    if found is not None:
        facts["tensor"] = history.name(found.uid, failure.moment)
        maker = history.nodes.get(found.meta.node)
        if maker is not None:
            causes.append(history.place("cause", maker.site, maker.moment, note("computed")))
            fixes.append(_as_leaf(history, maker.site))
    causes.append(history.place("cause", failure.site, failure.moment))
    return finding(
        NONLEAF,
        "error",
        "optimizer",
        facts,
        cause=causes,
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _as_leaf(history: History, site: Site) -> Fix | None:
    """The line that computed it makes a leaf of the result."""
    if not site:
        return None
    here = site[-1]
    edit = rewrites.leaf_again(history.text(here.file), here.file, here.line)
    return fix("leaf-again", {"line": here.line}, edit)


# -- without an error -----------------------------------------------------------------------


def nonleaf_ran(history: History) -> list[Finding]:
    """The user's code read `.grad` of a computed tensor, after a backward, and got None."""
    kept = {uid for op in history.ops if bare(op.func) == "retain_grad" for uid in op.event.args}
    for event, moment, site in history.trace.grad_reads:
        meta = history.meta(event.uid, moment)
        if event.grad != NONE or meta is None or meta.node == NONE or event.uid in kept:
            continue
        if not any(run.moment < moment and run.ok for run in history.passes):
            continue
        if retained_before(history, event.uid, moment) is not None:
            continue  # is explained as that
        seen = surfaced_at(history, site, moment, note("is-none"))
        seen[:0] = shown_places(history, [event.uid], moment - 1, note("is-none"), limit=1)
        return [_nonleaf(history, event.uid, moment, "warning", seen)]
    return []


def _nonleaf(
    history: History, uid: int, moment: int, severity: str, seen: list[FindingPlace | None]
) -> Finding:
    meta = history.meta(uid, moment)
    node = history.nodes.get(meta.node) if meta is not None else None
    facts: dict[str, Fact] = {"tensor": history.name(uid, moment), "func": "an op"}
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    if node is not None:
        op = history.trace.op(node.event.op)
        facts["func"] = bare(op.func) if op is not None and op.event.outs else op_name(node.name)
        causes.append(history.place("cause", node.site, node.moment, note("computed")))
        made = node.site[-1] if node.site else None
        name = facts["tensor"]
        if made is not None and isinstance(name, str) and name.isidentifier():
            code = f"{name}.retain_grad()"
            edit = edits.insert_after(history.text(made.file), made.file, made.line, code)
            fixes.append(fix("retain-grad", {"line": made.line, "name": name}, edit))
        if made is not None and all(not place.iteration for place in node.site):
            fixes.append(_as_leaf(history, node.site))
    return finding(
        NONLEAF,
        "error" if severity == "error" else "warning",
        "computed",
        facts,
        cause=causes,
        surfaced=seen,
        fixes=fixes,
    )


def _cut_from(history: History, leaf: int, moment: int) -> Cut | None:
    """The call at which the flow from a leaf to the root of an earlier pass lost its graph."""
    for run in history.passes:
        if run.moment > moment or not run.ok:
            continue
        for root, _ in run.event.roots:
            cut = cut_between(history, leaf, root, run.moment)
            if cut is not None:
                return cut
    return None
