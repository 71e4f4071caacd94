"""Checkpointed parts that silently give no gradient, or another one than the plain part."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Edit, Finding, FindingPlace
from tutor.explain.history import History, bare
from tutor.explain.shown import shown_places
from tutor.trace import NONE, Value
from tutor.trace.state import OpState, PassState

KIND = "checkpoint"

_RANDOM = ("dropout", "rand", "bernoulli", "normal", "multinomial", "rrelu", "gumbel", "poisson")


def ran(history: History) -> list[Finding]:
    """Inputs without grad, random numbers that are drawn anew, a recomputation that differs."""
    calls = [op for op in history.ops if op.func == "utils.checkpoint" and op.site]
    if not calls or not any(run.ok for run in history.passes):
        return []
    return _no_input(history, calls) or _anew(history, calls) or _differs(history)


def _inside(history: History, call: OpState) -> list[OpState]:
    """The calls that a checkpointed part made in its forward."""
    found: list[OpState] = []
    for op in reversed(history.ops):
        if op.op >= call.op:
            continue
        if not history.inside(op, "checkpoint") and not history.inside(
            op, "CheckpointFunction.forward"
        ):
            break
        found.append(op)
    return found[::-1]


# -- a reentrant one whose inputs need no gradient ------------------------------------------


def _no_input(history: History, calls: list[OpState]) -> list[Finding]:
    given = {entry.uid for run in history.passes for entry in run.accumulated}
    for call in calls:
        if "non-reentrant" in call.event.detail:
            continue
        if any(history.requires_grad(uid, call.moment) for uid in call.event.args):
            continue
        lost = [
            uid
            for op in _inside(history, call)
            for uid in op.event.args
            if history.is_grad_leaf(uid, call.moment) and uid not in given
        ]
        later = [run for run in history.passes if run.ok and run.moment > call.moment]
        if not lost or not later:
            continue
        seen = shown_places(history, lost, later[0].moment, note("is-none"), values=True)
        return [
            finding(
                KIND,
                "warning",
                "no-input",
                {"leaf": history.name(lost[0], call.moment)},
                cause=[history.place("cause", call.site, call.moment, note("cuts"))],
                witness=[history.place("witness", later[0].site, later[0].moment)],
                surfaced=[*seen, history.place("surfaced", later[0].site, later[0].moment)],
                fixes=[fix("non-reentrant", {"line": call.site[-1].line}, _flag(history, call))],
            )
        ]
    return []


def _flag(history: History, call: OpState) -> Edit | None:
    place = call.site[-1]
    text = history.text(place.file)
    return edits.set_keyword(
        text, place.file, place.line, "checkpoint", "use_reentrant", "False"
    ) or edits.add_keyword(text, place.file, place.line, "checkpoint", "use_reentrant", "False")


# -- random numbers drawn anew --------------------------------------------------------------


def _anew(history: History, calls: list[OpState]) -> list[Finding]:
    for call in calls:
        place = call.site[-1]
        node = source.statement(history.text(place.file), place.line)
        if node is None or not _keeps_no_state(node):
            continue
        random = [op for op in _inside(history, call) if _draws(op)]
        run = next((r for r in history.passes if r.ok and r.moment > call.moment), None)
        if not random or run is None:
            continue
        text = history.text(place.file)
        edit = edits.drop_keyword(text, place.file, place.line, "preserve_rng_state")
        return [
            finding(
                KIND,
                "warning",
                "anew",
                {"func": bare(random[0].func)},
                cause=[history.place("cause", call.site, call.moment, note("recomputes"))],
                witness=[history.place("witness", random[0].site, random[0].moment)],
                surfaced=_seen(history, run),
                fixes=[fix("keep-rng", {"line": place.line}, edit)],
            )
        ]
    return []


def _keeps_no_state(node: ast.stmt) -> bool:
    return any(
        given.arg == "preserve_rng_state"
        and isinstance(given.value, ast.Constant)
        and given.value.value is False
        for call in source.calls(node)
        for given in call.keywords
    )


def _draws(op: OpState) -> bool:
    name = bare(op.func)
    if not name.startswith(_RANDOM) and not name.endswith("dropout"):
        return False
    return "training=False" not in op.event.detail


# -- a recomputation with other numbers -----------------------------------------------------


def _differs(history: History) -> list[Finding]:
    """The first call of a reentrant part whose result is another one in the recomputation."""
    for call in history.ops:
        if call.func != "Function.apply CheckpointFunction":
            continue
        made = {node.event.node for node in history.nodes_of_op.get(call.op, ())}
        forward = [op for op in _inside(history, call) if op.event.outs]
        for run in history.passes:
            if not run.ok or not made & set(run.arrived):
                continue
            again = [
                op
                for op in history.ops
                if op.event.nested
                and op.event.outs
                and run.moment < op.moment < run.end_moment
                and history.inside(op, "CheckpointFunction.backward")
                and bare(op.func) not in ("detach", "requires_grad")
            ]
            for first, second in zip(forward, again, strict=False):
                if first.func != second.func or first.site[-1:] == ():
                    break
                if (first.site[-1].file, first.site[-1].line) != (
                    second.site[-1].file,
                    second.site[-1].line,
                ):
                    break
                if _other_result(history, first, second):
                    return [_difference(history, first, call, run)]
            break
    return []


def _other_result(history: History, first: OpState, second: OpState) -> bool:
    for a, b in zip(first.event.outs, second.event.outs, strict=False):
        old, new = history.value_after(a, first.moment), history.value_after(b, second.moment)
        if old is not None and new is not None and not _same(old, new):
            return True
    return False


def _same(old: Value, new: Value) -> bool:
    if old.shape != new.shape:
        return False
    return (old.flat, old.low, old.high, old.mean) == (new.flat, new.low, new.high, new.mean)


def _difference(history: History, op: OpState, call: OpState, run: PassState) -> Finding:
    return finding(
        KIND,
        "warning",
        "differs",
        {"func": bare(op.func)},
        cause=[history.place("cause", op.site, op.moment, note("other-result"))],
        witness=[history.place("witness", call.site, call.moment, note("recomputes"))],
        surfaced=_seen(history, run),
    )


def _seen(history: History, run: PassState) -> list[FindingPlace | None]:
    leaves = [entry.uid for entry in run.accumulated if entry.uid != NONE]
    return [
        *shown_places(history, leaves, run.moment),
        history.place("surfaced", run.site, run.moment),
    ]
