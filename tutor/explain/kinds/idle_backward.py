"""A backward that ends where it begins, or none at all: no leaf gets a gradient."""

from __future__ import annotations

from tutor.explain.build import finding, note
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.flow import Cut, behind
from tutor.explain.history import History, bare
from tutor.explain.optimizers import optimizers
from tutor.explain.reads import read_after
from tutor.explain.shown import shown_places
from tutor.trace import NONE
from tutor.trace.state import OpState, PassState

KIND = "grad-none-disconnected"


def ran(history: History) -> list[Finding]:
    """A cut-off value that was made a leaf and derived; an optimizer that steps on nothing."""
    for run in history.passes:
        found = _leaf_root(history, run)
        if found is not None:
            return [found]
    return _no_backward(history)


def cut_places(history: History, cuts: tuple[Cut, ...]) -> list[FindingPlace | None]:
    """The call that cuts, and the one that makes a new tensor of what it gave."""
    first = cuts[0]
    places = [history.place("cause", first.site, first.moment, note("cuts"))]
    if first.created is not None:
        made = first.created
        places.append(history.place("cause", made.site, made.moment, note("new-tensor")))
    return places


# -- a root that is a leaf ------------------------------------------------------------------


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
        seen += shown_places(history, leaves, run.moment, values=True)
        flags = [
            op for op in history.users.get(uid, ()) if bare(op.func).startswith("requires_grad")
        ]
        places = cut_places(history, cuts)
        places += [
            history.place("cause", op.site, op.moment, note("new-leaf")) for op in flags[-1:]
        ]
        facts: dict[str, Fact] = {
            "root": history.name(uid, run.moment),
            "func": bare(cut.op.func),
            "lost": history.name(cut.lost, cut.moment),
        }
        return finding(
            KIND,
            "warning",
            "leaf-root",
            facts,
            cause=places,
            surfaced=[*seen[:2], history.place("surfaced", run.site, run.moment)],
        )
    return None


# -- no backward at all ---------------------------------------------------------------------


def _no_backward(history: History) -> list[Finding]:
    """An optimizer that steps though nothing has started a backward, and a loss is there."""
    if history.passes or any(event.grad != NONE for _, event in history.grad_events):
        return []
    for one in optimizers(history):
        step = one.steps[0]
        loss = _last_scalar(history, step.moment)
        if loss is None or not any(history.is_grad_leaf(uid, step.moment) for uid in one.held):
            continue
        name = history.name(loss.event.outs[0], step.moment)
        seen = shown_places(history, one.held, step.moment, values=True)
        return [
            finding(
                KIND,
                "warning",
                "forgotten",
                {"loss": name, "optimizer": one.name},
                cause=[
                    history.place("cause", step.site, step.moment, note("steps-nothing")),
                    history.place("cause", loss.site, loss.moment, note("never-backward")),
                ],
                surfaced=[*seen, history.place("surfaced", step.site, step.moment)],
            )
        ]
    return []


def _last_scalar(history: History, moment: int) -> OpState | None:
    """The last call before a moment whose result is one number with a graph, used no further."""
    for op in reversed(history.ops):
        if op.moment > moment or len(op.event.outs) != 1:
            continue
        meta = history.meta(op.event.outs[0], op.moment)
        if meta is None or meta.node == NONE or meta.shape not in ((), (1,)):
            continue
        later = [u for u in history.users.get(op.event.outs[0], ()) if u.event.outs]
        if not any(u.moment < moment and u.moment > op.moment for u in later):
            return op
    return None
