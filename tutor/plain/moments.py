"""Going to a line and a round of a run."""

from __future__ import annotations

import re

from tutor.plain.views import place
from tutor.report.gaps import gaps_words
from tutor.trace import Trace
from tutor.trace.events import Line

_AT = re.compile(r"^line\s+(\d+)((?:\s+(?:iteration|round)\s+\d+|\s+\d+)*)$")


class NoSuchMoment(Exception):
    """The run was never there; the text says what to do."""


def moment_of(trace: Trace, text: str, file: str) -> int:
    """The moment right after a line ran: `line 7`, `line 7 iteration 3`, `line 7 round 2 round 3`.

    Without a round it is the last time. Raises `NoSuchMoment`.
    """
    found = _AT.match(text.strip())
    if found is None:
        raise NoSuchMoment("Say it like this: at line 7, or at line 7 iteration 3.")
    line = int(found[1])
    rounds = tuple(int(n) for n in re.findall(r"\d+", found[2]))
    visits = []
    moments = list(trace.lines)
    for index, moment in enumerate(moments):
        event = trace.event(moment - 1)
        if not isinstance(event, Line) or event.line != line:
            continue
        where = trace.at(moment).place
        if where is None or where.file != file:
            continue
        if rounds and where.iteration[-len(rounds) :] != rounds:
            continue
        visits.append((index, where.frame))
    if not visits:
        told = f" in round {'.'.join(map(str, rounds))}" if rounds else ""
        lost = gaps_words(trace)
        if lost and trace.last.ran.get((file, line)):
            raise NoSuchMoment(
                f"The run is not kept at line {line}{told}: {lost}. Choose one of the others."
            )
        raise NoSuchMoment(f"The run never came to line {line}{told}.")
    index, frame = visits[-1]
    return _after(trace, moments, index, frame)


def _after(trace: Trace, moments: list[int], index: int, frame: int) -> int:
    """The moment before the next line of the same frame or of a caller, else the end."""
    depth = len(trace.at(moments[index]).stack)
    for later in moments[index + 1 :]:
        state = trace.at(later)
        inner = state.place.frame if state.place else None
        if inner == frame or len(state.stack) <= depth:
            return later - 1
    return len(trace)


def told(trace: Trace, moment: int) -> str:
    """Where a moment is, in words."""
    if moment >= len(trace):
        return "the end of the run"
    return f"after {place(trace.at(moment).place)}"
