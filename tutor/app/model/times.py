"""The moments of a run that the slider stops at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["line", "op", "pass", "end"]


class Stop(NamedTuple):
    """A moment worth stopping at; `number` counts the stops of its kind from 1.

    `event` is the index of the event that made it one.
    """

    moment: int
    kind: Kind
    number: int
    event: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The stops of a run in order, with the moments of each kind, and the gaps.

    `first` maps (file, line) to the moment at which that line was first about to run.
    """

    stops: tuple[Stop, ...] = ()
    lines: tuple[int, ...] = ()
    ops: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    end: int = 0
    gaps: tuple[int, ...] = ()
    first: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def ran(self, moment: int, file: str) -> set[int]:
        """The lines of a file that have begun before a moment."""
        return {line for (name, line), at in self.first.items() if name == file and at < moment}

    def of(self, kind: Kind) -> tuple[int, ...]:
        """The moments of one kind, in order."""
        return {"line": self.lines, "op": self.ops, "pass": self.steps, "end": (self.end,)}[kind]

    def step(self, moment: int, kind: Kind, forward: bool) -> int:
        """The next or previous moment of this kind; the end, or the first, where none is left."""
        moments = self.of(kind)
        if forward:
            index = bisect_right(moments, moment)
            return moments[index] if index < len(moments) else self.end
        index = bisect_left(moments, moment) - 1
        return moments[index] if index >= 0 else (moments[0] if moments else moment)

    def at(self, moment: int) -> Stop | None:
        """The latest stop that is not after this moment."""
        index = bisect_right(self.stops, moment, key=lambda s: s.moment) - 1
        return self.stops[index] if index >= 0 else None

    def after(self, moment: int) -> int:
        """The moment of the next stop of whatever kind, the end where there is none."""
        index = bisect_right(self.stops, moment, key=lambda s: s.moment)
        return self.stops[index].moment if index < len(self.stops) else self.end

    def fraction(self, moment: int) -> float:
        """How far along the slider a moment lies, from 0 to 1, counted in stops."""
        if moment >= self.end or len(self.stops) < 2:
            return 1.0
        index = bisect_left(self.stops, moment, key=lambda s: s.moment)
        return min(1.0, index / (len(self.stops) - 1))

    def near(self, fraction: float) -> int:
        """The moment of the stop nearest to a place on the slider."""
        if not self.stops:
            return self.end
        index = round(max(0.0, min(1.0, fraction)) * (len(self.stops) - 1))
        return self.stops[index].moment
