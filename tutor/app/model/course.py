"""The course as rows: tracks, lessons with their minutes and how far the learner is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.rows import BLANK, Role, Row, Span, Spans, split, wrap
from tutor.app.model.step import Standing

if TYPE_CHECKING:
    from tutor.lesson import Lesson, Pack

StandingOf = Callable[["Lesson", str], Standing]


def course_rows(
    pack: Pack,
    standing: StandingOf,
    width: int,
    glyphs: Glyphs = UNICODE,
    search: str = "",
) -> list[Row]:
    """Each track with its lessons; with a search, only the lessons it finds."""
    rows: list[Row] = []
    words = search.lower().split()
    upcoming = next_lesson(pack, standing)
    for track in pack.tracks:
        lessons = [pack.lessons[i] for i in track.lessons if i in pack.lessons]
        found = [lesson for lesson in lessons if _matches(lesson, words)]
        if not found:
            continue
        if rows:
            rows.append(BLANK)
        done = sum(_state(lesson, standing)[0] == "done" for lesson in lessons)
        right = (Span(f"{done} of {len(lessons)}", "dim"),)
        rows.append(Row(split((Span(track.title, "strong"),), right, width, glyphs.more)))
        rows += [_lesson(x, standing, x.id == upcoming, width, glyphs) for x in found]
    if not rows:
        said = f"No lesson has “{search}” in it." if search else "This pack has no lessons."
        rows = [Row((Span(said, "dim"),))]
    if pack.faults:
        rows.append(BLANK)
        count = len(pack.faults)
        said = (
            f"{count} fault{'s' if count > 1 else ''} in the lesson files: author lint names them."
        )
        rows += [Row(line) for line in wrap((Span(said, "warn"),), width)]
    return rows


def _matches(lesson: Lesson, words: list[str]) -> bool:
    text = " ".join((lesson.id, lesson.title, lesson.level, *lesson.teaches)).lower()
    return all(word in text for word in words)


def _state(lesson: Lesson, standing: StandingOf) -> tuple[Standing, int]:
    """How a lesson stands, and how many of its steps are done or skipped."""
    standings = [standing(lesson, step.id) for step in lesson.steps]
    over = sum(s in ("done", "skipped") for s in standings)
    if over == len(standings):
        return "done", over
    return ("tried" if any(s != "new" for s in standings) else "new"), over


def next_lesson(pack: Pack, standing: StandingOf) -> str:
    """The first lesson that is begun, else the first that is not; "" if all are done."""
    states = {lesson.id: _state(lesson, standing)[0] for lesson in pack.lessons.values()}
    for wanted in ("tried", "new"):
        for lesson_id, state in states.items():
            if state == wanted:
                return lesson_id
    return ""


def _lesson(
    lesson: Lesson, standing: StandingOf, upcoming: bool, width: int, glyphs: Glyphs
) -> Row:
    state, over = _state(lesson, standing)
    signs = {"done": glyphs.done, "tried": glyphs.half, "new": glyphs.todo}
    role: Role = "good" if state == "done" else "dim"
    left: Spans = (
        Span(f"  {signs[state]} ", role),
        Span(lesson.title, "name" if upcoming else ""),
        Span("  go on here" if upcoming and over else ("  next" if upcoming else ""), "new"),
    )
    steps = len(lesson.steps)
    count = f"{over}/{steps}" if over else f"{steps} steps"
    right: Spans = (
        Span(f"{count:>8}", "dim"),
        Span(f"{lesson.minutes:>4} min", "dim"),
        Span(f"  {lesson.level:<5}", "dim"),
    )
    return Row(
        split(left, right, width, glyphs.more),
        action=f"lesson {lesson.id}",
        key=f"lesson {lesson.id}",
    )
