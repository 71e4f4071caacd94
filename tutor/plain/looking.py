"""Looking at the run that was: why, the graph, the versions, at any moment of it."""

from __future__ import annotations

from collections.abc import Callable

from tutor.attempt import Attempt
from tutor.diagnose import verified
from tutor.explain import Finding
from tutor.explain.edits import apply
from tutor.lesson.compile import MAIN
from tutor.plain import story, views
from tutor.plain.moments import NoSuchMoment, moment_of, told
from tutor.plain.talk import Talk
from tutor.run import Runner
from tutor.trace import State


class Looking:
    """The latest try of a step, and the moment of it that is looked at (None: its end)."""

    def __init__(self, talk: Talk, runner: Runner) -> None:
        self._talk = talk
        self._runner = runner
        self._proved: tuple[Finding, ...] | None = None
        self.attempt: Attempt | None = None
        self._moment: int | None = None
        self.commands: dict[str, Callable[[str], None]] = {
            "why": self._why,
            "checks": self._checks,
            "graph": lambda rest: self._view(lambda state: views.graph(state, _named(rest))),
            "tensors": lambda rest: self._view(views.tensors),
            "versions": lambda rest: self._view(lambda state: views.versions(state, _named(rest))),
            "output": self._output,
            "at": self._at,
        }

    def at_run(self, attempt: Attempt) -> None:
        """Look at this try."""
        self.attempt, self._moment, self._proved = attempt, None, None

    def leave(self) -> None:
        """Nothing has run here yet."""
        self.attempt, self._moment, self._proved = None, None, None

    def changed(self, rest: str, code: str) -> str | None:
        """The code with the proposed change of this number made in it."""
        attempt = self._ran()
        if attempt is None:
            return None
        fixes = story.changes(self._findings(attempt))
        number = int(rest) if rest.isascii() and rest.isdigit() else 1
        if not 1 <= number <= len(fixes):
            self._talk.tell([f"There is no change {number}. why lists them."])
            return None
        if attempt.code != code:
            self._talk.tell(["The code has changed since the run. Type run, then apply."])
            return None
        return apply(code, fixes[number - 1].edits, MAIN)

    # -- the commands -----------------------------------------------------------------

    def _ran(self) -> Attempt | None:
        if self.attempt is None or not self.attempt.step.runs:
            self._talk.tell(["Nothing has run yet. Type run."])
            return None
        return self.attempt

    def _findings(self, attempt: Attempt) -> tuple[Finding, ...]:
        """What explains the run, its changes tried once, when they are first asked for."""
        if self._proved is None:
            self._proved = verified(attempt.trace, attempt.findings, self._runner)
        return self._proved

    def _view(self, view: Callable[[State], list[str]]) -> None:
        attempt = self._ran()
        if attempt is None:
            return
        trace = attempt.trace
        if self._moment is None:
            self._talk.tell(view(trace.last))
        else:
            self._talk.tell([f"({told(trace, self._moment)})", *view(trace.at(self._moment))])

    def _why(self, rest: str) -> None:
        attempt = self._ran()
        if attempt is not None:
            self._talk.tell(story.why(self._findings(attempt)))

    def _checks(self, rest: str) -> None:
        attempt = self._ran()
        if attempt is not None:
            self._talk.tell(story.verdict(attempt.verdict) or ["This step has no checks."])

    def _output(self, rest: str) -> None:
        attempt = self._ran()
        if attempt is not None:
            self._talk.tell(story.output(attempt.trace, most=10_000) or ["It printed nothing."])

    def _at(self, rest: str) -> None:
        attempt = self._ran()
        if attempt is None:
            return
        if rest in ("end", "the end"):
            self._moment = None
            self._talk.tell(["At the end of the run."])
            return
        try:
            self._moment = moment_of(attempt.trace, rest, MAIN)
        except NoSuchMoment as error:
            self._talk.tell([str(error)])
            return
        self._talk.say("(at end goes back to the end of the run)")
        self._view(views.tensors)


def _named(rest: str) -> str | None:
    """The name in `of b`, or None."""
    return rest.removeprefix("of ").strip() or None
