"""Where the events of a run are kept: the first and the last ones, and those worth keeping.

Events are gathered in chunks, each with the state that it begins with. The first chunks and the
last ones stay. What has left the last ones is let go, unless something happened there that does
not happen in each round of a loop: a line that ran for the first time, a warning, the first NaN.
So the memory of a run is bounded, and the state at every moment that is kept is exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from tutor.trace.events import AnyEvent, GradRead
from tutor.trace.fold import Checkpoint
from tutor.trace.keep import HEAD_EVENTS
from tutor.trace.state import NodeState, OpState, Site

CHUNK = 1024
"""Events in one chunk: what a look at one moment replays at the most."""

HEAD = HEAD_EVENTS // CHUNK
"""Chunks kept from the beginning."""

TAIL = 96
"""Chunks kept from the end."""

ISLANDS = 48
"""Chunks kept between them: those in which something happened, and the ones before them."""

Read = tuple[GradRead, int, Site]


@dataclass(slots=True)
class Chunk:
    """Some events in a row, the state before them, and those that are asked for by kind."""

    start: int
    checkpoint: Checkpoint
    events: list[AnyEvent] = field(default_factory=list)
    ops: list[OpState] = field(default_factory=list)
    nodes: list[NodeState] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    special: bool = False
    """Something happened here that is worth keeping for itself."""

    @property
    def end(self) -> int:
        """The moment after its last event."""
        return self.start + len(self.events)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Events in a row; `gap` are the states around what is missing before them, if anything is.

    `left` and `reads` are what is kept of the gap.
    """

    gap: tuple[Checkpoint, Checkpoint] | None
    events: list[AnyEvent]
    left: list[tuple[int, AnyEvent]]
    reads: list[Read]


class Chunks:
    """The chunks of a run, in order; the last one is open (`bounded`: old ones are let go)."""

    def __init__(self, bounded: bool = True) -> None:
        self.all: list[Chunk] = [Chunk(0, Checkpoint())]
        self._bounded = bounded
        self._islands = 0

    @property
    def open(self) -> Chunk:
        return self.all[-1]

    def begin(self, checkpoint: Checkpoint) -> list[Chunk]:
        """Begin the next chunk at this state; gives the chunks that were let go."""
        if not self.open.events and len(self.all) > 1:
            self.all.pop()
        self.all.append(Chunk(checkpoint.state.moment, checkpoint))
        leaving = len(self.all) - 2 - TAIL
        if leaving < HEAD or not self._bounded:
            return []
        chunk, after = self.all[leaving], self.all[leaving + 1]
        if (chunk.special or after.special) and self._islands < ISLANDS:
            self._islands += 1
            return []
        del self.all[leaving]
        return [chunk]

    def holding(self, moment: int) -> int:
        """The index of the last chunk that begins at or before a moment."""
        return max(0, bisect_right(self.all, moment, key=lambda chunk: chunk.start) - 1)

    def gaps(self) -> Iterator[int]:
        """The indexes of the chunks after which events are missing."""
        for index in range(len(self.all) - 1):
            if self.all[index].end < self.all[index + 1].start:
                yield index
