"""What happened, as rows: the verdict of the step, the findings with their places, the fixes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import structs

from tutor.app.model.fixes import WordsOf, usable_fixes
from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.mark import SEVERITIES
from tutor.app.model.names import file_words
from tutor.app.model.prose import inline, prose_rows
from tutor.app.model.rows import BLANK, Role, Row, Span, Spans, Target, cut, wrap
from tutor.trace.trace import Trace

if TYPE_CHECKING:
    from tutor.attempt.verdict import CheckResult, Verdict
    from tutor.explain.finding import Finding, FindingPlace, Fix


_ROLE_WORDS = {"cause": "cause", "witness": "made it matter", "surfaced": "came out here"}
_ROLE_WIDTH = max(map(len, _ROLE_WORDS.values())) + 2


def explanation_rows(
    trace: Trace | None,
    findings: tuple[Finding, ...],
    verdict: Verdict | None,
    words: WordsOf,
    width: int,
    main: str,
    glyphs: Glyphs = UNICODE,
    code: str = "",
) -> list[Row]:
    """The whole pane: whether the step is done, each finding, then what the step asked for."""
    if trace is None:
        hint = "Run the code (r), and what happened is explained here."
        return [Row(line) for line in wrap((Span(hint, "dim"),), width)]
    rows: list[Row] = []
    if verdict is not None:
        rows += verdict_rows(verdict, width, glyphs)
    number = 0
    done = verdict is not None and verdict.done and bool(verdict.checks)
    for finding in findings:
        if rows:
            rows.append(BLANK)
        if done:  # what it would change is what the step asked for
            finding = structs.replace(finding, fixes=())
        rows += _finding(finding, words, width, main, glyphs, code, number)
        number += len(usable_fixes(finding, main))
    rows += _end(trace, findings, bool(rows), width)
    if verdict is not None and not verdict.done and verdict.checks:
        rows += [BLANK, Row((Span("What the step asks", "strong"),), key="asks")]
        for index, check in enumerate(verdict.checks):
            rows += _check(check, index, width, glyphs)
    return rows


def verdict_rows(verdict: Verdict, width: int, glyphs: Glyphs = UNICODE) -> Iterator[Row]:
    """Whether the step is done; each check that is not, with what was wanted and found."""
    if verdict.done:
        words = "Done. Everything that was asked holds." if verdict.checks else "It ran."
        sign = Span(f"{glyphs.ok} ", "good")
        if verdict.chosen_right:
            words = "Done. You and the run agree."
        elif verdict.chosen_right is False:
            sign, words = Span(f"{glyphs.mark} ", "warn"), "The run says otherwise."
        spans = (sign, Span(words, "strong"))
        for part, line in enumerate(wrap(spans, width, "  ")):
            yield Row(line, key=f"verdict {part}")
        return
    if verdict.mistake:
        for index, row in enumerate(prose_rows(verdict.mistake, width - 2)):
            lead = f"{glyphs.mark} " if index == 0 else "  "
            yield Row((Span(lead, "warn"), *row.spans), key=f"mistake {index}")
        return
    open_ = sum(check.status != "holds" for check in verdict.checks)
    if open_:
        words = f"Not yet: {open_} of {len(verdict.checks)} checks do not hold."
        spans = (Span(f"{glyphs.mark} ", "warn"), Span(words, "strong"))
        for part, line in enumerate(wrap(spans, width, "  ")):
            yield Row(line, key=f"verdict {part}")


def _check(check: CheckResult, index: int, width: int, glyphs: Glyphs) -> Iterator[Row]:
    key = f"check {index}"
    if check.status == "holds":
        spans: Spans = (Span(f"{glyphs.ok} ", "good"), *inline(check.text, "dim"))
        yield Row(cut(spans, width, glyphs.more), key=key)
        return
    undecided = check.status == "undecided"
    sign = Span("? ", "warn") if undecided else Span(f"{glyphs.bad} ", "bad")
    for part, line in enumerate(wrap((sign, *inline(check.text, "strong")), width, "  ")):
        yield Row(line, key=f"{key} {part}")
    if undecided:
        yield from _labelled("undecided", check.got or "the run did not come so far", width, key)
    else:
        if check.wanted != check.text:
            yield from _labelled("wanted", check.wanted, width, key)
        yield from _labelled("got", check.got, width, key)
    if check.why:
        for row in prose_rows(check.why, width - 4, ""):
            yield Row((Span("    "), *row.spans), key=key + " why")


def _labelled(label: str, text: str, width: int, key: str) -> Iterator[Row]:
    if not text:
        return
    lead = f"  {label} ".ljust(12 if label == "undecided" else 10)
    spans = (Span(lead, "dim"), *inline(text, "code"))
    for part, line in enumerate(wrap(spans, width, " " * len(lead))):
        yield Row(line, key=f"{key} {label} {part}")


def _finding(
    finding: Finding,
    words: WordsOf,
    width: int,
    main: str,
    glyphs: Glyphs,
    code: str,
    number: int,
) -> Iterator[Row]:
    role = SEVERITIES[finding.severity]
    sign = glyphs.note if finding.severity == "note" else glyphs.bad
    said = words(finding)
    title = (
        Span(f"{sign} ", role),
        Span(f"{finding.severity}: ", role),
        *inline(said.title, "strong"),
    )
    for part, line in enumerate(wrap(title, width, "  ")):
        yield Row(line, key=f"title {finding.kind} {part}")
    yield from prose_rows(said.explanation, width, lines=True)
    if finding.places:
        yield BLANK
    for index, place in enumerate(finding.places):
        yield from _place(place, width, main, glyphs, f"place {finding.kind} {index}")
    for index, fix in enumerate(usable_fixes(finding, main)):
        yield BLANK
        yield from _fix(fix, number + index, width, glyphs, code)
    if finding.lesson:
        yield BLANK
        link = (Span("Lesson about this: ", "dim"), Span(finding.lesson, "link"))
        yield Row(cut(link, width, glyphs.more), action=f"lesson {finding.lesson}")


def _place(place: FindingPlace, width: int, main: str, glyphs: Glyphs, key: str) -> Iterator[Row]:
    """As in ◆ cause  line 2  y.add_(1): a link to the line and the moment."""
    rounds = "".join(f"·{n}" for n in place.iteration)
    where = f"line {place.line}{rounds}"
    if place.file != main:
        where = f"{file_words(place.file)} {where}"
    sign = glyphs.bad if place.role == "surfaced" else glyphs.mark
    role: Role = "bad" if place.role == "surfaced" else "warn"
    head = (Span(f"{sign} ", role), Span(_ROLE_WORDS[place.role].ljust(_ROLE_WIDTH), "dim"))
    spans: Spans = (*head, Span(where, "link"), Span("  "), Span(place.text, "code"))
    target = Target(place.file, place.line, place.moment)
    for part, line in enumerate(wrap(spans, width, "    ")):
        yield Row(line, target, key=f"{key} {part}")


def _fix(fix: Fix, number: int, width: int, glyphs: Glyphs, code: str) -> Iterator[Row]:
    """What to change, as lines taken out and put in; Enter applies it and runs."""
    action = f"fix {number}"
    title = (Span("Change: ", "strong"), *inline(fix.title))
    for part, line in enumerate(wrap(title, width, "  ")):
        yield Row(line, action=action, key=f"{action} title {part}")
    for sign, text in _diff(fix, code):
        yield from _change(sign, text, "cut" if sign == "-" else "add", width, action)
    if fix.verified:
        how = fix.how or "it was run: the finding is gone"
        for line in wrap((Span(f"{glyphs.ok} ", "good"), Span(how, "dim")), width, "  "):
            yield Row(line, action=action)
    key = "a" if number == 0 else "Enter"
    yield Row((Span(f"[{key}] apply and run", "link"),), action=action, key=action)


def _diff(fix: Fix, code: str) -> list[tuple[str, str]]:
    """("-", old) and ("+", new) lines of a fix, without the indent that all of them share."""
    lines = code.split("\n")
    changes: list[tuple[str, str]] = []
    for edit in fix.edits:
        changes += [("-", text) for text in lines[edit.line - 1 : edit.end_line]]
        changes += [("+", text) for text in edit.new.rstrip("\n").split("\n") if edit.new]
    indent = min((len(t) - len(t.lstrip()) for _, t in changes if t.strip()), default=0)
    return [(sign, text[indent:]) for sign, text in changes]


def _change(sign: str, text: str, role: Role, width: int, action: str) -> Iterator[Row]:
    spans = (Span(f"  {sign} ", role), Span(text, role))
    for part, line in enumerate(wrap(spans, width, "      ")):
        yield Row(line, action=action, key=f"{action} {sign}{text} {part}")


def _end(trace: Trace, findings: tuple[Finding, ...], said: bool, width: int) -> Iterator[Row]:
    """How the run ended, where that needs words of its own."""
    end = trace.end
    words = ""
    role: Role = ""
    if end is not None and end.outcome in ("timeout", "out-of-memory", "killed", "garbled"):
        words = end.message or f"The run ended early: {end.outcome}."
        words += " What is shown is how far it came."
        role = "bad"
    elif end is not None and end.outcome == "cancelled":
        words = "You stopped the run. What is shown is how far it came."
    elif trace.raised is not None and not findings:
        words = f"{trace.raised.kind}: {trace.raised.message}"
        role = "bad"
    elif not findings and end is not None:
        words, role = "It ran to its end: no error, and nothing that looks wrong.", "dim"
    if not words:
        return
    if said:
        yield BLANK
    for line in wrap((Span(words, role),), width):
        yield Row(line)


def sentence(
    trace: Trace | None, findings: tuple[Finding, ...], verdict: Verdict | None, words: WordsOf
) -> tuple[str, Role]:
    """One line for where the pane is not on screen: what happened and what to do next."""
    from tutor.app.model.prose import plain

    if trace is None:
        return "", "dim"
    if verdict is not None and verdict.done:
        if verdict.chosen_right is False:
            return "The run says otherwise. n goes on.", "warn"
        return "Done. n goes on.", "good"
    worst = next((f for f in findings if f.severity != "note"), None)
    if worst is not None:
        return plain(words(worst).title), "bad" if worst.severity == "error" else "warn"
    if trace.raised is not None:
        return plain(f"{trace.raised.kind}: {trace.raised.message}"), "bad"
    if verdict is not None and verdict.mistake:
        return plain(verdict.mistake), "warn"
    if verdict is not None:
        failed = next((c for c in verdict.checks if c.status != "holds"), None)
        if failed is not None:
            return plain(
                f"Not yet: {failed.text}. Wanted {failed.wanted}, got {failed.got}."
            ), "warn"
    if trace.end is not None and trace.end.outcome not in ("ok", "error", "exited"):
        return trace.end.message or f"The run ended early: {trace.end.outcome}.", "bad"
    return "It ran to its end, and nothing looks wrong.", "good"
