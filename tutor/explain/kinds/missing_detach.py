"""A detach whose result is dropped, so that the gradient goes on."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import History, bare
from tutor.explain.reads import read_after
from tutor.trace import NONE

KIND = "missing-detach"


def ran(history: History) -> list[Finding]:
    """`x.detach()` alone on a line, of a tensor whose graph a later backward goes through."""
    for op in history.ops:
        if bare(op.func) != "detach" or op.event.via != NONE or not op.site or not op.event.args:
            continue
        place = op.site[-1]
        text = history.text(place.file)
        node = source.simple_statement(text, place.line)
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            continue
        if source.called(node.value) != "detach" or not isinstance(node.value.func, ast.Attribute):
            continue
        target = node.value.func.value
        tensor = op.event.args[0]
        meta = history.meta(tensor, op.moment)
        if meta is None or meta.node == NONE:
            continue
        through = [
            run for run in history.passes if run.moment > op.moment and meta.node in run.arrived
        ]
        if not through:
            continue
        run = through[0]
        name = edits.segment(text, target)
        seen: list[FindingPlace | None] = []
        for entry in run.accumulated:
            seen = seen or read_after(history, entry.uid, run.moment)
        facts: dict[str, Fact] = {"tensor": name}
        edit = edits.splice(text, place.file, node, f"{name} = {name}.detach()")
        return [
            finding(
                KIND,
                "warning",
                "dropped",
                facts,
                cause=[history.place("cause", op.site, op.moment, note("result-dropped"))],
                witness=[history.place("witness", run.site, run.moment, note("goes-through"))],
                surfaced=[*seen, history.place("surfaced", run.site, run.moment)],
                fixes=[fix("keep-detached", {"line": place.line, "name": name}, edit)],
            )
        ]
    return []
