"""A save whose version counter moved: what `inplace-saved` and `optimizer-step-stale` share."""

from __future__ import annotations

from dataclasses import dataclass

from tutor.explain.history import Failure, History
from tutor.trace import NONE, Save
from tutor.trace.state import NodeState, OpState, PassState, WriteState

OPTIMIZER_FILES = ("torch/optim/", "torch\\optim\\")


@dataclass(frozen=True, slots=True)
class Stale:
    """The save that a failing pass asked for, and the first write after it was made."""

    run: PassState
    node: NodeState
    save: Save
    found: int
    expected: int
    write: WriteState | None
    later: tuple[WriteState, ...]
    op: OpState | None


def stale(history: History, failure: Failure) -> Stale | None:
    """What a pass that failed on a moved version counter asked for; None for other failures."""
    run = failure.run
    if run is None or run.stale is None:
        return None
    number, name, found, expected = run.stale
    node = history.nodes.get(number)
    if node is None or found == NONE:
        return None
    save = next((s for s in node.saves if s.name == name), None)
    if save is None:
        return None
    writes = [w for w in history.writes(save.counter) if w.moment <= run.end_moment]
    guilty = [w for w in writes if w.after > expected]
    first = guilty[0] if guilty else None
    op = history.trace.op(first.op) if first is not None else None
    return Stale(run, node, save, found, expected, first, tuple(guilty[1:]), op)


def parameter_of(history: History, trouble: Stale) -> int:
    """The leaf that requires grad whose memory was written, NONE where it is no such leaf."""
    for tensor in history.last.sharing(trouble.save.counter):
        if tensor.meta.leaf and tensor.meta.requires_grad and tensor.meta.base == NONE:
            return tensor.uid
    return NONE


def stepped_by(history: History, op: OpState | None) -> str:
    """The optimizer's class if a call was made inside its step, else ""."""
    for file, name in history.via(op):
        if any(part in file for part in OPTIMIZER_FILES) and "." in name:
            owner, _, method = name.rpartition(".")
            if method == "step" and owner not in ("Optimizer", "LRScheduler"):
                return owner.rsplit(".", 1)[-1]
    if any(any(part in file for part in OPTIMIZER_FILES) for file, _ in history.via(op)):
        return "Optimizer"
    return ""


def loaded_by(history: History, op: OpState | None) -> bool:
    """Whether a call was made inside `load_state_dict`."""
    return bool(history.through(op, "load_state_dict")) or bool(
        history.through(op, "_load_from_state_dict")
    )


def in_forward(history: History, write: WriteState) -> bool:
    """Whether a write happened inside a `forward` of the user's, or of a module called there."""
    if any(place.function.rsplit(".", 1)[-1] == "forward" for place in write.site):
        return True
    op = history.trace.op(write.op)
    return bool(history.through(op, ".forward"))
