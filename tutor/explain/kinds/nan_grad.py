"""NaN, infinite or absurdly large gradients that come from one singular point."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tutor.explain.build import finding, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import Failure, History, bare, op_name, word_set
from tutor.explain.reads import read_after
from tutor.trace import NONE, Value
from tutor.trace.state import NodeState, OpState, PassState

KIND = "nan-grad"

HUGE = 1e8
"""A gradient this many times larger than what arrived comes from a division by almost 0."""

NEAR = 1e-6
"""What counts as next to zero for a divisor."""

_ANOMALY = re.compile(r"returned nan values in its")
"""Anomaly mode looks at what a node sends, which is not in the trace."""

_SINGULAR = word_set(
    """sqrt rsqrt pow div log log2 log10 log1p reciprocal norm linalg_vector_norm std var acos
    asin atan2 acosh linalg_svd linalg_eigh linalg_eig svd linalg_qr linalg_inv_ex prod cdist
    logit erfinv cosine_similarity std_mean var_mean linalg_solve_ex linalg_det"""
)
"""Ops with points where the derivative is not finite; they win where several could be it."""


_FILLS = ("masked_fill", "full", "tensor", "where")
"""Calls that put an infinity somewhere on purpose."""

_DECOMPOSES = frozenset(["svd", "linalg_svd", "eigh", "linalg_eigh", "eig", "linalg_eig"])


@dataclass(frozen=True, slots=True)
class _Source:
    """Where it began: the call or node, the way ("value", "derivative", "huge")."""

    way: str
    op: OpState | None
    node: NodeState | None
    place: FindingPlace | None


def raised(history: History, failure: Failure) -> Finding | None:
    """Anomaly mode stopped the backward at the node that gave NaN."""
    run = failure.run
    node = history.last.nodes.get(run.failing) if run is not None else None
    if run is None or node is None or not _ANOMALY.search(failure.message):
        return None
    finite = all(_finite(g) for g in run.arrived.get(run.failing, ()))
    first = _forward(history, run)
    words = note("derivative-nonfinite")
    causes = [first.place] if first is not None else []
    causes.append(history.place("cause", node.site, node.moment, words))
    return finding(
        KIND,
        "error",
        "anomaly" if finite else "anomaly-passed",
        {"func": op_name(node.name)},
        cause=causes,
        surfaced=[surfaced(history)],
    )


def ran(history: History) -> list[Finding]:
    """A pass that left a gradient that is not finite, or is huge because of one op."""
    for run in history.passes:
        if not run.ok:
            continue
        bad = _bad_leaf(history, run)
        if bad == NONE:
            continue
        found = _forward(history, run) or _backward(history, run) or _given(history, run)
        if found is not None:
            return [_finding(history, run, bad, found)]
    for run in history.passes:
        if run.ok:
            found = _huge(history, run)
            if found is not None:
                return [_finding(history, run, _first_leaf(run), found)]
    return []


def _finding(history: History, run: PassState, leaf: int, origin: _Source) -> Finding:
    facts: dict[str, Fact] = {
        "leaf": history.name(leaf, run.moment) if leaf != NONE else "a tensor"
    }
    if origin.op is not None:
        facts["func"] = bare(origin.op.func)
    elif origin.node is not None:
        facts["func"] = op_name(origin.node.name)
    else:
        facts["func"] = "the data"
    seen: list[FindingPlace | None] = []
    for uid in [leaf, *(e.uid for e in run.accumulated), *_retained(history, run)]:
        if uid != NONE and not seen:
            seen = read_after(history, uid, run.moment, note("not-finite"))
    seen.append(history.place("surfaced", run.site, run.moment))
    return finding(
        KIND,
        "warning",
        origin.way,
        facts,
        cause=[origin.place, *_vectors_used(history, origin)],
        witness=[history.place("witness", run.site, run.moment, note("spreads"))],
        surfaced=seen,
    )


def _vectors_used(history: History, origin: _Source) -> list[FindingPlace | None]:
    """Where the vectors of a decomposition are used: by its values alone nothing goes wrong."""
    if origin.op is None or bare(origin.op.func) not in _DECOMPOSES:
        return []
    outs = origin.op.event.outs
    vectors = [outs[0], outs[2]] if len(outs) == 3 else list(outs[1:])
    used = [op for uid in vectors for op in history.users.get(uid, ()) if op.site]
    return [history.place("cause", op.site, op.moment, note("uses-vectors")) for op in used]


def _bad_leaf(history: History, run: PassState) -> int:
    """A leaf whose gradient this pass made not finite, NONE where there is none."""
    for entry in run.accumulated:
        clean = entry.before is None or not entry.before.nonfinite
        if clean and entry.after is not None and entry.after.nonfinite:
            return entry.uid
    for index, uid in enumerate(run.results):
        known = history.tensor(uid) if uid != NONE else None
        if known is not None and known.value is not None and known.value.nonfinite:
            inputs = run.event.inputs or ()
            return inputs[index] if index < len(inputs) else uid
    return NONE


def _retained(history: History, run: PassState) -> list[int]:
    """Non-leaf tensors whose gradient is kept."""
    return [
        op.event.args[0]
        for op in history.ops
        if bare(op.func) == "retain_grad" and op.event.args and op.moment < run.moment
    ]


def _first_leaf(run: PassState) -> int:
    return run.accumulated[0].uid if run.accumulated else NONE


def _finite(value: Value | None) -> bool:
    return value is None or not value.nonfinite


def _forward(history: History, run: PassState) -> _Source | None:
    """The first call in this graph that made a value that is not finite out of finite ones.

    An infinity that is put there on purpose, as a mask before a softmax, does not count, nor
    what only carries it on; a NaN that a later call makes of it does.
    """
    nodes = [n for number in run.arrived if (n := history.last.nodes.get(number)) is not None]
    calls = {n.event.op: n for n in nodes if n.event.op != NONE}
    meant: set[int] = set()
    for number in sorted(calls):
        op = history.trace.op(number)
        if op is None or op.moment > run.moment:
            continue
        outs = [history.value_after(uid, op.moment) for uid in op.event.outs]
        if all(_finite(value) for value in outs):
            continue
        if not all(
            uid in meant or _finite(history.value_before(uid, op.moment)) for uid in op.event.args
        ):
            continue
        filled = bare(op.func).startswith(_FILLS) or meant & set(op.event.args)
        if filled and not any(_has_nan(value) for value in outs):
            meant |= set(op.event.outs)
            continue
        place = history.place("cause", op.site, op.moment, note("makes-nonfinite"))
        return _Source("value", op, calls[number], place)
    return None


def _has_nan(value: Value | None) -> bool:
    """Whether a value is known to hold NaN (infinities alone say nothing)."""
    flat = value.flat if value is not None else None
    return flat is not None and any(v != v for v in flat)


def _backward(history: History, run: PassState) -> _Source | None:
    """The first node that got finite gradients and sent one that is not."""
    above = _above(history, run)
    for number in run.order:
        if all(_finite(g) for g in run.arrived.get(number, ())):
            continue
        clean = [
            node
            for node in above.get(number, ())
            if all(_finite(g) for g in run.arrived.get(node.event.node, ()))
        ]
        if clean:
            clean.sort(key=lambda n: op_name(n.name) not in _SINGULAR)
            node = clean[0]
            words = note("derivative-nonfinite")
            place = history.place("cause", node.site, node.moment, words)
            return _Source("derivative", history.trace.op(node.event.op), node, place)
        if not above.get(number):
            return None
    return None


def _above(history: History, run: PassState) -> dict[int, list[NodeState]]:
    found: dict[int, list[NodeState]] = {}
    for number in run.order:
        node = history.last.nodes.get(number)
        for target, _ in node.edges if node is not None else ():
            assert node is not None
            found.setdefault(target, []).append(node)
    return found


def _given(history: History, run: PassState) -> _Source | None:
    """Data that was not finite before anything was computed."""
    for number in run.arrived:
        node = history.last.nodes.get(number)
        op = history.trace.op(node.event.op) if node is not None else None
        for uid in op.event.args if op is not None else ():
            known = history.tensor(uid)
            if known is None or known.meta.node != NONE:
                continue
            value = history.value_before(uid, run.moment)
            if value is not None and value.nonfinite:
                maker = history.maker(uid)
                site, moment = (maker.site, maker.moment) if maker else (known.born, known.moment)
                return _Source("data", None, None, history.place("cause", site, moment))
    return None


def _huge(history: History, run: PassState) -> _Source | None:
    """A node that made a finite gradient many orders of magnitude larger."""
    above = _above(history, run)
    for number in run.order:
        size = max((_size(g) for g in run.arrived.get(number, ())), default=0.0)
        if size < HUGE:
            continue
        for node in above.get(number, ()):
            before = max((_size(g) for g in run.arrived.get(node.event.node, ())), default=0.0)
            singular = op_name(node.name) in _SINGULAR and _near_zero(history, node, run)
            if before > 0.0 and size / before > HUGE and singular:
                place = history.place("cause", node.site, node.moment, note("derivative-huge"))
                return _Source("huge", history.trace.op(node.event.op), node, place)
    return None


def _near_zero(history: History, node: NodeState, run: PassState) -> bool:
    """Whether a value that the call took or kept lies at, or next to, zero."""
    op = history.trace.op(node.event.op)
    values = [history.value_before(uid, run.moment) for uid in (op.event.args if op else ())]
    values += [save.value for save in node.saves]
    for value in values:
        if value is None:
            continue
        if value.flat is not None:
            if any(not isinstance(v, str) and abs(v) < NEAR for v in value.flat):
                return True
        elif value.low is not None and value.high is not None and value.low < NEAR < value.high:
            return True
    return False


def _size(value: Value | None) -> float:
    if value is None or value.low is None or value.high is None:
        return 0.0
    return max(abs(value.low), abs(value.high))
