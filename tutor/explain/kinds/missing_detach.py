"""A detach that is missing, or whose result is dropped: the gradient goes on, or cancels."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain import repairs as repairs_of
from tutor.explain.build import finding, fix, note
from tutor.explain.cancels import Form, forms
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import History, bare, op_name
from tutor.explain.reads import read_after
from tutor.explain.shown import shown_places
from tutor.trace import NONE

KIND = "missing-detach"

_WORDS = {
    "straight-through": "form-straight-through",
    "by-itself": "form-by-itself",
    "ratio": "form-ratio",
    "bootstrap": "form-bootstrap",
    "advantage": "form-advantage",
}


def ran(history: History) -> list[Finding]:
    """A dropped detach; a known formula that needs one and has none."""
    return _dropped(history) or _formula(history)


def _formula(history: History) -> list[Finding]:
    """A graph of a form in which a gradient flows, or cancels, that nobody wants."""
    for form in forms(history):
        run = form.run
        facts: dict[str, Fact] = {"func": op_name(form.nodes[-1].name)}
        leaves = [entry.uid for entry in run.accumulated]
        seen = shown_places(history, leaves, run.moment)
        return [
            finding(
                KIND,
                "warning",
                form.variant,
                facts,
                cause=[
                    history.place("cause", node.site, node.moment, note(_WORDS[form.variant]))
                    for node in form.nodes
                ],
                witness=[history.place("witness", run.site, run.moment, note("goes-through"))],
                surfaced=[*seen, history.place("surfaced", run.site, run.moment)],
                fixes=[_constant(history, form)],
            )
        ]
    return []


def _constant(history: History, form: Form) -> Fix | None:
    """The same line with the part detached that is meant as a constant."""
    place = form.nodes[0].site[-1]
    text = history.text(place.file)
    repairs = {
        "straight-through": repairs_of.difference_detached,
        "by-itself": repairs_of.divisor_detached,
        "bootstrap": repairs_of.result_detached,
    }
    repair = repairs.get(form.variant)
    edit = repair(text, place.file, place.line) if repair is not None else None
    return fix("detach-constant", {"line": place.line}, edit)


def _dropped(history: History) -> list[Finding]:
    """`x.detach()` alone on a line, of a tensor whose graph a later backward goes through."""
    for op in history.ops:
        if bare(op.func) != "detach" or op.event.via != NONE or not op.site or not op.event.args:
            continue
        place = op.site[-1]
        text = history.text(place.file)
        dropped = [
            (node, node.value.func.value)
            for node in source.expressions_on(text, place.line)
            if isinstance(node.value, ast.Call)
            and source.called(node.value) == "detach"
            and isinstance(node.value.func, ast.Attribute)
        ]
        if not dropped:
            continue
        names = {
            n.name for t in history.tensors.values() if t.uid == op.event.args[0] for n in t.names
        }
        node, target = next(
            (one for one in dropped if edits.segment(text, one[1]) in names), dropped[0]
        )
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
        leaves = [entry.uid for entry in run.accumulated]
        seen = [*seen[:1], *shown_places(history, leaves, run.moment, limit=1)]
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
