"""The page after a lesson's last step: what is done, what is still open, what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.prose import plain
from tutor.app.model.rows import BLANK, Row, Span, Spans, cut, wrap
from tutor.app.model.step import Standing, dots


@dataclass(frozen=True, slots=True)
class Closing:
    """A lesson at its end: each step's standing and first words, and the lesson that follows."""

    title: str
    steps: tuple[tuple[Standing, str, str], ...]
    """For each step its standing, its kind in words, and its text."""
    following: str = ""
    """The title of the next lesson, "" after the last one."""

    @property
    def left(self) -> tuple[int, ...]:
        """The places of the steps that are not done."""
        return tuple(n for n, step in enumerate(self.steps) if step[0] != "done")


def closing_rows(closing: Closing, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """The page: Enter on a step goes back to it, on the last line to the next lesson."""
    left = closing.left
    every = len(closing.steps)
    sign = Span(f"{glyphs.mark} ", "warn") if left else Span(f"{glyphs.ok} ", "good")
    words = f"{every - len(left)} of {every} steps are done." if left else "Every step is done."
    rows = [Row((Span(closing.title, "strong"),)), BLANK, *_wrapped((sign, Span(words)), width)]
    if left:
        rows += [
            BLANK,
            *_wrapped((Span("Still open; Enter on one goes back to it:", "dim"),), width),
        ]
    for place in left:
        standing, kind, text = closing.steps[place]
        first = next((line for line in plain(text).splitlines() if line.strip()), "")
        spans: Spans = (
            *dots([standing], 0, glyphs),
            Span(f" step {place + 1}, {kind}: ", "link"),
            Span(f"{'skipped. ' if standing == 'skipped' else ''}{first}", "dim"),
        )
        action = f"step {place}"
        rows.append(Row(cut(spans, width, glyphs.more), action=action, key=action))
    rows.append(BLANK)
    if closing.following:
        spans = (Span("n goes on to the next lesson: ", "link"), Span(closing.following))
    else:
        spans = (Span("That was the last lesson. b shows them all.", "link"),)
    action = "next" if closing.following else "course"
    rows += [Row(line, action=action, key=action) for line in wrap(spans, width, "  ")]
    return rows


def _wrapped(spans: Spans, width: int) -> list[Row]:
    return [Row(line) for line in wrap(spans, width, "  ")]
