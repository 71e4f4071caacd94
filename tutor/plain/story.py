"""A try in words: what the program did, what explains it, and what was decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tutor.attempt import Attempt, CheckResult, QuestionResult, Verdict
from tutor.explain import Finding, FindingPlace, Fix, words
from tutor.explain.unseen import unseen
from tutor.plain.prose import lines_of, safe, wrapped
from tutor.report.gaps import gaps_words
from tutor.trace import Trace

OUTPUT = 40
"""Lines of a program's output told at once."""

_MARKS = {"holds": "yes", "fails": "NO", "undecided": "open"}
_ROLES = {"cause": "cause", "witness": "made it matter", "surfaced": "came out"}


def told(attempt: Attempt) -> list[str]:
    """All that is said right after a run."""
    lines: list[str] = []
    if attempt.step.runs:
        lines += outcome(attempt.trace)
        lines += [f"{finding.severity}: {words(finding).title}" for finding in attempt.findings]
        if attempt.findings:
            lines.append("(why tells more)")
    lines += verdict(attempt.verdict)
    return lines


def outcome(trace: Trace) -> list[str]:
    """What the program printed, and how it ended."""
    end = trace.end
    lines = output(trace)
    raised = trace.raised
    if raised is not None:
        first = raised.message.strip().splitlines()[0] if raised.message.strip() else ""
        where = f" at line {raised.frames[-1][1]}" if raised.frames else ""
        lines += wrapped(f"It stopped{where} with {raised.kind}: {first}".replace("`", "'"))
    elif end is None or end.outcome == "ok":
        lines.append("It ran to its end.")
    elif end.outcome == "exited":
        lines.append(f"It ended itself, with exit code {end.code}.")
    else:
        lines.append(f"The run did not end by itself: {end.message or end.outcome}.")
    lost = gaps_words(trace)
    if lost:
        lines.append(f"It was long: {lost}.")
    return [*lines, *(row for text in unseen(trace) for row in wrapped(text))]


def output(trace: Trace, most: int = OUTPUT) -> list[str]:
    """What the program printed, without the traceback at its end."""
    text = "".join(part for stream, part in trace.last.output if stream == 1)
    lines = safe(text)
    if not lines:
        return []
    more = [f"and {len(lines) - most} lines more (output tells all)"] if len(lines) > most else []
    return ["It printed:", *(f"  {line}" for line in lines[:most]), *more]


def changes(findings: Sequence[Finding]) -> list[Fix]:
    """The proposed changes in the order of their numbers, without those that proved wrong."""
    return [fix for one in findings for fix in one.fixes if fix.verified is not False]


def why(findings: Sequence[Finding]) -> list[str]:
    """What explains the run: sentences, places, and changes that help."""
    if not findings:
        return ["Nothing about this run needs an explanation."]
    lines: list[str] = []
    fixes = 0
    for finding in findings:
        said = words(finding)
        lines += [*(wrapped(f"{finding.severity}: {said.title}")), *lines_of(said.explanation)]
        lines += [_place(where) for where in finding.places]
        for fix in changes([finding]):
            fixes += 1
            proof = f" ({fix.how})" if fix.verified else ""
            lines += wrapped(f"change {fixes}: {fix.title}{proof}")
            for edit in fix.edits:
                span = (
                    f"line {edit.line}"
                    if edit.end_line <= edit.line
                    else (f"lines {edit.line} to {edit.end_line}")
                )
                verb = "before" if edit.end_line < edit.line else "instead of"
                lines.append(f"  {verb} {span}:")
                lines += [f"    {line}" for line in edit.new.splitlines()]
        if finding.lesson:
            lines.append(f"lesson about it: {finding.lesson}")
    if fixes:
        lines.append("Type apply 1 to make the first change.")
    return lines


def _place(where: FindingPlace) -> str:
    rounds = "".join(f" round {count}" for count in where.iteration)
    note = f" ({where.note})" if where.note else ""
    inside = "" if where.function in ("", "<module>") else f" in {where.function}"
    return f"{_ROLES[where.role]}: line {where.line}{rounds}{inside}: {where.text}{note}"


def verdict(decided: Verdict) -> list[str]:
    """What was decided."""
    lines: list[str] = []
    for question in decided.questions:
        lines += _question(question, several=len(decided.questions) > 1)
    lines += checks(decided.checks)
    if decided.mistake:
        lines += lines_of(decided.mistake)
    if decided.questions or (decided.choices and decided.chosen_right is not None):
        if not decided.questions:
            lines.append("That is right." if decided.chosen_right else "That is not right.")
    elif decided.status == "passed" and decided.checks:
        lines.append("Passed.")
    elif decided.status == "failed":
        lines.append("Not there yet.")
    elif decided.status == "undecided":
        lines.append("This could not be decided.")
    return lines


def checks(found: Sequence[CheckResult]) -> list[str]:
    """Each check with its mark; what was found where it does not hold."""
    lines: list[str] = []
    for check in found:
        if check.status == "holds":
            lines += wrapped(f"[yes] {check.text}")
            continue
        lines += wrapped(f"[{_MARKS[check.status]}] {check.text}")
        if check.wanted != check.text:
            lines += wrapped(f"wanted: {check.wanted}", "     ")
        lines += wrapped(f"got: {check.got}", "     ")
        if check.why:
            lines += wrapped(check.why, "     ")
    return lines


def _question(question: QuestionResult, *, several: bool) -> Iterator[str]:
    texts = {choice.id: choice.text for choice in question.choices}
    if several:
        yield from wrapped(question.text)
    if question.chosen is not None:
        yield from wrapped(f"You said: {texts[question.chosen]}")
    if question.true_choice is None:
        yield "The run made none of the answers true."
        return
    yield from wrapped(f"The run says: {texts[question.true_choice]}")
    if question.right is not None:
        yield "That is right." if question.right else "So it went otherwise."
