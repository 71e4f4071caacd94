"""NaN, infinite or absurdly large gradients that come from one singular point."""

from __future__ import annotations

import re

from tutor.explain import guards
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.nonfinite import SINGULAR, Origin, finite, origin_of, origins, suspects, twice
from tutor.explain.reads import read_after
from tutor.explain.shown import shown_places
from tutor.trace import NONE, Site, Value
from tutor.trace.state import NodeState, PassState

KIND = "nan-grad"

HUGE = 1e8
"""A gradient this many times larger than what arrived comes from a division by almost 0."""

NEAR = 1e-6
"""What counts as next to zero for a divisor."""

_ANOMALY = re.compile(r"returned nan values in its")
"""Anomaly mode looks at what a node sends, which is not in the trace."""

_DECOMPOSES = frozenset(["svd", "linalg_svd", "eigh", "linalg_eigh", "eig", "linalg_eig"])


def raised(history: History, failure: Failure) -> Finding | None:
    """Anomaly mode stopped the backward at the node that gave NaN."""
    run = failure.run
    node = history.nodes.get(run.failing) if run is not None else None
    if run is None or node is None or not _ANOMALY.search(failure.message):
        return None
    clean = all(finite(g) for g in run.arrived.get(run.failing, ()))
    causes = _places(history, origin_of(history, node))
    causes.append(history.place("cause", node.site, node.moment, note("derivative-nonfinite")))
    return finding(
        KIND,
        "error",
        "anomaly" if clean else "anomaly-passed",
        {"func": op_name(node.name)},
        cause=causes,
        surfaced=[surfaced(history)],
        fixes=_fixes(history, [origin_of(history, node), Origin("derivative", None, node)]),
    )


def ran(history: History) -> list[Finding]:
    """A pass that left a gradient that is not finite, or is huge because of one op."""
    for run in history.passes:
        bad = _bad_leaf(history, run) if run.ok else NONE
        found = origins(history, run) if bad != NONE else []
        if found and _seen_late(history, found[0]):
            return _late(history, run, bad)
        if found:
            return [_finding(history, run, bad, found)]
    for run in history.passes:
        node = _huge(history, run) if run.ok else None
        if node is not None:
            origin = Origin("huge", history.trace.op(node.event.op), node)
            return [_finding(history, run, _first_leaf(run), [origin])]
    return []


def _seen_late(history: History, origin: Origin) -> bool:
    """Whether NaN was there before the run was looked at: not all of a long one is."""
    known = history.tensor(origin.uid) if origin.way == "data" else None
    trained = known is not None and known.meta.requires_grad and known.meta.leaf
    return origin.way == "unsure" or (trained and _was_finite(history, origin.uid))


def _was_finite(history: History, uid: int) -> bool:
    return any(finite(value) for _, value in history.contents.get(uid, ()))


def _late(history: History, run: PassState, leaf: int) -> list[Finding]:
    """The calls of which one may have made it, where the moment itself was not looked at."""
    nodes = suspects(history, run)
    if not nodes:
        return []
    words = note("may-be-nonfinite")
    places = [history.place("cause", node.site, node.moment, words) for node in nodes]
    leaves = [leaf, *(entry.uid for entry in run.accumulated)]
    return [
        finding(
            KIND,
            "warning",
            "late",
            {"leaf": history.name(leaf, run.moment), "func": op_name(nodes[0].name)},
            cause=places,
            surfaced=[
                *shown_places(history, leaves, run.moment, note("not-finite")),
                history.place("surfaced", run.site, run.moment),
            ],
        )
    ]


def _finding(history: History, run: PassState, leaf: int, found: list[Origin]) -> Finding:
    origin = found[0]
    facts: dict[str, Fact] = {
        "leaf": history.name(leaf, run.moment) if leaf != NONE else "a tensor",
        "func": "the data",
    }
    if origin.op is not None and origin.op.event.outs:
        facts["func"] = bare(origin.op.func)
    elif origin.node is not None:
        facts["func"] = op_name(origin.node.name)
    leaves = [leaf, *(e.uid for e in run.accumulated), *_retained(history, run)]
    seen: list[FindingPlace | None] = []
    for uid in leaves:
        if uid != NONE and not seen:
            seen = read_after(history, uid, run.moment, note("not-finite"))[:1]
    seen += shown_places(history, leaves, run.moment, note("not-finite"), wrong=run.results)
    return finding(
        KIND,
        "warning",
        origin.way,
        facts,
        cause=[*(p for one in found for p in _places(history, one))],
        witness=[history.place("witness", run.site, run.moment, note("spreads"))],
        surfaced=[*seen[:2], history.place("surfaced", run.site, run.moment)],
        fixes=_fixes(history, found),
    )


def _fixes(history: History, found: list[Origin]) -> list[Fix | None]:
    """The input kept off the point where the derivative is not finite; no infinity filled in."""
    made: list[Fix | None] = []
    for origin in found[:2]:
        if origin.fill is not None and origin.fill.site:
            here = origin.fill.site[-1]
            edit = guards.finite_fill(history.text(here.file), here.file, here.line)
            made.append(fix("finite-fill", {"line": here.line}, edit))
        called: list[tuple[Site, str]] = []
        if origin.op is not None:
            called.append((origin.op.site, bare(origin.op.func)))
        if origin.node is not None:
            called.append((origin.node.site, op_name(origin.node.name)))
        for site, func in called:
            if site:
                here = site[-1]
                edit = guards.guarded(history.text(here.file), here.file, here.line, func)
                made.append(fix("guard", {"line": here.line, "func": func}, edit))
    return made


def _places(history: History, origin: Origin) -> list[FindingPlace | None]:
    """The lines of an origin, best first."""
    found: list[FindingPlace | None] = []
    words = {"value": "makes-nonfinite", "huge": "derivative-huge"}.get(
        origin.way, "derivative-nonfinite"
    )
    if origin.way == "data" and origin.op is None:
        known = history.tensor(origin.uid)
        born, moment = (known.born, known.moment) if known is not None else ((), 0)
        return [history.place("cause", born, moment, note("not-finite"))]
    if origin.node is not None:
        found += [
            history.place("cause", node.site, node.moment, note(words))
            for node in twice(history, origin.node)[:2]
        ]
    if origin.op is not None:
        found.append(history.place("cause", origin.op.site, origin.op.moment, note(words)))
    elif origin.node is not None:
        found.append(history.place("cause", origin.node.site, origin.node.moment, note(words)))
    if origin.fill is not None:
        fill = origin.fill
        found.append(history.place("cause", fill.site, fill.moment, note("fills-infinity")))
    return [*found, *_vectors_used(history, origin)]


def _vectors_used(history: History, origin: Origin) -> list[FindingPlace | None]:
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


def _above(history: History, run: PassState) -> dict[int, list[NodeState]]:
    found: dict[int, list[NodeState]] = {}
    for number in run.order:
        node = history.nodes.get(number)
        for target, _ in node.edges if node is not None else ():
            if node is not None:
                found.setdefault(target, []).append(node)
    return found


def _huge(history: History, run: PassState) -> NodeState | None:
    """A node that made a finite gradient many orders of magnitude larger, up to a tensor's own."""
    if not _arrives_huge(history, run):
        return None
    above = _above(history, run)
    for number in run.order:
        size = max((_size(g) for g in run.arrived.get(number, ())), default=0.0)
        if size < HUGE:
            continue
        for node in above.get(number, ()):
            before = max((_size(g) for g in run.arrived.get(node.event.node, ())), default=0.0)
            singular = op_name(node.name) in SINGULAR and _near_zero(history, node, run)
            if before > 0.0 and size / before > HUGE and singular:
                return node
    return None


def _arrives_huge(history: History, run: PassState) -> bool:
    """Whether a gradient that the program gets is huge: a zero may follow on the way there."""
    sizes = [_size(entry.after) for entry in run.accumulated]
    sizes += [
        _size(event.value)
        for moment, event in history.retained
        if run.moment < moment <= run.end_moment
    ]
    for uid in run.results:
        known = history.tensor(uid) if uid != NONE else None
        sizes.append(_size(known.value) if known is not None else 0.0)
    return max(sizes, default=0.0) >= HUGE


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
