"""The kinds of finding that can be recognised, in the order in which they are asked.

An error has one explanation: the first kind that recognises it, special kinds before general
ones, `other` last. What went wrong in silence is looked for by every kind that knows how.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tutor.explain.finding import Finding
from tutor.explain.history import Failure, History
from tutor.explain.kinds import (
    data_bypass,
    freed_graph,
    grad_accumulation,
    inplace_saved,
    no_grad_fn,
    optimizer_step,
    other,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of trouble: its id, the lesson that teaches it, how it is recognised.

    `raised` explains the error that ended a run; `ran` finds what happened without one.
    """

    id: str
    lesson: str | None = None
    raised: Callable[[History, Failure], Finding | None] | None = None
    ran: Callable[[History], list[Finding]] | None = None


KINDS: tuple[Kind, ...] = (
    Kind("optimizer-step-stale", "inplace.optimizer-step", optimizer_step.raised),
    Kind("inplace-saved", "inplace.version-counter", inplace_saved.raised),
    Kind("freed-graph", "backward.freed", freed_graph.raised),
    Kind("no-grad-fn", "off.detach-clone", no_grad_fn.raised),
    Kind("data-bypass", "inplace.data-trap", ran=data_bypass.ran),
    Kind("grad-accumulation", "basics.accumulate", ran=grad_accumulation.ran),
    Kind("other", None, other.raised),
)

BY_ID: dict[str, Kind] = {kind.id: kind for kind in KINDS}


def lesson_of(kind: str) -> str | None:
    """The lesson that teaches a kind, whether it is installed or not."""
    known = BY_ID.get(kind)
    return known.lesson if known is not None else None
