"""What the panes show: a run, what was found in it, and the moment that is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tutor.app.model.times import Timeline

if TYPE_CHECKING:
    from tutor.attempt.verdict import Verdict
    from tutor.explain.finding import Finding, FindingPlace
    from tutor.trace.state import State
    from tutor.trace.trace import Trace

MAIN = "snippet.py"
"""The name of the learner's code in a run."""


@dataclass(frozen=True)
class Shown:
    """A run at a moment; `trace` is None before the first run.

    `code` is the text that was run, `live` says that the run is still going on.
    """

    trace: Trace | None = None
    findings: tuple[Finding, ...] = ()
    verdict: Verdict | None = None
    code: str = ""
    main: str = MAIN
    moment: int = 0
    line: Timeline = field(default_factory=Timeline)
    live: bool = False

    @property
    def done(self) -> bool:
        """Whether this run has done a step that asked for something."""
        verdict = self.verdict
        return verdict is not None and verdict.done and bool(verdict.checks)

    @cached_property
    def state(self) -> State:
        """The state at the moment. Raises ValueError where nothing has run."""
        if self.trace is None:
            raise ValueError("nothing has run")
        return self.trace.at(self.moment)

    @cached_property
    def before(self) -> State | None:
        """The state when the line before this moment began: what "changed" compares with."""
        if self.trace is None or not self.line.lines:
            return None
        earlier = self.line.step(self.moment, "line", False)
        return self.trace.at(earlier) if earlier < self.moment else None

    @property
    def at_end(self) -> bool:
        return self.trace is None or self.moment >= self.line.end

    def at(self, moment: int) -> Shown:
        """The same run at another moment."""
        return replace(self, moment=max(0, min(moment, self.line.end)))

    def here(self) -> int:
        """The line of the learner's code that the moment stands at (0: none, or the end)."""
        if self.at_end:
            return 0
        for frame in reversed(self.state.stack):
            if frame.file == self.main:
                return frame.line
        return 0


def shown(
    trace: Trace,
    findings: tuple[Finding, ...] = (),
    verdict: Verdict | None = None,
    code: str = "",
    main: str = MAIN,
) -> Shown:
    """A run that has ended, at its end."""
    from tutor.app.model.timeline import timeline

    line = timeline(trace)
    return Shown(trace, findings, verdict, code, main, line.end, line)


def growing(trace: Trace, code: str, main: str = MAIN) -> Shown:
    """A run that is still going on, at its latest event."""
    end = len(trace)
    return Shown(trace, (), None, code, main, end, Timeline(end=end), live=True)


def cause(view: Shown) -> FindingPlace | None:
    """The place that the first finding blames."""
    for finding in view.findings:
        for place in (*finding.at("cause"), *finding.places):
            return place
    return None


def cause_moment(view: Shown, place: FindingPlace) -> int | None:
    """The first stop after a place's moment: where what it did can be seen."""
    if place.moment is None:
        return None
    return next((s.moment for s in view.line.stops if s.moment > place.moment), view.line.end)
