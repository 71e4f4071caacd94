"""The flow of data behind a tensor, and where gradients were lost on the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose
from typing import Literal

from tutor.explain import source
from tutor.explain.history import History, bare
from tutor.trace import NONE, Place, Site
from tutor.trace import events as ev
from tutor.trace.state import OpState, PassState

Reason = Literal["off", "detach", "data", "sample", "integer", "values", "other"]

SINKS = frozenset(
    ["item", "tolist", "numpy", "__array__", "__float__", "__int__", "__index__", "__bool__"]
)
"""Calls through which values leave torch."""

_DRAWS = frozenset(["multinomial", "bernoulli", "poisson", "normal", "binomial"])
"""Calls that draw a sample: a choice, which has no derivative."""

_REACH = 20_000
"""Tensors looked at in one search."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a value that required grad gave one that does not.

    `lost` is the argument that required grad. `site` and `moment` are those of the call;
    `block` is the place that turned gradients off, where one did. `depth` counts calls
    between the cut and the tensor asked about. `created` is the call that brought the values
    back, where they left torch in between.
    """

    reason: Reason
    op: OpState
    lost: int
    depth: int
    site: Site
    moment: int
    block: Place | None = None
    created: OpState | None = None


@dataclass(frozen=True, slots=True)
class Behind:
    """What a tensor came from: its cuts (nearest first), its leaves, gradients it was made of."""

    cuts: tuple[Cut, ...]
    leaves: tuple[int, ...]
    grads: tuple[PassState, ...]
    """Passes of `autograd.grad` whose results, without a graph, went into it."""
    reentrant: OpState | None = None
    """A call inside a reentrant checkpoint that ran without grad."""


def behind(history: History, uid: int, moment: int) -> Behind:
    """Walk the data flow back from a tensor, through everything that does not require grad."""
    results = {
        result: run
        for run in history.passes
        if run.event.kind == "grad"
        for result in run.results
        if not run.event.create or not history.requires_grad(result, run.end_moment + 1)
    }
    cuts: list[Cut] = []
    leaves: list[int] = []
    grads: list[PassState] = []
    reentrant: OpState | None = None
    pending: deque[tuple[int, int, int]] = deque([(uid, moment, 0)])
    seen: set[int] = set()
    while pending and len(seen) < _REACH:
        current, limit, depth = pending.popleft()
        if current in seen:
            continue
        seen.add(current)
        if current in results:
            grads.append(results[current])
            continue
        made = [op for op in history.makers.get(current, ()) if op.moment <= limit]
        wrapped = made[0] if made and made[0].func == "nn.Parameter" else None
        if wrapped is not None and not any(
            history.requires_grad(uid, wrapped.moment) for uid in wrapped.event.args
        ):
            leaves.append(current)
            continue
        arguments = 0
        for op in reversed(made[-8:]):
            inside = op.func == "Function.apply CheckpointFunction" or (
                op.func == "utils.checkpoint" and "non-reentrant" not in op.event.detail
            )
            if reentrant is None and (inside or history.inside(op, "CheckpointFunction.forward")):
                reentrant = op
            for argument in dict.fromkeys(behind_result(op, current)):
                arguments += 1
                if argument == current and argument in seen and len(made) > 1:
                    continue
                if history.requires_grad(argument, op.moment - 1):
                    cuts.append(_cut(history, op, argument, depth))
                else:
                    pending.append((argument, op.moment, depth + 1))
        known = history.tensor(current)
        base = known.meta.base if known is not None else NONE
        if base not in (NONE, current) and not arguments:
            pending.append((base, limit, depth))
        elif not arguments:
            leaves.append(current)
    if not cuts and not grads:
        cuts = through_values(history, leaves)
    cuts.sort(key=lambda cut: cut.depth)
    return Behind(tuple(cuts), tuple(leaves), tuple(grads), reentrant)


def _cut(history: History, op: OpState, lost: int, depth: int) -> Cut:
    name = bare(op.func)
    if name in ("detach", "detach_"):
        reason: Reason = "detach"
    elif name == "data" or op.func.startswith("Tensor.data"):
        reason = "data"
    elif name in _DRAWS or any(
        "distributions/" in file and way.endswith(".sample") for file, way in history.via(op)
    ):
        reason = "sample"
    elif not op.grad_mode or op.inference:
        return Cut("off", op, lost, depth, op.site, op.moment, turned_off(history, op))
    elif name in SINKS or name in ("tensor", "as_tensor"):
        reason = "values"
    elif _discrete(history, op):
        reason = "integer"
    else:
        reason = "other"
    return Cut(reason, op, lost, depth, op.site, op.moment)


def _discrete(history: History, op: OpState) -> bool:
    """Whether a call's results are integers or booleans."""
    kinds = [known.meta.dtype for uid in op.event.outs if (known := history.tensor(uid))]
    return bool(kinds) and not any("float" in k or "complex" in k for k in kinds)


def turned_off(history: History, op: OpState) -> Place | None:
    """Where gradients had been turned off when a call ran without them."""
    for place in reversed(op.site):
        number = source.grad_off_line(history.text(place.file), place.line)
        if number is not None:
            return Place(place.file, number, place.function, place.iteration, place.frame)
    last: int | None = None
    before = True
    for moment, event in history.trace.of_kind(ev.Mode):
        if moment > op.moment:
            break
        if before and not event.grad:
            last = moment
        before = event.grad
    if last is not None:
        place_then = history.trace.at(last).place
        if place_then is not None:
            return place_then
    return op.site[-1] if op.site else None


def through_values(history: History, leaves: Iterable[int]) -> list[Cut]:
    """Cuts where values left torch (`item`, `numpy`) and came back as a new tensor."""
    found: list[Cut] = []
    for leaf in leaves:
        created, known = history.maker(leaf), history.tensor(leaf)
        if known is None or (created is not None and created.event.args):
            continue
        site = created.site if created is not None else known.born
        sinks = [
            op
            for op in history.ops
            if op.moment < known.moment and bare(op.func) in SINKS and _tainted(history, op)
        ]
        frame = site[-1].frame if site else NONE
        near = [op for op in sinks if any(p.frame == frame for p in op.site)]
        # A tensor made without torch's help (from_numpy) is first seen where it is used.
        near = near or (sinks if created is None else [])
        near.sort(key=lambda op: _handed_over(history, op, leaf))
        found += [
            Cut("values", op, op.event.args[0], 0, op.site, op.moment, None, created)
            for op in reversed(near[-3:])
        ]
    return found


def _handed_over(history: History, sink: OpState, leaf: int) -> int:
    """How well a sink fits the tensor that was made of values: 2 where its numbers are in it."""
    known = history.tensor(leaf)
    uid = sink.event.args[0]
    left = history.value_before(uid, sink.moment + 1)
    came = history.value_after(leaf, known.moment) if known is not None else None
    if left is not None and came is not None and left.flat and came.flat:
        have = [value for value in came.flat if isinstance(value, int | float)]
        return 2 * all(any(_close(one, other) for other in have) for one in left.flat)
    return int(history.requires_grad(uid, sink.moment))


def _close(one: object, other: float) -> bool:
    """Whether two numbers are one, but for a change of precision."""
    return isinstance(one, int | float) and isclose(one, other, rel_tol=1e-5, abs_tol=1e-12)


def _tainted(history: History, op: OpState) -> bool:
    """Whether the argument of a sink requires grad, or was made from one that does."""
    return grad_source(history, op) != NONE


def grad_source(history: History, op: OpState) -> int:
    """The tensor that requires grad from which the argument of a sink came, NONE without one."""
    uid = op.event.args[0] if op.event.args else NONE
    for _ in range(6):
        if uid == NONE or history.requires_grad(uid, op.moment):
            return uid
        maker = history.maker(uid)
        uid = maker.event.args[0] if maker is not None and maker.event.args else NONE
    return NONE


def frozen_lines(history: History, uids: tuple[int, ...], moment: int) -> list[OpState]:
    """The calls that switched requires_grad off on these tensors, and were not undone."""
    found = []
    for uid in uids:
        if history.requires_grad(uid, moment):
            continue
        flags = [
            op
            for op in history.users.get(uid, ())
            if op.moment <= moment and bare(op.func).startswith("requires_grad")
        ]
        if flags:
            found.append(flags[-1])
    return found


def behind_result(op: OpState, result: int) -> tuple[int, ...]:
    """The arguments that a result of a call comes from: each one's own where they go in pairs."""
    args, outs = op.event.args, op.event.outs
    paired = bare(op.func) in ("broadcast_tensors", "meshgrid", "align_tensors", "atleast_1d")
    if paired and len(args) == len(outs) and result in outs:
        return (args[outs.index(result)],)
    return args


def cut_between(history: History, leaf: int, root: int, moment: int) -> Cut | None:
    """Walk the whole data flow back from a root; the first cut behind which the leaf stands."""
    pending, seen = [root], {root}
    while pending and len(seen) < 5000:
        current = pending.pop(0)
        made = [op for op in history.makers.get(current, ()) if op.moment <= moment]
        meta = history.meta(current, moment)
        unconnected = meta is None or meta.node == NONE
        if not any(op.event.args for op in made) and unconnected:
            for cut in through_values(history, [current]):
                source_uid = grad_source(history, cut.op)
                if leaf in history.leaves_behind(source_uid, cut.moment):
                    return cut
        for op in made[-4:]:
            for argument in behind_result(op, current):
                if unconnected and history.requires_grad(argument, op.moment - 1):
                    if argument == current:
                        continue
                    if leaf in history.leaves_behind(argument, op.moment):
                        return _as_cut(op, argument)
                    continue
                if argument not in seen:
                    seen.add(argument)
                    pending.append(argument)
    return None


def _as_cut(op: OpState, argument: int) -> Cut:
    name = bare(op.func)
    reason: Reason = "other"
    if name in ("detach", "detach_"):
        reason = "detach"
    elif name == "data":
        reason = "data"
    elif not op.grad_mode:
        reason = "off"
    return Cut(reason, op, argument, 0, op.site, op.moment)
