"""`autograd.grad` with respect to a tensor that the output does not depend on."""

from __future__ import annotations

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.carried import border
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import Cut, cut_between
from tutor.explain.history import Failure, History, bare
from tutor.trace import NONE

KIND = "unused-input"


def raised(history: History, failure: Failure) -> Finding | None:
    """A failed `grad` one of whose inputs cannot be reached from its roots."""
    run = failure.run
    if run is None or run.event.inputs is None or failure.op is not None:
        return None
    if run.stale is not None and (run.stale[2] != NONE or border(history, run, run.failing)):
        return None
    reachable = {n.event.node for _, root in run.event.roots for n in history.walk(root)}
    leaves = {n.event.leaf for n in history.nodes.values() if n.event.node in reachable}
    for index, uid in enumerate(run.event.inputs):
        meta = history.meta(uid, run.moment)
        if meta is None or uid in leaves or (meta.node != NONE and meta.node in reachable):
            continue
        if any(uid == root for root, _ in run.event.roots):
            continue
        return _explain(history, failure, uid, index, meta.requires_grad)
    return None


def _explain(
    history: History, failure: Failure, uid: int, index: int, requires_grad: bool
) -> Finding | None:
    run = failure.run
    assert run is not None
    known = history.tensor(uid)
    name = history.name(uid, run.moment)
    facts: dict[str, Fact] = {"input": name, "index": index}
    if not requires_grad:
        return None  # torch says so before it looks for use: no-grad-fn explains it
    causes: list[FindingPlace | None] = []
    variant = "unused"
    found = [cut_between(history, uid, root, run.moment) for root, _ in run.event.roots]
    cut = next((one for one in found if one is not None), None)
    if cut is not None:
        variant, facts["func"] = "cut", bare(cut.op.func)
        causes.append(history.place("cause", cut.site, cut.moment, note("cuts")))
    elif known is not None and known.born:
        words = note("not-in-graph", tensor=name)
        causes.append(history.place("cause", known.born, known.moment, words))
    here = failure.site[-1]
    edit = edits.add_keyword(
        history.text(here.file), here.file, here.line, "grad", "allow_unused", "True"
    )
    where = (history.text(here.file), here.file, here.line, "grad", "materialize_grads", "True")
    zeros = edits.add_keyword(*where)
    if not causes:
        causes.append(history.place("cause", failure.site, failure.moment))
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=causes,
        surfaced=[surfaced(history, note("asks-for", tensor=name))],
        fixes=[
            _connected(history, cut),
            fix("allow-unused", {"line": here.line}, edit),
            fix("materialize", {"line": here.line}, zeros),
        ],
    )


def _connected(history: History, cut: Cut | None) -> Fix | None:
    """The line that cut the way, without the cut."""
    if cut is None or not cut.site:
        return None
    here = cut.site[-1]
    text = history.text(here.file)
    line: dict[str, Fact] = {"line": here.line}
    if cut.reason == "detach":
        return fix("drop-detach", line, edits.drop_method(text, here.file, here.line, "detach"))
    if cut.reason == "data":
        return fix("drop-data", line, edits.drop_attribute(text, here.file, here.line, "data"))
    return None
