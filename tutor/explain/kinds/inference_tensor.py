"""A tensor made in inference mode is used where autograd has to record."""

from __future__ import annotations

from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.edits import rename_call
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace
from tutor.explain.flow import turned_off
from tutor.explain.history import Failure, History, bare
from tutor.trace import NONE
from tutor.trace.state import TensorState

KIND = "inference-tensor"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused call one of whose tensors has no version counter: inference tensors have none."""
    op = failure.op
    if op is None or op.inference:
        return None
    made = [
        tensor
        for uid in op.event.args
        if (tensor := history.tensor(uid)) is not None and tensor.meta.version == NONE
    ]
    if not made or failure.run is not None:
        return None
    target = made[0]
    origin = _origin(history, target)
    maker = history.maker(origin.uid)
    causes: list[FindingPlace | None] = []
    edit: Edit | None = None
    facts: dict[str, Fact] = {
        "tensor": history.name(target.uid, op.moment),
        "func": bare(op.func),
    }
    if maker is not None:
        block = turned_off(history, maker)
        if block is not None:
            site = (*[p for p in maker.site if p.frame != block.frame][:-1], block)
            causes.append(history.place("cause", site, maker.moment, note("inference-on")))
            edit = rename_call(
                history.text(block.file), block.file, block.line, "inference_mode", "no_grad"
            )
        causes.append(history.place("cause", maker.site, maker.moment, note("made-in-inference")))
    else:
        causes.append(history.place("cause", target.born, target.moment, note("made-in-inference")))
    line = next((place.line for place in causes if place is not None), 0)
    return finding(
        KIND,
        "error",
        "plain",
        facts,
        cause=causes,
        witness=[history.place("witness", op.site, op.moment, note("must-record"))],
        surfaced=[surfaced(history)],
        fixes=[fix("no-grad-instead", {"line": line}, edit)],
    )


def _origin(history: History, target: TensorState) -> TensorState:
    """The inference tensor that a view made outside of inference mode looks into."""
    base = history.tensor(history.base_of(target.uid))
    return base if base is not None and base.meta.version == NONE else target
