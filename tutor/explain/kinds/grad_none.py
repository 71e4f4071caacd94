"""`.grad` that stays None: of a tensor that is no leaf, or of one that the graph does not reach."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import Cut, behind, cut_between
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.reads import read_after, surfaced_at
from tutor.trace import NONE, Site
from tutor.trace.state import PassState

NONLEAF = "grad-none-nonleaf"
DISCONNECTED = "grad-none-disconnected"

_USES_NONE = re.compile(r"NoneType")
_EXPLICIT = ("detach", "off", "data")
"""Cuts that somebody wrote down as a cut: often meant."""


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
        return _disconnected(history, event.uid, moment, cut, "error", seen)
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
    if found is not None:
        facts["tensor"] = history.name(found.uid, failure.moment)
        maker = history.last.nodes.get(found.meta.node)
        if maker is not None:
            causes.append(history.place("cause", maker.site, maker.moment, note("computed")))
    causes.append(history.place("cause", failure.site, failure.moment))
    return finding(NONLEAF, "error", "optimizer", facts, cause=causes, surfaced=[surfaced(history)])


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
        seen = surfaced_at(history, site, moment, note("is-none"))
        return [_nonleaf(history, event.uid, moment, "warning", seen)]
    return []


def _nonleaf(
    history: History, uid: int, moment: int, severity: str, seen: list[FindingPlace | None]
) -> Finding:
    meta = history.meta(uid, moment)
    node = history.last.nodes.get(meta.node) if meta is not None else None
    facts: dict[str, Fact] = {"tensor": history.name(uid, moment), "func": "an op"}
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    if node is not None:
        facts["func"] = op_name(node.name)
        causes.append(history.place("cause", node.site, node.moment, note("computed")))
        made = node.site[-1] if node.site else None
        name = facts["tensor"]
        if made is not None and isinstance(name, str) and name.isidentifier():
            code = f"{name}.retain_grad()"
            edit = edits.insert_after(history.text(made.file), made.file, made.line, code)
            fixes.append(fix("retain-grad", {"line": made.line, "name": name}, edit))
    return finding(
        NONLEAF,
        "error" if severity == "error" else "warning",
        "computed",
        facts,
        cause=causes,
        surfaced=seen,
        fixes=fixes,
    )


def disconnected_ran(history: History) -> list[Finding]:
    """A backward from a cut-off value that was made a leaf; a leaf that a cut keeps from it."""
    for run in history.passes:
        found = _leaf_root(history, run)
        if found is not None:
            return [found]
    given = {entry.uid for run in history.passes for entry in run.accumulated}
    for event, moment, site in history.trace.grad_reads:
        if event.grad != NONE or event.uid in given:
            continue
        if not history.is_grad_leaf(event.uid, moment):
            continue
        cut = _cut_from(history, event.uid, moment)
        if cut is None:
            continue
        if cut.reason in _EXPLICIT and (_only_asks(history, site) or _left_out(history, event.uid)):
            continue
        seen = surfaced_at(history, site, moment, note("is-none"))
        return [_disconnected(history, event.uid, moment, cut, "warning", seen)]
    return []


def _only_asks(history: History, site: Site) -> bool:
    """Whether the reading line only asks if the gradient is None."""
    place = site[-1]
    node = source.statement(history.text(place.file), place.line)
    return isinstance(node, ast.If)


def _left_out(history: History, uid: int) -> bool:
    """Whether optimizers stepped, and none of them holds this leaf: then the cut is meant."""
    steps = [op for op in history.ops if op.func == "Optimizer.step" and op.event.args]
    return bool(steps) and not any(uid in op.event.args for op in steps)


def _leaf_root(history: History, run: PassState) -> Finding | None:
    """`loss.requires_grad_()` on a cut-off loss: a backward that ends where it begins."""
    for uid, node in run.event.roots:
        if node != NONE or not run.ok or not history.is_grad_leaf(uid, run.moment):
            continue
        cuts = behind(history, uid, run.moment).cuts
        if not cuts:
            continue
        cut = cuts[0]
        leaves = history.leaves_behind(cut.lost, cut.moment)
        seen: list[FindingPlace | None] = []
        for leaf in leaves:
            seen = seen or read_after(history, leaf, run.moment, note("is-none"))
        for leaf in leaves:
            seen = seen or read_after(history, leaf, run.moment, "", value=True)
        flags = [
            op for op in history.users.get(uid, ()) if bare(op.func).startswith("requires_grad")
        ]
        places = _cut_places(history, cuts)
        places += [
            history.place("cause", op.site, op.moment, note("new-leaf")) for op in flags[-1:]
        ]
        facts: dict[str, Fact] = {
            "root": history.name(uid, run.moment),
            "func": bare(cut.op.func),
            "lost": history.name(cut.lost, cut.moment),
        }
        return finding(
            DISCONNECTED,
            "warning",
            "leaf-root",
            facts,
            cause=places,
            surfaced=[*seen, history.place("surfaced", run.site, run.moment)],
        )
    return None


def _cut_places(history: History, cuts: tuple[Cut, ...]) -> list[FindingPlace | None]:
    first = cuts[0]
    places = [history.place("cause", first.site, first.moment, note("cuts"))]
    if first.created is not None:
        made = first.created
        places.append(history.place("cause", made.site, made.moment, note("new-tensor")))
    return places


def _disconnected(
    history: History,
    uid: int,
    moment: int,
    cut: Cut,
    severity: str,
    seen: list[FindingPlace | None],
) -> Finding:
    facts: dict[str, Fact] = {"leaf": history.name(uid, moment), "func": bare(cut.op.func)}
    variant = "wrapped" if cut.op.func == "nn.Parameter" else "cut"
    return finding(
        DISCONNECTED,
        "error" if severity == "error" else "warning",
        variant,
        facts,
        cause=_cut_places(history, (cut,)),
        surfaced=seen,
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
