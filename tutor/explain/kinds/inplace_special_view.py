"""A write to a view that was made where autograd could not follow: no_grad, a custom Function."""

from __future__ import annotations

from tutor.explain import edits, rewrites
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.custom import function_of
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import turned_off
from tutor.explain.history import Failure, History, bare
from tutor.explain.writes import refused, view_chain
from tutor.trace import NONE
from tutor.trace.state import OpState, TensorState

KIND = "inplace-special-view"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused write, or a use after a write, of a view whose origin is one of these."""
    write = refused(history, failure)
    if write is not None and write.op.grad_mode:
        found = _origin(history, write.target)
        if found is None:
            return None
        where, variant, facts = found
        facts["writer"] = write.name
        cause = history.place("cause", failure.site, failure.moment, note("writes-view"))
        return _finding(history, failure, variant, facts, cause, where)
    op = failure.op
    for uid in op.event.args if op is not None else ():
        target = history.tensor(uid)
        found = _origin(history, target) if target is not None else None
        if target is None or found is None:
            continue
        where, variant, facts = found
        writes = [w for w in history.writes(target.meta.counter) if w.moment > target.moment]
        if not writes:
            continue
        written = history.trace.op(writes[-1].op)
        facts["writer"] = bare(written.func) if written is not None else "a write"
        cause = history.place("cause", writes[-1].site, writes[-1].moment, note("writes-base"))
        return _finding(history, failure, variant, facts, cause, where)
    return None


def _finding(
    history: History,
    failure: Failure,
    variant: str,
    facts: dict[str, Fact],
    cause: FindingPlace | None,
    where: FindingPlace | None,
) -> Finding:
    fixes: list[Fix | None] = []
    if where is not None and variant in ("no-grad", "inference") and facts.get("block_line"):
        line = int(str(facts["block_line"]))
        taken = rewrites.without_block(history.text(where.file), where.file, line)
        fixes.append(fix("record", {"line": line}, taken))
    if cause is not None:
        edit = edits.out_of_place(history.text(cause.file), cause.file, cause.line)
        fixes.append(fix("out-of-place", {"line": cause.line}, edit))
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[cause],
        witness=[where],
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _origin(
    history: History, target: TensorState
) -> tuple[FindingPlace | None, str, dict[str, Fact]] | None:
    """(the line that made the view, the way, facts)."""
    facts: dict[str, Fact] = {"tensor": history.name(target.uid, target.moment)}
    custom = _custom(history, target)
    if custom is not None:
        op, inner = custom
        facts["function"] = op.func.split(" ")[-1] if " " in op.func else bare(op.func)
        place = inner or op
        where = history.place("witness", place.site, place.moment, note("view-in-function"))
        return where, "function", facts
    if target.meta.base == NONE:
        return None
    for op in view_chain(history, target.uid):
        if op.inference or not op.grad_mode:
            block = turned_off(history, op)
            facts["block_line"] = block.line if block is not None else 0
            where = history.place("witness", op.site, op.moment, note("view-without-grad"))
            return where, "inference" if op.inference else "no-grad", facts
    return None


def _custom(history: History, target: TensorState) -> tuple[OpState, OpState | None] | None:
    """(the apply call that returned this view, the last call inside its forward)."""
    node = history.nodes.get(target.meta.node)
    cls = function_of(history, node.name) if node is not None else None
    hooked = node is not None and node.name.startswith("BackwardHookFunction")
    if cls is None and not hooked:
        return None
    applied = [op for op in history.makers.get(target.uid, ()) if "apply" in op.func]
    forward = [
        op
        for op in history.ops
        if cls is not None
        and any(p.function.endswith(f"{cls.name}.forward") for p in op.site)
        and op.moment <= target.moment
    ]
    if applied:
        return applied[-1], forward[-1] if forward else None
    if forward:
        return forward[-1], None
    maker = history.maker(target.uid)
    return (maker, None) if maker is not None else None
