"""The answer of `why`, for people and for programs."""

from __future__ import annotations

from typing import Any

from tutor.explain.why import Answer, Frame, Meaning
from tutor.report.style import MARKS, Style, clip, width, wrap

FORMAT = 1

_SIGNS = {"error": "✗", "warning": "!"}
_LINKS = {
    "while": "This came while the one above was being handled.",
    "cause": "This came because of the one above.",
}
_SHOWN = 6
"""Meanings that are shown in words; the JSON has all."""


def render(answer: Answer, color: bool = False, cells: int = 80) -> str:
    """The answer as text, without a newline at its end. `cells` is the terminal's width."""
    style = Style(color)
    room = max(40, min(cells, 100))
    if not answer.recognised:
        lines = wrap(answer.hint, room)
        if answer.frames:
            lines += ["", "Your lines in it:", *_frames(answer.frames[-3:], style, room)]
        return "\n".join(lines)
    blocks = [_meaning(one, style, room) for one in answer.meanings[:_SHOWN]]
    more = len(answer.meanings) - _SHOWN
    if more > 0:
        blocks.append([f"{more} more are in the text; paste them alone to read about them."])
    return "\n\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks)


def _meaning(one: Meaning, style: Style, cells: int) -> list[str]:
    lines = _title(one, style, cells)
    if one.error or one.message:
        said = " ".join(": ".join(part for part in (one.error, one.message) if part).split())
        lines += ["", "  " + style.paint(clip(said, cells - 2), "dim")]
    aside = [_LINKS[one.link]] if one.link else []
    if one.alike > 1:
        by = f" by ranks {', '.join(one.ranks)}" if len(one.ranks) > 1 else ""
        aside.append(f"It is said {one.alike} times{by}.")
    if one.cut:
        aside.append("Only a part of the message is here. All of it would make this sure.")
    for text in (*aside, *one.text):
        lines += ["", *_indented(text, style, cells)] if text else []
    lines += _look(one, style, cells)
    lines += _list("What to try", one.tries, style, cells)
    told = [f"{other.kind}: {other.tell}" for other in one.others if other.tell]
    lines += _list("How to tell which it is", told, style, cells)
    if one.lesson:
        lines += ["", f"  Learn more: {style.paint(f'autograd-tutor {one.lesson}', 'bold')}"]
    lines += _run(one, style, cells)
    return lines


def _title(one: Meaning, style: Style, cells: int) -> list[str]:
    head = f"{_SIGNS[one.severity]} {one.severity}"
    rows = wrap(f"{one.title} ({one.kind})", cells - width(head) - 3)
    lines = [f"{style.paint(head, one.severity)}   {style.paint(rows[0], 'bold')}"]
    return lines + [" " * (width(head) + 3) + style.paint(row, "bold") for row in rows[1:]]


def _indented(text: str, style: Style, cells: int, by: int = 2) -> list[str]:
    return [" " * by + style.inline(row) for row in wrap(text, cells - by)]


def _look(one: Meaning, style: Style, cells: int) -> list[str]:
    """The lines of the traceback that matter, each with what it is."""
    if one.surfaced is None and one.witness is None:
        if one.severity == "warning" or one.kind == "other":
            return []
        text = "The whole traceback would show in which line of yours it came out: paste that too."
        return ["", *_indented(text, style, cells)]
    lines = ["", "  Where to look"]
    if one.surfaced is not None:
        role = "surfaced"
        lines += _place(one.surfaced, role, style, cells)
        lines += _indented(_surfaced(one), style, cells, 4)
        if one.callers:
            lines += ["    called from", *_frames(one.callers[-3:], style, cells)]
    if one.witness is not None:
        lines += _place(one.witness, "witness", style, cells)
        op = f" `{one.op}`" if one.op else ""
        text = f"the forward call that anomaly mode names: its backward{op} failed."
        if one.kind in ("inplace-saved", "optimizer-step-stale"):
            text += " It had kept the tensor; the write comes after it."
        lines += _indented(text, style, cells, 4)
    return lines


def _surfaced(one: Meaning) -> str:
    if one.foreign and one.severity == "warning":
        return "the warning comes from inside a library and does not name a line of yours."
    if one.foreign:
        return "the innermost line: no line of your own is in this traceback."
    if one.severity == "warning":
        return "the line that the warning is about."
    if one.kind == "other":
        return "your innermost line: what it does was refused."
    return "your innermost line: the error came out here. The cause may stand before it."


def _place(frame: Frame, role: str, style: Style, cells: int) -> list[str]:
    mark = style.paint(MARKS[role], role)
    rows = [f"  {mark} {style.paint(_where(frame), 'bold')}"]
    if frame.text:
        rows.append(f"      {clip(frame.text, cells - 6)}")
    return rows


def _frames(frames: tuple[Frame, ...], style: Style, cells: int) -> list[str]:
    return [
        clip(f"      {_where(one)}" + (f"   {one.text}" if one.text else ""), cells)
        for one in frames
    ]


def _where(frame: Frame) -> str:
    where = f"{frame.file}:{frame.line}" if frame.line else frame.file
    inside = frame.function not in ("", "<module>")
    return f"{where} in {frame.function}" if inside else where


def _list(title: str, rows: tuple[str, ...] | list[str], style: Style, cells: int) -> list[str]:
    if not rows:
        return []
    lines = ["", f"  {title}"]
    for row in rows:
        first, *rest = wrap(row, cells - 6)
        lines.append(f"  - {style.inline(first)}")
        lines += [f"    {style.inline(part)}" for part in rest]
    return lines


def _run(one: Meaning, style: Style, cells: int) -> list[str]:
    if one.kind == "other" or not one.adds:
        return []
    if one.command:
        start = ["", f"  Run it: {style.paint(one.command, 'bold')}"]
    else:
        text = "Save the cells as a script, and run: autograd-tutor explain script.py"
        start = ["", *_indented(text, style, cells)]
    return [*start, *_indented(one.adds, style, cells)]


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as one object of what JSON knows."""
    return {
        "format": FORMAT,
        "recognised": answer.recognised,
        "findings": [_finding(one) for one in answer.meanings],
        "hint": answer.hint or None,
    }


def _finding(one: Meaning) -> dict[str, Any]:
    places = []
    if one.surfaced is not None:
        places.append(_json_place("surfaced", one.surfaced, one.callers))
    if one.witness is not None:
        places.append(_json_place("witness", one.witness, ()))
    return {
        "kind": one.kind,
        "severity": one.severity,
        "title": one.title,
        "explanation": "\n\n".join(one.text),
        "error": {"type": one.error or None, "message": one.message},
        "facts": {**one.facts, **({"anomaly": one.op} if one.op else {})},
        "places": places,
        "try": list(one.tries),
        "kinds": [{"kind": other.kind, "tell": other.tell} for other in one.others]
        or [{"kind": one.kind, "tell": ""}],
        "lesson": one.lesson,
        "explain": {"command": one.command or None, "adds": one.adds},
        "cut": one.cut,
        "link": one.link or None,
        "ranks": list(one.ranks),
        "times": one.alike,
    }


def _json_place(role: str, frame: Frame, callers: tuple[Frame, ...]) -> dict[str, Any]:
    return {
        "role": role,
        **_spot(frame),
        "stack": [_spot(one) for one in (*callers, frame)],
        "text": frame.text,
    }


def _spot(frame: Frame) -> dict[str, Any]:
    return {
        "file": frame.file,
        "line": frame.line or None,
        "function": frame.function or "<module>",
    }
