"""What came of a try: one step, one code, one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tutor.explain.finding import Finding
    from tutor.lesson import AnyStep
    from tutor.trace import Trace

CheckStatus = Literal["holds", "fails", "undecided"]
Status = Literal["passed", "failed", "undecided", "ran"]

Answer = str | tuple[str, ...] | tuple[int, ...] | dict[str, str] | None
"""What the learner answered: a choice's id (`predict`), ids (`choice`), a choice for each
question (`predict` with questions), text for each blank (`fill`), the numbers of the shown
lines (`order`), or None."""


Slopes = Mapping[str, Sequence[tuple[float, float]]]
"""For each slope that was measured by running again: (measured, claimed) along each direction."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: what it asks in words, and what was wanted and found.

    `why` is the author's sentence for a check that does not hold ("" if there is none).
    """

    text: str
    status: CheckStatus
    wanted: str
    got: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceResult:
    """One possible answer: what the run said of it, or the author where nothing runs.

    `say` is the author's remark on this answer.
    """

    id: str
    text: str
    status: CheckStatus
    chosen: bool
    checks: tuple[CheckResult, ...] = ()
    say: str = ""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question of a prediction (of a step with choices alone, `id` is the step's).

    `true_choice` is what the run made true: None where no answer, or more than one, held.
    `right` is None where nothing was answered or nothing was decided.
    """

    id: str
    text: str
    true_choice: str | None
    chosen: str | None
    right: bool | None
    choices: tuple[ChoiceResult, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a try.

    "ran": a step without checks whose program came to its end. "undecided" is not passed: the
    checks that could not be decided say why. `mistake` is what to say of a recognised wrong
    idea. `true_choice`, `chosen_right` and `choices` are those of the only question, where
    there is one. `hints` are those still of use after this run, in order.
    """

    status: Status
    checks: tuple[CheckResult, ...] = ()
    mistake: str | None = None
    mistake_id: str | None = None
    questions: tuple[QuestionResult, ...] = ()
    true_choice: str | None = None
    chosen_right: bool | None = None
    choices: tuple[ChoiceResult, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Whether the step counts as done."""
        return self.status in ("passed", "ran")

    @property
    def next_hint(self) -> str | None:
        """The first hint that is still of use."""
        return self.hints[0] if self.hints else None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try: what was run, what happened, what explains it, and the decision."""

    step: AnyStep
    code: str
    answer: Answer
    trace: Trace
    findings: tuple[Finding, ...]
    verdict: Verdict
    slopes: Slopes | None = None
