"""Complex values of which a part is dropped, or that are squared where a size was meant."""

from __future__ import annotations

from tutor.explain.build import finding, note
from tutor.explain.finding import Finding
from tutor.explain.history import History, bare, op_name
from tutor.explain.shown import shown_places
from tutor.trace import NONE, Value
from tutor.trace.state import NodeState, OpState, PassState

KIND = "complex-loss"

_CASTS = frozenset(
    ["float", "double", "half", "bfloat16", "to", "type", "type_as", "copy_", "__setitem__"]
)


def ran(history: History) -> list[Finding]:
    """A cast that drops imaginary parts; a loss made of squares of complex numbers."""
    return _cast(history) or _square(history)


def _cast(history: History) -> list[Finding]:
    for op in history.ops:
        if bare(op.func) not in _CASTS or not op.event.args:
            continue
        source = op.event.args[-1]
        metas = [history.meta(source, op.moment)]
        outs = op.event.outs or op.event.args[:1]
        metas.append(history.meta(outs[0], op.moment + 1))
        before, after = metas
        if before is None or after is None:
            continue
        if "complex" not in before.dtype or "complex" in after.dtype:
            continue
        if not before.requires_grad or _real(history.value_before(source, op.moment)):
            continue
        run = _pass_through(history, op)
        if run is None:
            continue
        return [_finding(history, "cast", op, [op], run)]
    return []


def _real(value: Value | None) -> bool:
    """Whether complex numbers have no imaginary part to speak of, as far as is known."""
    if value is None or value.flat is None:
        return True
    numbers = [complex(str(v)) for v in value.flat]
    size = max((abs(z) for z in numbers), default=0.0)
    return all(abs(z.imag) <= 1e-4 * size for z in numbers)


def _pass_through(history: History, op: OpState) -> PassState | None:
    """A pass that reached a node which a call made."""
    made = {node.event.node for node in history.nodes_of_op.get(op.op, ())}
    return next((run for run in history.passes if run.ok and made & set(run.arrived)), None)


def _square(history: History) -> list[Finding]:
    """The real part of a sum of squares of complex differences: a square is no size."""
    for op in history.ops:
        if bare(op.func) != "real" or not op.event.outs:
            continue
        run = _pass_through(history, op)
        if run is None:
            continue
        nodes = history.nodes_of_op.get(op.op, ())
        squared = next((s for node in nodes if (s := _squares(history, node))), None)
        if squared is None or not _scalar_in_the_end(history, op):
            continue
        return [_finding(history, "square", op, [squared, op], run)]
    return []


def _squares(history: History, node: NodeState) -> OpState | None:
    """The call below a real part, behind a sum at the most, that squared a difference."""
    current: NodeState | None = node
    for _ in range(5):
        live = [e for e in (current.edges if current is not None else ()) if e[0] != NONE]
        if current is None:
            return None
        op = history.trace.op(current.event.op)
        name = op_name(current.name)
        alike = len(live) == 2 and live[0] == live[1]
        power = name == "pow" and op is not None and op.event.detail in ("2", "2.0")
        if power or (name == "mul" and alike):
            below = history.nodes.get(live[0][0])
            return op if below is not None and op_name(below.name) == "sub" else None
        if name not in ("view_as_real", "select", "sum", "mean") or len(live) != 1:
            return None
        current = history.nodes.get(live[0][0])
    return None


def _scalar_in_the_end(history: History, op: OpState) -> bool:
    """Whether the real part is one number, or is summed up to one."""
    meta = history.meta(op.event.outs[0], op.moment + 1)
    if meta is not None and meta.shape == ():
        return True
    users = history.users.get(op.event.outs[0], ())
    return any(bare(user.func) in ("sum", "mean") and not user.event.detail for user in users)


def _finding(
    history: History, variant: str, op: OpState, places: list[OpState], run: PassState
) -> Finding:
    leaves = [entry.uid for entry in run.accumulated]
    words = note("drops-part") if variant == "cast" else note("squares-complex")
    return finding(
        KIND,
        "warning",
        variant,
        {"func": bare(op.func)},
        cause=[history.place("cause", one.site, one.moment, words) for one in places],
        witness=[history.place("witness", run.site, run.moment)],
        surfaced=[
            *shown_places(history, leaves, op.moment, wrong=op.event.outs),
            history.place("surfaced", run.site, run.moment),
        ],
    )
