"""An optimizer or clipper that holds other parameters than those that are trained, or none."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace
from tutor.explain.history import History
from tutor.explain.reads import read_after
from tutor.trace import NONE
from tutor.trace.state import OpState

KIND = "stale-optimizer"


def ran(history: History) -> list[Finding]:
    """A clipper that got nothing; an optimizer that steps on replaced parameters."""
    return [*_nothing_to_clip(history), *_replaced(history)][:1]


def _nothing_to_clip(history: History) -> list[Finding]:
    for op in history.ops:
        if op.func != "utils.clip_grad_norm_" or op.event.args or not op.site:
            continue
        trained = [entry for run in history.passes for entry in run.accumulated]
        if not trained:
            continue
        here = op.site[-1]
        text = history.text(here.file)
        made = _exhausted(text, here.line)
        facts: dict[str, Fact] = {"name": made[1] if made is not None else "the argument"}
        causes: list[FindingPlace | None] = []
        edit: Edit | None = None
        if made is not None:
            number, name, value = made
            causes.append(history.line_place("cause", here.file, number, note("once")))
            edit = edits.splice(text, here.file, value, f"list({edits.segment(text, value)})")
            facts["name"] = name
        causes.append(history.place("cause", op.site, op.moment, note("gets-nothing")))
        seen: list[FindingPlace | None] = []
        for entry in trained:
            seen = seen or read_after(history, entry.uid, op.moment)
        line = made[0] if made is not None else here.line
        return [
            finding(
                KIND,
                "warning",
                "exhausted",
                facts,
                cause=causes,
                witness=[history.place("witness", op.site, op.moment)],
                surfaced=[*seen, history.place("surfaced", op.site, op.moment)],
                fixes=[fix("as-list", {"line": line}, edit)],
            )
        ]
    return []


def _exhausted(text: str, line: int) -> tuple[int, str, ast.expr] | None:
    """(line, name, value) of the assignment of the first argument of the call on this line."""
    node = source.statement(text, line)
    module = source.tree(text)
    names = [
        call.args[0].id
        for call in (source.calls(node) if node is not None else ())
        if source.called(call).startswith("clip_grad")
        and call.args
        and isinstance(call.args[0], ast.Name)
    ]
    for child in ast.walk(module) if module is not None and names else ():
        if (
            isinstance(child, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == names[0] for t in child.targets)
            and child.lineno < line
        ):
            return child.lineno, names[0], child.value
    return None


def _replaced(history: History) -> list[Finding]:
    """A parameter that is trained under a label that the optimizer knows for another one."""
    steps = [op for op in history.ops if op.func == "Optimizer.step" and op.event.args]
    held = {uid for op in steps for uid in op.event.args}
    given = {entry.uid for run in history.passes for entry in run.accumulated}
    if not steps:
        return []
    for uid in sorted(given - held):
        known = history.tensor(uid)
        if known is None or known.meta.kind != "Parameter" or not known.meta.label:
            continue
        label = known.meta.label
        old = [
            other
            for other in held - given
            if (t := history.tensor(other)) is not None and t.meta.label == label
        ]
        if old and known.born:
            return [_replaced_finding(history, uid, steps)]
    return []


def _replaced_finding(history: History, uid: int, steps: list[OpState]) -> Finding:
    known = history.tensor(uid)
    assert known is not None
    seen = read_after(history, uid, steps[0].moment, note("not-moved"), value=True)
    site = known.born
    built = [
        op for op in history.ops if op.func == "Optimizer.__init__" and NONE not in op.event.args
    ]
    return finding(
        KIND,
        "warning",
        "replaced",
        {"parameter": known.meta.label, "optimizer": steps[0].event.detail.split(".")[0]},
        cause=[
            history.place("cause", site, known.moment, note("replaces")),
            *[history.place("cause", op.site, op.moment) for op in built[:1]],
        ],
        witness=[history.place("witness", steps[0].site, steps[0].moment, note("steps-old"))],
        surfaced=[*seen, history.place("surfaced", steps[-1].site, steps[-1].moment)],
    )
