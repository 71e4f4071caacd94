"""A loss that compares each value with every target, because (N, 1) met (N,)."""

from __future__ import annotations

from tutor.explain.build import finding, note
from tutor.explain.finding import Fact, Finding
from tutor.explain.history import History, bare
from tutor.explain.kinds.nonscalar_backward import shape
from tutor.trace import NONE
from tutor.trace.state import OpState

KIND = "shape-broadcast"

_LOSSES = frozenset(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
_DIFFERENCES = frozenset(["sub", "__sub__", "__rsub__"])


def ran(history: History) -> list[Finding]:
    """A loss, or a difference of prediction and data, of shapes (N, 1) and (N,)."""
    for op in history.ops:
        name = bare(op.func)
        if name not in _LOSSES and name not in _DIFFERENCES:
            continue
        if len(op.event.args) < 2:
            continue
        metas = [history.meta(uid, op.moment) for uid in op.event.args[:2]]
        if any(meta is None for meta in metas):
            continue
        first, second = (meta.shape for meta in metas if meta is not None)
        if not _crossed(first, second):
            continue
        if name in _DIFFERENCES and not _prediction_and_data(history, op):
            continue
        if not any(_leads_to(history, op, run.event.roots) for run in history.passes):
            continue
        size = max(first[0], second[0])
        facts: dict[str, Fact] = {
            "func": name,
            "first": shape(first),
            "second": shape(second),
            "size": size,
        }
        place = history.place("cause", op.site, op.moment, note("broadcasts", size=size))
        return [
            finding(
                KIND,
                "warning",
                "plain",
                facts,
                cause=[place],
                surfaced=[history.place("surfaced", op.site, op.moment)],
            )
        ]
    return []


def _crossed(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    for a, b in ((first, second), (second, first)):
        if len(a) == 2 and len(b) == 1 and a[1] == 1 and a[0] == b[0] and a[0] > 1:
            return True
    return False


def _prediction_and_data(history: History, op: OpState) -> bool:
    """One side is computed, the other is data, and neither was stood up with an index."""
    grads = [history.requires_grad(uid, op.moment) for uid in op.event.args[:2]]
    views = [
        bare(maker.func) for uid in op.event.args[:2] if (maker := history.maker(uid)) is not None
    ]
    return sum(grads) == 1 and not {"unsqueeze", "__getitem__"} & set(views)


def _leads_to(history: History, op: OpState, roots: tuple[tuple[int, int], ...]) -> bool:
    wanted = {node.event.node for node in history.nodes_of_op.get(op.op, ())}
    return any(
        node.event.node in wanted
        for _, root in roots
        if root != NONE
        for node in history.last.walk(root)
    )
