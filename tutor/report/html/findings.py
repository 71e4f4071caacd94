"""What was found: what, why, where and what to change."""

from __future__ import annotations

from tutor.explain import Finding, FindingPlace, Fix, words
from tutor.report.escape import escaped
from tutor.report.html.code import Listing
from tutor.report.html.markup import inline, prose
from tutor.report.html.reel import Reel
from tutor.report.style import MARKS, ROLES
from tutor.trace.trace import Trace

FIXES = 3

_SIGNS = {"error": "✗", "warning": "!", "note": "i"}


def finding(trace: Trace, one: Finding, reel: Reel, code: Listing) -> str:
    """One finding as an article."""
    said = words(one)
    places = "".join(_place(place, reel, code) for place in one.places)
    fixes = "".join(_fix(trace, fix) for fix in _usable(one)[:FIXES])
    lesson = (
        f'<p class="dim">Learn more: <code>autograd-tutor {escaped(one.lesson)}</code></p>'
        if one.lesson
        else ""
    )
    return (
        f'<article class="finding {one.severity}"><h3><span class="sign">'
        f"{_SIGNS[one.severity]} {one.severity}</span> {inline(said.title)}</h3>"
        f"{prose(said.explanation)}"
        + (f'<ul class="places">{places}</ul>' if places else "")
        + f"{fixes}{lesson}</article>"
    )


def _usable(one: Finding) -> list[Fix]:
    return [fix for fix in one.fixes if fix.verified is not False]


def _place(place: FindingPlace, reel: Reel, code: Listing) -> str:
    where = f"line {place.line}"
    if code.files and place.file != code.files[0]:
        where = f"{place.file}:{place.line}"
    if place.function != "<module>":
        where += f" in {place.function}"
    if place.iteration:
        where += f", iteration {'·'.join(str(n) for n in place.iteration)}"
    row = code.row(place.file, place.line)
    stop = f' data-k="{reel.after(place.moment)}"' if place.moment is not None else ""
    cause = ' data-cause=""' if place.role == "cause" else ""
    link = f'<a href="#{row}"{stop}{cause}>{escaped(where)}</a>' if row else escaped(where)
    calls = [spot for spot in place.stack[:-1] if spot.line != place.line]
    via = ""
    if calls:
        via = ", called from " + " → ".join(f"line {spot.line}" for spot in calls[-3:])
    note = f' <span class="dim">{escaped(place.note)}</span>' if place.note else ""
    return (
        f'<li class="{place.role}"><span class="mark" aria-hidden="true">{MARKS[place.role]}</span>'
        f" {ROLES[place.role]}: {link}{escaped(via)} <code>{escaped(place.text)}</code>{note}</li>"
    )


def _fix(trace: Trace, fix: Fix) -> str:
    rows: list[str] = []
    for edit in fix.edits:
        old = trace.texts.get(edit.file, "").split("\n")[edit.line - 1 : edit.end_line]
        new = edit.new.rstrip("\n").split("\n") if edit.new else []
        rows += [f'<del><span class="no">{edit.line + i}</span>− {escaped(t)}</del>'
                 for i, t in enumerate(old)]  # fmt: skip
        rows += [f'<ins><span class="no">{edit.line + i}</span>+ {escaped(t)}</ins>'
                 for i, t in enumerate(new)]  # fmt: skip
    proof = (
        f'<span class="good">✓ {escaped(fix.how)}</span>'
        if fix.verified
        else '<span class="dim">not tried</span>'
    )
    return (
        f'<div class="fix"><p>Change: {inline(fix.title)} {proof}</p>'
        f'<pre class="diff" tabindex="0">{"".join(rows)}</pre></div>'
    )
