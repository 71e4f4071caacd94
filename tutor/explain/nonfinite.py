"""Where NaN and infinities began: the node that made a gradient so, the call that made a value so.

A gradient is followed from the root: the first node that got finite gradients and sent one that
is not. If that node had such values to work with, they are followed back through the data flow,
also through calls that autograd did not record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tutor.explain.history import History, bare, op_name, word_set
from tutor.trace import NONE, Value
from tutor.trace.state import NodeState, OpState, PassState

SINGULAR = word_set(
    """sqrt rsqrt pow div log log2 log10 log1p reciprocal norm linalg_vector_norm std var acos
    asin atan2 acosh atanh linalg_svd linalg_eigh linalg_eig svd linalg_qr linalg_inv_ex prod
    cdist euclidean_dist logit erfinv cosine_similarity std_mean var_mean linalg_solve_ex
    linalg_det log_softmax softmax cumprod xlogy tan binary_cross_entropy"""
)
"""Ops with points where the derivative is not finite; they win where several could be it."""

_MOSTLY_FINE = word_set("pow softmax log_softmax prod tan")
"""Of these, the ones that seldom are to blame: squares, for instance."""

_FILLS = ("masked_fill", "full", "tensor", "where", "fill", "triu", "tril")
"""Calls that put an infinity somewhere on purpose."""

_DEEP = 2000


@dataclass(frozen=True, slots=True)
class Origin:
    """Where it began.

    `way` is "value" (a call made it of finite values), "derivative" (the node did), "data"
    (it was there from the start) or "unsure" (not all values were looked at); `op` and `node`
    are what is known of the call; `fill` is the call that put the infinity there of which this
    one made NaN; `uid` the data.
    """

    way: str
    op: OpState | None
    node: NodeState | None
    fill: OpState | None = None
    uid: int = NONE


def finite(value: Value | None) -> bool:
    """Whether nothing else is known of a value than that it is finite."""
    return value is None or not value.nonfinite


def origins(history: History, run: PassState) -> list[Origin]:
    """What first made a gradient of this pass not finite; several where it cannot be told."""
    return [origin_of(history, node) for node in _senders(history, run)]


def origin_of(history: History, node: NodeState) -> Origin:
    """Where it began, for a node that sent a gradient that is not finite."""
    op = history.trace.op(node.event.op)
    came = [one for uid, moment in _bad_inputs(history, op) if (one := _made(history, uid, moment))]
    first = came[0] if came else None
    if first is not None and (first.way != "fill" or op is None):
        return first
    if first is None and not _knows_inputs(history, op, node):
        return Origin("unsure", op, node)
    outs = [] if op is None else [history.value_after(u, op.moment) for u in op.event.outs]
    way = "value" if any(_nan(value) for value in outs) else "derivative"
    return Origin(way, op, node, first.op if first is not None else None)


def _held(history: History, uid: int, moment: int) -> Value | None:
    """What a tensor held at a moment, None where it was written since it was last looked at."""
    looks = [when for when, _ in history.contents.get(uid, ()) if when < moment]
    known = history.tensor(uid)
    if not looks or known is None:
        return None
    if any(looks[-1] < w.moment < moment for w in history.writes(known.meta.counter)):
        return None
    return history.value_before(uid, moment)


def _knows_inputs(history: History, op: OpState | None, node: NodeState | None) -> bool:
    """Whether all that a call took was looked at, or it is one that makes such values itself."""
    if node is not None and op_name(node.name) in SINGULAR:
        return True
    if op is None:
        return True
    for uid in op.event.args:
        meta = history.meta(uid, op.moment)
        number = meta is not None and ("float" in meta.dtype or "complex" in meta.dtype)
        if number and _held(history, uid, op.moment) is None:
            return False
    return True


def _senders(history: History, run: PassState) -> list[NodeState]:
    """The nodes that got finite gradients and sent one that is not, singular ops first."""
    arrived = dict(run.arrived)
    order = list(run.order)
    for index, uid in enumerate(run.results):
        known = history.tensor(uid) if uid != NONE else None
        inputs = run.event.inputs or ()
        if known is None or known.value is None or index >= len(inputs):
            continue
        target = _node_of(history, run, inputs[index])
        if target != NONE and target not in arrived:
            arrived[target] = (known.value,)
            order.append(target)
    above: dict[int, list[NodeState]] = {}
    for number in run.order:
        node = history.nodes.get(number)
        for target, _ in node.edges if node is not None else ():
            if node is not None:
                above.setdefault(target, []).append(node)
    for number in order:
        if all(finite(g) for g in arrived.get(number, ())):
            continue
        clean = _clean_above(history, run, above, number)
        if clean:
            singular = [n for n in clean if op_name(n.name) in SINGULAR]
            return singular or clean[-1:]
        if not above.get(number):
            return []
    return []


def _clean_above(
    history: History, run: PassState, above: dict[int, list[NodeState]], number: int
) -> list[NodeState]:
    """The nodes over one with a bad gradient, up to those that are known to have got good ones.

    Empty where one of them got a bad one. Of large gradients not all are looked at.
    """
    found: list[NodeState] = []
    pending, seen = [number], {number}
    while pending:
        for node in above.get(pending.pop(0), ()):
            if node.event.node in seen:
                continue
            seen.add(node.event.node)
            grads = run.arrived.get(node.event.node, ())
            if not all(finite(g) for g in grads):
                return []
            found.append(node)
            if not any(g is not None for g in grads):
                pending.append(node.event.node)
    return found


def _node_of(history: History, run: PassState, uid: int) -> int:
    """The node at which the gradient of an input of `autograd.grad` is taken."""
    meta = history.meta(uid, run.moment)
    if meta is not None and meta.node != NONE:
        return meta.node
    for number, node in history.last.nodes.items():
        if node.event.leaf == uid:
            return number
    return NONE


def _bad_inputs(history: History, op: OpState | None) -> list[tuple[int, int]]:
    """(tensor, moment) of what a call took that was not finite; a mask's infinities last."""
    if op is None:
        return []
    bad = [
        (uid, op.moment)
        for uid in dict.fromkeys(op.event.args)
        if not finite(_held(history, uid, op.moment))
    ]
    return sorted(bad, key=lambda pair: not _nan(history.value_before(pair[0], pair[1])))


def _made(history: History, uid: int, moment: int) -> Origin | None:
    """The call that made a value not finite out of finite ones, or the data that it was in.

    Where NaN was made of an infinity that stands there on purpose, that call is meant; an
    infinity on purpose alone comes back as the way "fill".
    """
    seen: set[int] = set()
    current, limit = uid, moment
    for _ in range(_DEEP):
        seen.add(current)
        made = [op for op in history.makers.get(current, ()) if op.moment < limit]
        made = [op for op in made if not finite(history.value_after(current, op.moment))]
        if not made:
            return Origin("data", None, None, uid=current)
        op = made[-1] if history.value_before(current, made[0].moment) is not None else made[0]
        node = next(iter(history.nodes_of_op.get(op.op, ())), None)
        bad = [
            arg
            for arg in dict.fromkeys(op.event.args)
            if arg not in seen and not finite(_held(history, arg, op.moment))
        ]
        if not bad and not _knows_inputs(history, op, node):
            return Origin("unsure", op, node)
        if not bad:
            filled = bare(op.func).startswith(_FILLS) and not _nan(
                history.value_after(current, op.moment)
            )
            if not op.event.args and bare(op.func).startswith(_FILLS):
                return Origin("fill" if filled else "data", op, node, uid=current)
            return Origin("fill" if filled else "value", op, node)
        if _nan(history.value_after(current, op.moment)) and not any(
            _nan(history.value_before(arg, op.moment)) for arg in bad
        ):
            first = _made(history, bad[0], op.moment) if len(seen) < 50 else None
            if first is not None and first.way != "fill":
                return first
            return Origin("value", op, node, first.op if first is not None else None)
        bad.sort(key=lambda arg: not _nan(history.value_before(arg, op.moment)))
        current, limit = bad[0], op.moment
    return None


def _nan(value: Value | None) -> bool:
    """Whether a value holds NaN, or may hold one (of large ones only the count is known)."""
    if value is None or not value.nonfinite:
        return False
    return value.flat is None or any(v != v for v in value.flat)


def suspects(history: History, run: PassState) -> list[NodeState]:
    """The nodes of a pass whose ops have points without a finite derivative, earliest first."""
    found = _named(history, run.order, SINGULAR)
    placed = [node for node in found if node.site]
    return sorted(placed, key=lambda node: (op_name(node.name) in _MOSTLY_FINE, node.moment))


def twice(history: History, node: NodeState) -> list[NodeState]:
    """For a node made by a differentiated derivative: forward nodes that it may stem from."""
    op = history.trace.op(node.event.op)
    if op is None or op.func not in ("autograd.grad", "Tensor.backward"):
        return []
    makers = [run for run in history.passes if run.event.create and run.moment >= op.moment]
    if not makers:
        return []
    return _named(history, makers[0].order, SINGULAR)


def _named(history: History, numbers: Iterable[int], names: frozenset[str]) -> list[NodeState]:
    nodes = (history.nodes.get(number) for number in numbers)
    return [node for node in nodes if node is not None and op_name(node.name) in names]
