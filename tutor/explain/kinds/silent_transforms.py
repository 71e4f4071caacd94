"""A torch.func gradient that is zero because the function does not use what it is given."""

from __future__ import annotations

from tutor.explain.build import finding, note
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import History, bare
from tutor.explain.shown import shown_places
from tutor.trace import NONE
from tutor.trace.state import OpState

KIND = "functional-transform"

_CUTS = frozenset(["detach", "data", "item", "numpy", "tolist"])


def ran(history: History) -> list[Finding]:
    """A transform that had to make up zeros for each of its inputs."""
    asked: list[int] = []
    began = 0
    zeroed: set[int] = set()
    for op in history.ops:
        if op.func == "Tensor.requires_grad_" and history.inside(op, "_create_differentiable"):
            if zeroed:
                asked, zeroed = [], set()
            began = began if asked else op.moment
            asked += op.event.args
        elif op.func == "torch.zeros_like" and history.through(op, "_autograd_grad"):
            zeroed |= set(op.event.args)
            if asked and zeroed >= set(asked):
                return [_explain(history, asked, began, op)]
        elif asked and not zeroed and op.site and not _below_transform(history, op):
            asked = []  # the transform is over, and it found a dependence
    return []


def _below_transform(history: History, op: OpState) -> bool:
    return any("_functorch" in file for file, _ in history.via(op)) or any(
        "_functorch" in file
        for place in op.site
        for file, _ in history.entered_via.get(place.frame, ())
    )


def _explain(history: History, asked: list[int], began: int, end: OpState) -> Finding:
    inside = [
        op
        for op in history.ops
        if began < op.moment < end.moment and op.site and _user_line(history, op)
    ]
    from_input = set(asked)
    cut: OpState | None = None
    for op in inside:
        if from_input & set(op.event.args):
            if bare(op.func) in _CUTS and cut is None:
                cut = op
            from_input |= set(op.event.outs)
    causes: list[FindingPlace | None] = []
    facts: dict[str, Fact] = {"func": bare(cut.func) if cut is not None else ""}
    variant = "unused"
    if cut is not None:
        variant = "cut"
        causes.append(history.place("cause", cut.site, cut.moment, note("cuts")))
    elif inside:
        first = inside[0]
        causes.append(history.place("cause", first.site, first.moment, note("uses-others")))
    causes.append(history.place("cause", end.site, end.moment, note("asks-transform")))
    results = [
        uid for uid, known in history.tensors.items() if end.moment < known.moment
        and known.op == NONE and known.moment < end.moment + 64
    ]  # fmt: skip
    return finding(
        KIND,
        "warning",
        variant,
        facts,
        cause=causes,
        surfaced=[
            *shown_places(history, (), end.moment, wrong=results),
            history.place("surfaced", end.site, end.moment),
        ],
    )


def _user_line(history: History, op: OpState) -> bool:
    """Whether a call was made by the function that is transformed, not by the transform."""
    return not any("_functorch" in file for file, _ in history.via(op))
