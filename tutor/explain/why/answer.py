"""What `why` answers: one explanation for each error or warning of a paste."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tutor.explain.finding import Fact
from tutor.explain.why.frames import Frame


@dataclass(frozen=True, slots=True)
class Other:
    """A kind that the same words may mean, and how to tell."""

    kind: str
    tell: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """One error or warning: what it means, where to look, what to try.

    `surfaced` is the innermost line of the person's own, `callers` those that led there, the
    outermost first; `witness` the forward call that anomaly mode named, with its op. `cut`:
    only a part of the message was there. `link` says how it hangs together with the meaning
    before it. `alike` counts how often it stands in the paste.
    """

    sentence: str
    kind: str
    severity: Literal["error", "warning"]
    title: str
    text: tuple[str, ...]
    tries: tuple[str, ...]
    facts: dict[str, Fact]
    error: str
    message: str
    others: tuple[Other, ...] = ()
    surfaced: Frame | None = None
    callers: tuple[Frame, ...] = ()
    witness: Frame | None = None
    op: str = ""
    foreign: bool = False
    """There was a traceback, but no line of the person's own in it."""
    lesson: str | None = None
    command: str = ""
    adds: str = ""
    cut: bool = False
    link: Literal["", "while", "cause"] = ""
    ranks: tuple[str, ...] = ()
    alike: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """All meanings, the root cause first; `hint` says what to paste where there are none."""

    meanings: tuple[Meaning, ...] = ()
    hint: str = ""
    frames: tuple[Frame, ...] = field(default=())
    """The person's own lines of a traceback whose error is missing."""

    @property
    def recognised(self) -> bool:
        """Whether the text was recognised."""
        return bool(self.meanings)
