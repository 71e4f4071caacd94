"""A write to a leaf that requires grad, or to a view of one, while gradients are on."""

from __future__ import annotations

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding
from tutor.explain.history import Failure, History
from tutor.explain.writes import made_at, refused

KIND = "inplace-leaf"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused write whose target, or the target's base, is a leaf that requires grad."""
    write = refused(history, failure)
    if write is None or not write.op.grad_mode:
        return None
    moment = write.op.moment
    target = write.target
    leaves = [uid for uid in write.op.event.args if history.is_grad_leaf(uid, moment)]
    owner = history.base_of(target.uid)
    if history.is_grad_leaf(target.uid, moment):
        leaf = target.uid
        variant = "item" if write.name == "__setitem__" else "leaf"
    elif history.is_grad_leaf(owner, moment):
        leaf, variant = owner, "view"
    elif write.name.startswith("_foreach") and leaves:
        leaf, variant = leaves[0], "leaf"
    else:
        return None
    known = history.tensor(leaf)
    facts: dict[str, Fact] = {"leaf": history.name(leaf, moment), "writer": write.name}
    here = failure.site[-1] if failure.site else write.op.site[-1]
    edit = edits.under_no_grad(history.text(here.file), here.file, here.line)
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[history.place("cause", failure.site, moment, note("writes-leaf"))],
        witness=[made_at(history, known, note("leaf")) if known is not None else None],
        surfaced=[surfaced(history)],
        fixes=[fix("no-grad", {"line": here.line}, edit)],
    )
