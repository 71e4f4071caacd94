"""Slopes measured by running again: what autograd's gradient is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.lesson.checks import Numeric
from tutor.lesson.compile import DIRECTIONS, STEP
from tutor.trace import Trace


def measured(need: Numeric, traces: Sequence[Trace]) -> tuple[tuple[float, float], ...]:
    """(measured, claimed) slope along each direction; empty where a run gave no number.

    `traces` are those of the programs of `nudged`: the run in place says what the gradient
    claims, the others what the loss became. All of them compute in float64.
    """
    claims = [_claimed(traces[0], seed) for seed in DIRECTIONS]
    pairs = []
    for index, claim in enumerate(claims):
        ahead = _loss(need, traces[1 + 2 * index])
        behind = _loss(need, traces[2 + 2 * index])
        if claim is None or ahead is None or behind is None:
            return ()
        pairs.append(((ahead - behind) / (2 * STEP), claim))
    return tuple(pairs)


def _claimed(trace: Trace, seed: int) -> float | None:
    answer = trace.answers.get(f"along {seed}")
    data = answer.data if answer is not None and isinstance(answer.data, dict) else {}
    slope = data.get("slope")
    return slope if isinstance(slope, float) else None


def _loss(need: Numeric, trace: Trace) -> float | None:
    """The loss at the end of a run: the expression's, or the sum of the backward's roots."""
    if need.loss is not None:
        answer = trace.answers.get("loss")
        data = answer.data if answer is not None and isinstance(answer.data, dict) else {}
        return _sum(data.get("flat"))
    total = 0.0
    for run in trace.passes:
        for uid, _ in run.event.roots:
            tensor = trace.at(run.moment).tensors.get(uid)
            part = _sum(tensor.value.flat) if tensor is not None and tensor.value else None
            if part is None:
                return None
            total += part
    return total if trace.passes else None


def _sum(flat: object) -> float | None:
    if not isinstance(flat, (list, tuple)) or any(isinstance(x, str) for x in flat):
        return None
    return float(sum(flat))
