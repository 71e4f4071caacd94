"""Marks in the editor: a sign in the gutter and a few words at the end of a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.mark import SEVERITIES, Mark
from tutor.app.model.names import save_words, tensor_name
from tutor.app.model.rows import Role
from tutor.app.model.times import Timeline
from tutor.app.model.values import brief
from tutor.trace.events import NONE
from tutor.trace.state import State
from tutor.trace.trace import Trace

if TYPE_CHECKING:
    from tutor.explain.finding import Finding

NOTES_SHOWN = 2
"""Parts of one note: more would never be read."""


def line_marks(
    trace: Trace,
    line: Timeline,
    state: State,
    findings: Iterable[Finding],
    file: str,
    glyphs: Glyphs = UNICODE,
) -> dict[int, Mark]:
    """The marks of one file at one moment, by line number.

    Findings belong to the whole run, so their marks are shown at every moment; notes of writes
    and values tell what has happened so far.
    """
    notes = _notes(state, file, glyphs)
    marks = {
        number: Mark(glyphs.ok, "good", "ran", notes.get(number, ""))
        for number in line.ran(state.moment, file)
    }
    for number, (surfaced, severity, text) in _finding_notes(findings, file).items():
        sign, role, word = _sign(surfaced, severity, glyphs)
        own = notes.get(number, "")
        marks[number] = Mark(sign, role, word, text or own, role if text else "dim")
    raised = trace.raised
    if raised is not None and state.moment >= len(trace):
        for name, number, _ in reversed(raised.frames):
            if name == file:
                known = marks.get(number)
                if known is None or known.word not in ("surfaced", "cause"):
                    note = (known.note if known else "") or raised.kind
                    marks[number] = Mark(glyphs.bad, "bad", "raised", note, "bad")
                break
    return marks


def _sign(surfaced: bool, severity: str, glyphs: Glyphs) -> tuple[str, Role, str]:
    role = SEVERITIES[severity]
    if surfaced:
        return glyphs.bad, role, "surfaced"
    return glyphs.mark, role, "cause"


def _finding_notes(findings: Iterable[Finding], file: str) -> dict[int, tuple[bool, str, str]]:
    """(surfaced, severity, note) a line: a surfaced place wins, the first finding speaks."""
    table: dict[int, tuple[bool, str, str]] = {}
    for finding in findings:
        for place in finding.places:
            if place.file != file or place.line < 1:
                continue
            surfaced = place.role == "surfaced"
            known = table.get(place.line)
            if known is None:
                table[place.line] = (surfaced, finding.severity, place.note)
            else:
                note = known[2] or place.note
                table[place.line] = (known[0] or surfaced, known[1], note)
    return table


def _notes(state: State, file: str, glyphs: Glyphs) -> dict[int, str]:
    """What each line did: versions that moved, gradients that arrived, values it made."""
    parts: dict[int, list[str]] = {}
    for line, text in _write_notes(state, file, glyphs):
        parts.setdefault(line, []).append(text)
    for line, text in _grad_notes(state, file, glyphs):
        parts.setdefault(line, []).append(text)
    for line, text in _save_notes(state, file):
        parts.setdefault(line, []).append(text)
    for line, text in _value_notes(state, file, glyphs):
        if line not in parts:
            parts[line] = [text]
    return {line: _joined(list(dict.fromkeys(texts))) for line, texts in parts.items()}


def _joined(texts: list[str]) -> str:
    """The parts of a note; too many are counted."""
    if len(texts) <= NOTES_SHOWN:
        return ", ".join(texts)
    return f"{texts[0]} and {len(texts) - 1} more"


def _write_notes(state: State, file: str, glyphs: Glyphs) -> Iterable[tuple[int, str]]:
    """As in b v0 → v5 (×5): each counter that a line moved."""
    moved: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for counter in state.counters.values():
        for write in counter.writes:
            if write.site and write.site[-1].file == file:
                key = (write.site[-1].line, counter.counter)
                moved.setdefault(key, []).append((write.before, write.after, write.uid))
    for (line, _), writes in sorted(moved.items()):
        name = next((n for _, _, uid in writes if (n := tensor_name(state, uid))), "a tensor")
        times = f" ({glyphs.times}{len(writes)})" if len(writes) > 1 else ""
        yield line, f"{name} v{writes[0][0]} {glyphs.arrow} v{writes[-1][1]}{times}"


def _grad_notes(state: State, file: str, glyphs: Glyphs) -> Iterable[tuple[int, str]]:
    """As in x.grad = [2., 4.]: what the last pass of a line left in named leaves."""
    latest: dict[tuple[int, int], str] = {}
    for run in sorted(state.passes.values(), key=lambda p: p.moment):
        for entry in run.accumulated:
            place = entry.site[-1] if entry.site else None
            name = tensor_name(state, entry.uid)
            if place is None or place.file != file or not name:
                continue
            latest[place.line, entry.uid] = f"{name}.grad = {brief(entry.after, 24, glyphs.more)}"
    for (line, _), text in latest.items():
        yield line, text


def _save_notes(state: State, file: str) -> Iterable[tuple[int, str]]:
    """As in saves y at v0: what the nodes of a line keep, while it is kept."""
    for node in sorted(state.nodes.values(), key=lambda n: n.moment):
        place = node.site[-1] if node.site else None
        if place is None or place.file != file or place.iteration or node.freed != NONE:
            continue
        if node.dead and not node.visited:
            continue
        for save in node.saves:
            if save.role in ("input", "output", "alias") and save.uid != NONE:
                yield place.line, f"keeps {save_words(state, save)} at v{save.version}"


def _value_notes(state: State, file: str, glyphs: Glyphs) -> Iterable[tuple[int, str]]:
    """As in y = [1., 2.]: the value of the name that a line gave."""
    table: dict[int, tuple[int, str]] = {}
    for tensor in state.tensors.values():
        place = tensor.born[-1] if tensor.born else None
        if place is None or place.file != file or tensor.value is None:
            continue
        counter = state.counters.get(tensor.meta.counter)
        if counter is not None and any(w.moment > tensor.moment for w in counter.writes):
            continue  # what it holds now is not what this line gave it
        name = next((n.name for n in tensor.names if n.until is None), "")
        if not name or "." in name:
            continue
        text = f"{name} = {brief(tensor.value, 28, glyphs.more)}"
        if place.line not in table or table[place.line][0] < tensor.moment:
            table[place.line] = (tensor.moment, text)
    for line, (_, text) in sorted(table.items()):
        yield line, text
