"""An `autograd.Function` that runs, and gives a wrong gradient: without an error."""

from __future__ import annotations

import ast

from tutor.explain import source
from tutor.explain.build import finding, note
from tutor.explain.custom import function_classes, function_of
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import History
from tutor.explain.optimizers import optimizers
from tutor.explain.shared_grads import corrupted, writes_parameter
from tutor.explain.shown import shown_places
from tutor.trace import NONE, Site
from tutor.trace import events as ev
from tutor.trace.state import NodeState, PassState

KIND = "custom-function"


def ran(history: History) -> list[Finding]:
    """A None for an input that is waited for, an incoming gradient that is left out or spoilt."""
    if not function_classes(history):
        return []
    return (
        _none_for_input(history)
        or _leaves_out(history)
        or _spoils(history)
        or _not_applied(history)
    )


def _visited(history: History) -> list[tuple[PassState, NodeState, ast.ClassDef, str]]:
    """(pass, node, class, its file) of each node of the user's Functions that a pass reached."""
    classes = function_classes(history)
    found = []
    for run in history.passes:
        if not run.ok:
            continue
        for number in run.order:
            node = history.nodes.get(number)
            cls = function_of(history, node.name) if node is not None else None
            if node is not None and cls is not None:
                found.append((run, node, cls, classes[cls.name][0]))
    return found


def _backward(cls: ast.ClassDef) -> source.Function | None:
    return source.method(cls, "backward") or source.method(cls, "vjp")


def _return_places(history: History, file: str, back: source.Function) -> list[FindingPlace | None]:
    return [
        history.line_place("cause", file, one.lineno, note("returns"))
        for one in source.returns(back)[-2:]
    ]


# -- None for an input that is waited for ---------------------------------------------------


def _none_for_input(history: History) -> list[Finding]:
    given = {entry.uid for run in history.passes for entry in run.accumulated}
    wanted = {uid for one in optimizers(history) for uid in one.held}
    wanted |= {event.uid for event, _, _ in history.trace.grad_reads if event.grad == NONE}
    for run, node, cls, file in _visited(history):
        back = _backward(cls)
        if back is None or not any(r.value is not None for r in source.returns(back)):
            continue
        for place, (child, _) in enumerate(node.edges):
            grads = run.arrived.get(child) if child != NONE else None
            if grads is None or any(grad is not None for grad in grads):
                continue
            leaves = [n.event.leaf for n in history.walk(child) if n.event.leaf != NONE]
            lacking = [uid for uid in leaves if uid in wanted and uid not in given]
            if not lacking:
                continue
            facts: dict[str, Fact] = {
                "function": cls.name,
                "input": place + 1,
                "leaf": history.name(lacking[0], run.moment),
            }
            seen = shown_places(history, lacking, run.moment, note("is-none"), values=True)
            return [
                finding(
                    KIND,
                    "warning",
                    "none-for-input",
                    facts,
                    cause=_return_places(history, file, back),
                    witness=[history.place("witness", node.site, node.moment, note("applies"))],
                    surfaced=[*seen, history.place("surfaced", run.site, run.moment)],
                )
            ]
    return []


# -- the incoming gradient ------------------------------------------------------------------


def _leaves_out(history: History) -> list[Finding]:
    """A backward that never reads the gradient that comes in, where that is not all ones."""
    for run, node, cls, file in _visited(history):
        back = _backward(cls)
        if back is None or len(back.args.args) < 2 or back.args.vararg is not None:
            continue
        names = {arg.arg for arg in back.args.args[1:]}
        read = {name for child in back.body for name in source.names_read(child)}
        gives = [r.value for r in source.returns(back) if r.value is not None]
        if names & read or not gives or all(_constant(value) for value in gives):
            continue
        grads = [g for g in run.arrived.get(node.event.node, ()) if g is not None]
        if not grads or all(g.low == 1 and g.high == 1 for g in grads):
            continue
        seen = shown_places(history, [e.uid for e in run.accumulated], run.moment)
        return [
            finding(
                KIND,
                "warning",
                "leaves-out",
                {"function": cls.name, "name": back.args.args[1].arg},
                cause=[
                    *_return_places(history, file, back),
                    history.line_place("cause", file, back.lineno),
                ],
                witness=[history.place("witness", node.site, node.moment, note("applies"))],
                surfaced=[*seen, history.place("surfaced", run.site, run.moment)],
            )
        ]
    return []


def _constant(value: ast.expr) -> bool:
    """`None`, or a tuple of it: a gradient that is meant to stop."""
    if isinstance(value, ast.Tuple):
        return all(_constant(part) for part in value.elts)
    if isinstance(value, ast.Call):
        return source.called(value) in ("zeros_like", "zeros", "new_zeros")
    return isinstance(value, ast.Constant)


def _spoils(history: History) -> list[Finding]:
    """A backward that writes into a gradient which another branch is given, too."""
    for run, node, cls, file in _visited(history):
        back = _backward(cls)
        if back is None or len(back.args.args) < 2:
            continue
        line = writes_parameter(history.text(file), back, back.args.args[1].arg)
        spoilt = corrupted(history, run, node.event.node) if line is not None else None
        if line is None or spoilt is None:
            continue
        giver, leaves = spoilt
        seen = shown_places(history, leaves, run.moment)
        return [
            finding(
                KIND,
                "warning",
                "spoils",
                {"function": cls.name, "op": giver.name},
                cause=[history.line_place("cause", file, line, note("writes-shared-grad"))],
                witness=[history.place("witness", giver.site, giver.moment, note("gives-both"))],
                surfaced=[*seen, history.place("surfaced", run.site, run.moment)],
            )
        ]
    return []


# -- forward called by hand -----------------------------------------------------------------


def _not_applied(history: History) -> list[Finding]:
    """`F.forward(None, x)`: torch derives what is inside, and `backward` is never asked."""
    applied = {
        op.func.removeprefix("Function.apply ")
        for op in history.ops
        if op.func.startswith("Function.apply ")
    }
    for name, (file, cls) in function_classes(history).items():
        back = _backward(cls)
        if name in applied or back is None:
            continue
        call = _called_by_hand(history, name)
        if call is None or not any(run.ok and run.moment > call[0] for run in history.passes):
            continue
        moment, site = call
        run = next(run for run in history.passes if run.ok and run.moment > moment)
        seen = shown_places(history, [e.uid for e in run.accumulated], run.moment)
        return [
            finding(
                KIND,
                "warning",
                "not-applied",
                {"function": name},
                cause=[history.place("cause", site, moment, note("calls-forward"))],
                witness=[history.line_place("witness", file, back.lineno, note("never-asked"))],
                surfaced=[*seen, history.place("surfaced", run.site, run.moment)],
            )
        ]
    return []


def _called_by_hand(history: History, name: str) -> tuple[int, Site] | None:
    """(moment, site) of the user's line that called a Function's forward itself."""
    for moment, event in history.trace.of_kind(ev.Enter):
        if event.function.endswith(f"{name}.forward") and event.via == NONE:
            return moment, history.site_at(moment)
    return None
