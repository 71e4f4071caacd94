"""Refused writes: what the four kinds of refused in-place operations share."""

from __future__ import annotations

from dataclasses import dataclass

from tutor.explain.finding import FindingPlace
from tutor.explain.history import Failure, History, bare
from tutor.trace import NONE
from tutor.trace.state import OpState, TensorState

MULTIPLE = ("Unbind", "Split", "Chunk", "UnsafeSplit", "SplitWithSizes", "TensorSplit")
EXPANDS = frozenset(["expand", "expand_as", "broadcast_to", "broadcast_tensors", "unfold"])


@dataclass(frozen=True, slots=True)
class Write:
    """An in-place call that torch refused, and the tensor that it was to write."""

    op: OpState
    target: TensorState

    @property
    def name(self) -> str:
        """The call's short name."""
        return bare(self.op.func)


def writes(name: str) -> bool:
    """Whether a function of this short name writes into its first argument."""
    if name == "__setitem__" or name.startswith(("_foreach", "_fused")):
        return True
    if name.startswith("__i") and name.endswith("__"):
        return name not in ("__int__", "__index__", "__invert__")
    return name.endswith("_") and not name.endswith("__")


def refused(history: History, failure: Failure) -> Write | None:
    """The write that the failing call was; None if it was none, or its target is unknown."""
    op = failure.op
    if op is None or not op.event.args:
        return None
    inplace = "inplace=True" in op.event.detail
    if not writes(bare(op.func)) and not inplace and not op.func.startswith("init."):
        return None
    target = history.tensor(op.event.args[0])
    return Write(op, target) if target is not None else None


def view_chain(history: History, uid: int) -> list[OpState]:
    """The calls that made a tensor out of its base, the last one first."""
    found: list[OpState] = []
    current = uid
    for _ in range(16):
        maker = history.maker(current)
        if maker is None or not maker.event.args:
            break
        found.append(maker)
        following = maker.event.args[0]
        if following == current or history.base_of(current) == current:
            break
        current = following
    return found


def made_at(
    history: History, target: TensorState, words: str, role: str = "witness"
) -> FindingPlace | None:
    """The line where a tensor came from: the call that made it, else where it was first seen."""
    maker = history.maker(target.uid)
    site, moment = (maker.site, maker.moment) if maker else (target.born, target.moment)
    return history.place("witness" if role == "witness" else "cause", site, moment, words)


def multiple(history: History, target: TensorState) -> OpState | None:
    """The call that made this tensor and others as views of one, None if none did."""
    for op in view_chain(history, target.uid):
        views = [
            uid
            for uid in op.event.outs
            if (t := history.tensor(uid)) is not None and t.meta.base != NONE
        ]
        if len(views) > 1:
            return op
    return None
