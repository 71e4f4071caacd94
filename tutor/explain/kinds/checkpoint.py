"""Activation checkpointing: inputs that cut the blocks off, recomputations that differ."""

from __future__ import annotations

import ast

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import behind, frozen_lines
from tutor.explain.history import Failure, History
from tutor.explain.kinds.no_grad_fn import root_without_grad
from tutor.trace import NONE, Place
from tutor.trace.state import OpState

KIND = "checkpoint"


def raised(history: History, failure: Failure) -> Finding | None:
    """A cut graph behind a reentrant checkpoint, or an error of the recomputation."""
    root = root_without_grad(history, failure)
    if root != NONE:
        came = behind(history, root, failure.moment)
        if came.reentrant is None:
            return None
        return _cut_off(history, failure, root, came.reentrant)
    if failure.inside("torch/utils/checkpoint") and failure.run is not None:
        if failure.kind in ("NameError", "SyntaxError"):
            return None
        return _differs(history, failure)
    return None


def _cut_off(history: History, failure: Failure, root: int, inner: OpState) -> Finding:
    call = _call_place(history, inner) or history.place("cause", inner.site, inner.moment)
    causes: list[FindingPlace | None] = [call]
    inputs = [
        (uid, op.moment)
        for op in history.ops
        if op.func == "utils.checkpoint"
        for uid in op.event.args
    ][:4]
    leaves = [leaf for uid, moment in inputs for leaf in behind(history, uid, moment).leaves]
    tensors = (*(uid for uid, _ in inputs), *leaves)
    causes += [
        history.place("cause", op.site, op.moment, note("freezes"))
        for op in frozen_lines(history, tensors, failure.moment)
    ]
    fixes: list[Fix | None] = []
    witness: FindingPlace | None = None
    if call is not None:
        where = (history.text(call.file), call.file, call.line, "checkpoint")
        edit = edits.set_keyword(*where, "use_reentrant", "False")
        edit = edit or edits.add_keyword(*where, "use_reentrant", "False")
        fixes.append(fix("non-reentrant", {"line": call.line}, edit))
        witness = history.line_place("witness", call.file, call.line, note("checkpoints"))
    return finding(
        KIND,
        "error",
        "cut-off",
        {"root": history.name(root, failure.moment)},
        cause=causes,
        witness=[witness],
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _call_place(history: History, inner: OpState) -> FindingPlace | None:
    """The user's line that called checkpoint around a call."""
    for index in range(len(inner.site) - 1, -1, -1):
        place = inner.site[index]
        text = history.text(place.file)
        node = source.statement(text, place.line)
        if node is not None and any(source.called(c) == "checkpoint" for c in source.calls(node)):
            return history.place(
                "cause", inner.site[: index + 1], inner.moment, note("checkpoints")
            )
    return None


def _differs(history: History, failure: Failure) -> Finding:
    """The recomputation saved other tensors than the forward had: what made it differ."""
    run = failure.run
    assert run is not None
    calls = [op for op in history.ops if op.func == "utils.checkpoint" and op.moment < run.moment]
    witness = [history.place("witness", op.site, op.moment, note("checkpoints")) for op in calls]
    again = _recomputed(history, run.moment)
    causes: list[FindingPlace | None] = []
    for function, place in again.items():
        causes += _changing(history, place, function)
    first = _first_difference(history, run.moment)
    if first is not None:
        causes.append(history.place("cause", first.site, first.moment, note("differs")))
    causes += [history.place("cause", op.site, op.moment) for op in calls[-1:]]
    if not causes:
        causes.append(history.place("cause", failure.site, failure.moment))
    facts: dict[str, Fact] = {"message": (failure.message.strip().splitlines() or [""])[0]}
    return finding(
        KIND,
        "error",
        "unequal",
        facts,
        cause=causes,
        witness=witness[-1:],
        surfaced=[_shown_at_backward(history, failure), surfaced(history)],
        fixes=_without(history, calls),
    )


def _without(history: History, calls: list[OpState]) -> list[Fix | None]:
    """The random state kept, or the function called without a checkpoint."""
    found: list[Fix | None] = []
    for op in calls[-1:]:
        here = op.site[-1]
        text = history.text(here.file)
        kept = edits.set_keyword(
            text, here.file, here.line, "checkpoint", "preserve_rng_state", "True"
        )
        plain = rewrites.plain_call(text, here.file, here.line, "checkpoint")
        found += [
            fix("keep-rng", {"line": here.line}, kept),
            fix("no-checkpoint", {"line": here.line}, plain),
        ]
    return found


def _shown_at_backward(history: History, failure: Failure) -> FindingPlace | None:
    run = failure.run
    return history.place("surfaced", run.site, run.moment) if run is not None else None


def _recomputed(history: History, moment: int) -> dict[str, Place]:
    """The functions that ran again during the failing backward, with a place in each."""
    found: dict[str, Place] = {}
    for (file, line), runs in sorted(history.line_runs.items()):
        later = [m for m in runs if m > moment]
        if not later:
            continue
        function = source.function_at(history.text(file), line)
        if function is not None:
            found.setdefault(function.name, Place(file, line, function.name))
    return found


def _changing(history: History, place: Place, function: str) -> list[FindingPlace | None]:
    """Lines of a recomputed function that change something which outlives the call."""
    text = history.text(place.file)
    around = source.function_at(text, place.line)
    if around is None:
        return []
    outer = {
        name
        for node in ast.walk(around)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    found: list[FindingPlace | None] = []
    for node in ast.walk(around):
        targets: list[ast.expr] = []
        if isinstance(node, ast.AugAssign):
            targets = [node.target]
        elif isinstance(node, ast.Assign):
            targets = node.targets
        kept = any(
            isinstance(t, ast.Attribute | ast.Subscript)
            or (isinstance(t, ast.Name) and t.id in outer)
            for t in targets
        )
        random = isinstance(node, ast.Call) and source.called(node) in _RANDOM
        if (kept or random) and isinstance(node, ast.AugAssign | ast.Assign | ast.Call):
            found.append(history.line_place("cause", place.file, node.lineno, note("changes")))
    return found[:2]


_RANDOM = frozenset(["random", "randint", "choice", "shuffle", "uniform", "perf_counter", "time"])


def _first_difference(history: History, moment: int) -> OpState | None:
    """The first call of the recomputation that the forward did not make in the same way."""
    again = [op for op in history.ops if op.moment > moment and op.event.nested and op.event.outs]
    before = {(op.func, _shapes(history, op)) for op in history.ops if op.moment < moment}
    return next((op for op in again if (op.func, _shapes(history, op)) not in before), None)


def _shapes(history: History, op: OpState) -> tuple[tuple[int, ...], ...]:
    return tuple(t.meta.shape for uid in op.event.outs if (t := history.tensor(uid)) is not None)
