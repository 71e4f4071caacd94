"""Why a code passes a step or not, check by check, as its author wants to know it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tutor.attempt import Attempt, CheckResult
from tutor.attempt.judge import results
from tutor.lesson import Check, Evidence

_MARKS = {"holds": "✓", "fails": "✗", "undecided": "?"}


def explained(attempt: Attempt) -> Iterator[str]:
    """Everything that decided a try, in lines."""
    step, verdict = attempt.step, attempt.verdict
    evidence = Evidence(attempt.trace, attempt.findings, attempt.slopes)
    yield f'step "{step.id}" ({step.kind}): {verdict.status}'
    yield f"the run: {_ending(attempt)}"
    for finding in attempt.findings:
        yield f"  {finding.severity} {finding.kind}"
    if verdict.checks:
        yield "checks:"
        yield from _rows(verdict.checks)
    for question in verdict.questions:
        yield f"choices of {question.id}:"
        for choice in question.choices:
            yield f"  {_MARKS[choice.status]} {choice.id}"
            yield from (f"  {line}" for line in _rows(choice.checks))
    for mistake in step.mistakes:
        rows = _all(mistake.when, evidence)
        fires = all(row.status == "holds" for row in rows)
        said = "fires" if fires else "does not fire"
        if fires and verdict.mistake_id not in (None, mistake.id):
            said = f'would fire, but "{verdict.mistake_id}" comes first'
        elif fires and verdict.done:
            said = "fires, and is not said since the step is passed"
        yield f'mistake "{mistake.id}" {said}:'
        yield from _rows(rows)
    for number, hint in enumerate(step.hints, 1):
        if hint.when:
            rows = _all(hint.when, evidence)
            useful = all(row.status != "fails" for row in rows)
            yield f"hint {number} is {'given' if useful else 'passed over'}:"
            yield from _rows(rows)


def _all(checks: Sequence[Check], evidence: Evidence) -> tuple[CheckResult, ...]:
    return results(checks, evidence)


def _rows(checks: Sequence[CheckResult]) -> Iterator[str]:
    for number, check in enumerate(checks, 1):
        yield f"  {_MARKS[check.status]} {number}. {check.text}"
        if check.status != "holds":
            yield f"       wanted  {check.wanted}"
            yield f"       {'got    ' if check.status == 'fails' else 'missing'} {check.got}"
            if check.why:
                yield f"       why     {check.why}"


def _ending(attempt: Attempt) -> str:
    raised, end = attempt.trace.raised, attempt.trace.end
    if raised is not None:
        first = raised.message.strip().splitlines()
        return f"{raised.kind}: {first[0]}" if first else raised.kind
    seconds = f" after {end.seconds:.2f} s" if end is not None else ""
    return f"{attempt.trace.outcome}{seconds}" if attempt.step.runs else "nothing runs"
