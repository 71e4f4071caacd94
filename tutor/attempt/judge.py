"""From evidence to a verdict on a step: pure, and the same for app, plain and authors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tutor.attempt.verdict import (
    Answer,
    CheckResult,
    CheckStatus,
    ChoiceResult,
    QuestionResult,
    Status,
    Verdict,
)
from tutor.lesson import AnyStep, Check, ChoiceStep, Evidence, Predict, Question, Read, Run


def decide(step: AnyStep, answer: Answer, evidence: Evidence) -> Verdict:
    """The verdict on one step, one answer and one run."""
    if isinstance(step, Read):
        return Verdict("passed")
    if isinstance(step, ChoiceStep):
        return _choice(step, answer)
    checks = results(step.checks, evidence)
    hints = tuple(hint.say for hint in step.hints if _still_of_use(hint.when, evidence))
    if isinstance(step, Predict):
        return _predict(step, answer, evidence, checks, hints)
    status = _status(step, checks, evidence)
    mistake = None
    if status not in ("passed", "ran"):
        mistake = next((m for m in step.mistakes if all_hold(m.when, evidence)), None)
    return Verdict(
        status,
        checks,
        mistake=mistake.say if mistake else None,
        mistake_id=mistake.id if mistake else None,
        hints=hints,
    )


def results(checks: Iterable[Check], evidence: Evidence) -> tuple[CheckResult, ...]:
    """What each check came to, with the author's reason where it does not hold."""
    found = []
    for check in checks:
        outcome = check.judge(evidence)
        why = "" if outcome.holds else check.why
        found.append(CheckResult(check.says(), outcome.status, outcome.wanted, outcome.got, why))
    return tuple(found)


def all_hold(checks: Iterable[Check], evidence: Evidence) -> bool:
    """Whether every check holds; undecided is not holding."""
    return all(check.judge(evidence).holds for check in checks)


def together(found: Sequence[CheckResult]) -> CheckStatus:
    """All of several: one that fails decides, then one that is undecided."""
    states = {result.status for result in found}
    return "fails" if "fails" in states else "undecided" if "undecided" in states else "holds"


def _still_of_use(when: Sequence[Check], evidence: Evidence) -> bool:
    return not any(check.judge(evidence).status == "fails" for check in when)


def _status(step: AnyStep, checks: Sequence[CheckResult], evidence: Evidence) -> Status:
    if not checks:
        # Only a `run` step has none: it is done when its program ended by itself.
        return "ran" if isinstance(step, Run) and evidence.came_to_an_end else "undecided"
    state = together(checks)
    return {"holds": "passed", "fails": "failed", "undecided": "undecided"}[state]  # type: ignore[return-value]


def _choice(step: ChoiceStep, answer: Answer) -> Verdict:
    given = (answer,) if isinstance(answer, str) else answer
    chosen = {str(item) for item in given} if isinstance(given, tuple) else set()
    choices = tuple(
        ChoiceResult(
            option.id,
            option.text,
            "holds" if option.right else "fails",
            option.id in chosen,
            say=option.say,
        )
        for option in step.choices
    )
    right = chosen == {option.id for option in step.choices if option.right}
    wrong = next((c for c in choices if c.chosen and c.status == "fails" and c.say), None)
    return Verdict(
        "undecided" if not chosen else "passed" if right else "failed",
        mistake=wrong.say if wrong else None,
        mistake_id=wrong.id if wrong else None,
        chosen_right=right if chosen else None,
        choices=choices,
        hints=tuple(hint.say for hint in step.hints),
    )


def _predict(
    step: Predict,
    answer: Answer,
    evidence: Evidence,
    checks: tuple[CheckResult, ...],
    hints: tuple[str, ...],
) -> Verdict:
    asked = step.asked
    chosen: dict[str, str] = {}
    if isinstance(answer, dict):
        chosen = answer
    elif isinstance(answer, str) and asked:
        chosen = {asked[0].id: answer}
    questions = tuple(_question(q, chosen.get(q.id), evidence) for q in asked)
    said = [c for q in questions for c in q.choices if c.chosen and c.status == "fails" and c.say]
    decided = all(q.right is not None for q in questions) and together(checks) == "holds"
    only = questions[0] if len(questions) == 1 else None
    return Verdict(
        "passed" if decided else "undecided",
        checks,
        mistake=said[0].say if said else None,
        mistake_id=said[0].id if said else None,
        questions=questions,
        true_choice=only.true_choice if only else None,
        chosen_right=_all_right(questions),
        choices=only.choices if only else (),
        hints=hints,
    )


def _all_right(questions: Sequence[QuestionResult]) -> bool | None:
    if any(question.right is None for question in questions):
        return None
    return all(question.right for question in questions)


def _question(question: Question, chosen: str | None, evidence: Evidence) -> QuestionResult:
    """The answer that the run makes true: the only one whose checks all hold."""
    choices = []
    for choice in question.choices:
        found = results(choice.holds, evidence)
        state = together(found)
        choices.append(
            ChoiceResult(choice.id, choice.text, state, choice.id == chosen, found, choice.say)
        )
    true = [choice.id for choice in choices if choice.status == "holds"]
    answer = true[0] if len(true) == 1 else None
    known = chosen in {choice.id for choice in choices}
    right = chosen == answer if known and answer is not None else None
    return QuestionResult(
        question.id, question.text, answer, chosen if known else None, right, tuple(choices)
    )
