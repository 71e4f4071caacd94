"""Hooks that do nothing, too much, or to others: without an error."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import History, bare
from tutor.explain.shared_grads import corrupted, writes_parameter
from tutor.explain.shown import shown_places
from tutor.explain.source import returns
from tutor.trace import NONE
from tutor.trace import events as ev
from tutor.trace.state import OpState

KIND = "hook-misuse"

_KEEPS = frozenset(
    ["append", "print", "add", "extend", "setdefault", "__setitem__", "update", "log"]
)

Hook = source.Function | ast.Lambda


@dataclass(frozen=True, slots=True)
class _Registration:
    """A `register_hook` call that ran, and the function that it was given, where it is known."""

    op: OpState
    file: str
    hook: Hook | None


def ran(history: History) -> list[Finding]:
    """A result that is not returned, a hook that never runs, piles up, or spoils others."""
    known = list(_registrations(history))
    if not known or not any(run.ok for run in history.passes):
        return []
    return (
        _not_returned(history, known)
        or _piles_up(history, known)
        or _never(history, known)
        or _spoils(history, known)
    )


def _registrations(history: History) -> Iterator[_Registration]:
    for op in history.ops:
        if bare(op.func) != "register_hook" or not op.event.args or not op.site:
            continue
        place = op.site[-1]
        text = history.text(place.file)
        node = source.statement(text, place.line)
        hook: Hook | None = None
        for call in source.calls(node) if node is not None else ():
            if source.called(call) == "register_hook" and call.args:
                hook = _function(history, place.file, call.args[0])
        yield _Registration(op, place.file, hook)


def _function(history: History, file: str, given: ast.expr) -> Hook | None:
    """The function that an argument names, or is."""
    if isinstance(given, ast.Lambda):
        return given
    name = given.id if isinstance(given, ast.Name) else getattr(given, "attr", "")
    module = source.tree(history.text(file))
    for node in ast.walk(module) if module is not None and name else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node
    return None


def _parameter(hook: Hook) -> str:
    """The name of the gradient in a hook."""
    names = [arg.arg for arg in hook.args.args if arg.arg not in ("self", "cls")]
    return names[-1] if names else ""


def _entered(history: History, file: str, hook: Hook) -> bool:
    """Whether a hook has ever run."""
    first = hook.lineno
    if not isinstance(hook, ast.Lambda):
        first = min([first, *(d.lineno for d in hook.decorator_list)])
    return any(
        event.file == file and event.line == first and _named(event.function, hook)
        for _, event in history.trace.of_kind(ev.Enter)
    )


def _named(function: str, hook: Hook) -> bool:
    name = "<lambda>" if isinstance(hook, ast.Lambda) else hook.name
    return function.rpartition(".")[2] == name


# -- a result that nobody gets --------------------------------------------------------------


def _not_returned(history: History, known: list[_Registration]) -> list[Finding]:
    for one in known:
        hook = one.hook
        if hook is None or isinstance(hook, ast.Lambda) or not _entered(history, one.file, hook):
            continue
        if any(r.value is not None for r in returns(hook)):
            continue
        lost = _lost(hook)
        if lost is None:
            continue
        text = history.text(one.file)
        edit = None
        if isinstance(lost, ast.Assign) and lost is hook.body[-1]:
            edit = edits.splice(text, one.file, lost, f"return {edits.segment(text, lost.value)}")
        return [
            finding(
                KIND,
                "warning",
                "not-returned",
                {"hook": hook.name},
                cause=[
                    history.line_place("cause", one.file, lost.lineno, note("result-dropped")),
                    history.place("cause", one.op.site, one.op.moment, note("registers")),
                ],
                surfaced=_seen(history, one.op),
                fixes=[fix("return-new", {"line": lost.lineno}, edit)],
            )
        ]
    return []


def _lost(hook: source.Function) -> ast.stmt | None:
    """A statement that computes something of the gradient and drops it, at the end of a hook."""
    name = _parameter(hook)
    body = [node for node in hook.body if not (isinstance(node, ast.Return) and node.value is None)]
    last = body[-1] if body else hook.body[-1]
    if isinstance(last, ast.If) and not last.orelse:
        last = last.body[-1]
    if isinstance(last, ast.Assign) and name in source.names_read(last.value):
        outer = {n for c in ast.walk(hook) if isinstance(c, ast.Global | ast.Nonlocal)
                 for n in c.names}  # fmt: skip
        own = all(isinstance(t, ast.Name) and t.id not in outer for t in last.targets)
        return last if own else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        call = last.value
        called = source.called(call)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        pure = not called.endswith("_") and called not in _KEEPS
        if isinstance(owner, ast.Name) and owner.id == name and pure:
            return last
    return None


# -- too many, none at all ------------------------------------------------------------------


def _piles_up(history: History, known: list[_Registration]) -> list[Finding]:
    """A hook that changes the gradient of one leaf, registered again in each iteration."""
    if _removes(history):
        return []
    counts: dict[tuple[int, str, int], list[_Registration]] = {}
    for one in known:
        uid = one.op.event.args[0]
        if history.is_grad_leaf(uid, one.op.moment) and one.hook is not None:
            place = one.op.site[-1]
            counts.setdefault((uid, place.file, place.line), []).append(one)
    for (uid, _, _), several in counts.items():
        last = several[-1]
        if len(several) < 2 or last.hook is None or not _changes(last.hook):
            continue
        if not any(run.moment > several[1].op.moment for run in history.passes):
            continue
        return [
            finding(
                KIND,
                "warning",
                "piles-up",
                {"leaf": history.name(uid, last.op.moment), "count": len(several)},
                cause=[history.place("cause", last.op.site, last.op.moment, note("once-more"))],
                surfaced=_seen(history, several[1].op),
            )
        ]
    return []


def _changes(hook: Hook) -> bool:
    """Whether a hook returns another gradient."""
    if not isinstance(hook, ast.Lambda):
        return any(r.value is not None for r in returns(hook))
    body = hook.body
    return not (isinstance(body, ast.Call) and source.called(body) in _KEEPS)


def _removes(history: History) -> bool:
    return any(".remove()" in text for text in history.trace.texts.values())


def _never(history: History, known: list[_Registration]) -> list[Finding]:
    """A hook that was registered before a backward (or too late), and that never ran."""
    if _removes(history):
        return []
    for one in known:
        if one.hook is None or _entered(history, one.file, one.hook):
            continue
        uid = one.op.event.args[0]
        meta = history.meta(uid, one.op.moment)
        later = [run for run in history.passes if run.ok and run.moment > one.op.moment]
        through = [
            run
            for run in history.passes
            if meta is not None and meta.node != NONE and meta.node in run.arrived
        ]
        if not later and not through:
            continue
        variant = "never" if later else "late"
        facts: dict[str, Fact] = {"tensor": history.name(uid, one.op.moment)}
        run = (later or through)[-1]
        seen = shown_places(history, [e.uid for e in run.accumulated], one.op.moment)
        return [
            finding(
                KIND,
                "warning",
                variant,
                facts,
                cause=[history.place("cause", one.op.site, one.op.moment, note("registers"))],
                witness=[history.place("witness", run.site, run.moment)],
                surfaced=[*seen, *_last_print(history, run.moment)],
            )
        ]
    return []


def _last_print(history: History, moment: int) -> list[FindingPlace | None]:
    printed = [when for when, _ in history.trace.of_kind(ev.Output) if when > moment]
    if not printed:
        return []
    return [history.place("surfaced", history.site_at(printed[-1]), printed[-1])]


# -- the gradient of others -----------------------------------------------------------------


def _spoils(history: History, known: list[_Registration]) -> list[Finding]:
    """A hook that writes into a gradient which another branch is given, too."""
    for one in known:
        hook = one.hook
        if hook is None or isinstance(hook, ast.Lambda):
            continue
        line = writes_parameter(history.text(one.file), hook, _parameter(hook))
        meta = history.meta(one.op.event.args[0], one.op.moment)
        if line is None or meta is None or meta.node == NONE:
            continue
        for run in history.passes:
            spoilt = corrupted(history, run, meta.node)
            if spoilt is None:
                continue
            giver, leaves = spoilt
            facts: dict[str, Fact] = {"hook": hook.name, "op": giver.name}
            both = history.place("witness", giver.site, giver.moment, note("gives-both"))
            return [
                finding(
                    KIND,
                    "warning",
                    "spoils",
                    facts,
                    cause=[
                        history.line_place("cause", one.file, line, note("writes-shared-grad")),
                        history.place("cause", one.op.site, one.op.moment, note("registers")),
                    ],
                    witness=[both],
                    surfaced=[
                        *shown_places(history, leaves, run.moment),
                        history.place("surfaced", run.site, run.moment),
                    ],
                )
            ]
    return []


def _seen(history: History, op: OpState) -> list[FindingPlace | None]:
    """Where the gradients that a hook was to change are looked at."""
    run = next((r for r in history.passes if r.ok and r.moment > op.moment), None)
    if run is None:
        return []
    leaves = [entry.uid for entry in run.accumulated]
    seen = shown_places(history, leaves, run.moment)
    return [*seen, history.place("surfaced", run.site, run.moment)]
