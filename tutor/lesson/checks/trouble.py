"""Checks on what went wrong, and on what the program printed."""

from __future__ import annotations

import re
from textwrap import shorten
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tutor.explain.finding import Finding, FindingPlace
from tutor.explain.registry import BY_ID
from tutor.lesson.checks.body import Body, Names, together
from tutor.lesson.checks.evidence import Evidence, Outcome, decided, undecided
from tutor.lesson.checks.tensors import needs_one
from tutor.lesson.checks.words import listed
from tutor.lesson.model import UnknownId
from tutor.trace.events import NONE, Raised


def _known_kind(word: str) -> str:
    if word not in BY_ID:
        raise UnknownId(f'there is no kind of finding called "{word}"', word, tuple(BY_ID))
    return word


Kind = Annotated[str, AfterValidator(_known_kind)]
"""The id of a kind of finding."""


def _none_as_flag(data: Any) -> Any:
    return {"none": "true"} if data == "none" else data


class Raises(Body):
    """How the program ended: `none`, or an error whose kind is a finding's."""

    none: bool = Field(False, description="No error.")
    kind: Kind | None = Field(None, description="The kind of finding that explains the error.")
    found: int | None = Field(None, description="The version that was found.")
    expected: int | None = Field(None, description="The version that was expected.")
    at_line: int | None = Field(
        None, description="The line of the code that the error came out of."
    )
    cause_line: int | None = Field(None, description="The line of the code that caused it.")
    cause_iteration: tuple[int, ...] | None = Field(
        None, description="The round of each loop around the cause."
    )

    _none = model_validator(mode="before")(_none_as_flag)

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.none and self.model_fields_set != {"none"}:
            raise ValueError('"none" stands alone')
        return self

    def says(self) -> str:
        if self.none:
            return "the program ends without an error"
        parts = [f"of kind {self.kind}" if self.kind else ""]
        parts += [f"version {self.found} found" if self.found is not None else ""]
        parts += [f"version {self.expected} expected" if self.expected is not None else ""]
        parts += [f"raised at line {self.at_line}" if self.at_line is not None else ""]
        parts += [f"caused at line {self.cause_line}" if self.cause_line is not None else ""]
        if self.cause_iteration is not None:
            parts.append(f"in round {rounds(self.cause_iteration)}")
        told = [part for part in parts if part]
        return "the program stops with an error" + (f" ({', '.join(told)})" if told else "")

    def judge(self, evidence: Evidence) -> Outcome:
        raised = evidence.trace.raised
        if raised is None and not evidence.came_to_an_end:
            return undecided(self.says(), evidence.stopped)
        if self.none or raised is None:
            got = "no error" if raised is None else told_of(raised, evidence.file)
            return decided((raised is None) == self.none, self.says(), got)
        finding = root_of(evidence)
        facts = [decided(True, self.says(), told_of(raised, evidence.file))]
        if self.kind is not None:
            facts.append(self._fact("kind", self.kind, finding.kind if finding else None, raised))
        for name, index in (("found", 2), ("expected", 3)):
            wanted = getattr(self, name)
            if wanted is not None:
                version = _version_fact(evidence, finding, name, index)
                facts.append(self._fact(f"version {name}", wanted, version, raised))
        if self.at_line is not None:
            line = line_of(raised, evidence.file)
            facts.append(self._fact("line of the error", self.at_line, line, raised))
        cause = _cause(finding, evidence.file)
        if self.cause_line is not None:
            line = cause.line if cause else None
            facts.append(self._fact("line of the cause", self.cause_line, line, raised))
        if self.cause_iteration is not None:
            wanted = rounds(self.cause_iteration)
            there = rounds(cause.iteration) if cause else None
            facts.append(self._fact("round", wanted, there, raised))
        return together(facts)

    def _fact(self, name: str, wanted: object, got: object, raised: Raised) -> Outcome:
        said = "not known" if got is None else f"{name} {got}"
        return decided(wanted == got, f"{name} {wanted}", f"{said} ({raised.kind})")


def root_of(evidence: Evidence) -> Finding | None:
    """The first finding that is an error."""
    return next((f for f in evidence.findings if f.severity == "error"), None)


def _version_fact(evidence: Evidence, finding: Finding | None, name: str, index: int) -> int | None:
    if finding is not None and type(finding.facts.get(name)) is int:
        return finding.facts[name]  # type: ignore[return-value]
    for run in reversed(evidence.trace.passes):
        if run.stale is not None and run.stale[2] != NONE:
            return int(run.stale[index])
    return None


def _cause(finding: Finding | None, file: str) -> FindingPlace | None:
    if finding is None:
        return None
    return next((place for place in finding.at("cause") if place.file == file), None)


def rounds(iteration: tuple[int, ...]) -> str:
    """The iterations of the enclosing loops, outermost first: `3`, `2.5`."""
    return ".".join(map(str, iteration)) or "none"


def line_of(raised: Raised, file: str) -> int | None:
    """The innermost line of the learner's file that an error came out of."""
    return next((line for name, line, _ in reversed(raised.frames) if name == file), None)


def told_of(raised: Raised, file: str) -> str:
    """An error in one line: its type, the first line of its message, its place."""
    first = raised.message.strip().splitlines()[0] if raised.message.strip() else ""
    first = shorten(first, 90, placeholder=" …")
    line = line_of(raised, file)
    where = "" if line is None else f" (line {line})"
    return f"{raised.kind}: {first}{where}" if first else f"{raised.kind}{where}"


class FindingCheck(Body):
    """What the explanation says: `none` (no error, no warning), or a kind of finding."""

    none: bool = Field(False, description="No error and no warning.")
    kind: Kind | None = Field(None, description="The kind of the finding.")
    severity: Literal["error", "warning", "note"] | None = Field(None, description="How bad it is.")
    cause_line: int | None = Field(None, description="The line of the code that caused it.")

    _none = model_validator(mode="before")(_none_as_flag)

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.none and self.model_fields_set != {"none"}:
            raise ValueError('"none" stands alone')
        needs_one(self, ("none", "kind", "severity", "cause_line"))
        return self

    def says(self) -> str:
        if self.none:
            return "nothing is wrong: no error, and no warning about a gradient"
        text = f"the explanation names {self.kind or 'something'}"
        text += f" ({self.severity})" if self.severity else ""
        return text + (f" with its cause at line {self.cause_line}" if self.cause_line else "")

    def judge(self, evidence: Evidence) -> Outcome:
        if self.none:
            wrong = [f for f in evidence.findings if f.severity != "note"]
        else:
            wrong = [f for f in evidence.findings if self._fits(f, evidence.file)]
        got = listed([f"{f.kind} ({f.severity})" for f in evidence.findings])
        if not wrong and not evidence.came_to_an_end:
            return undecided(self.says(), evidence.stopped)
        return decided(bool(wrong) != self.none, self.says(), got)

    def _fits(self, finding: Finding, file: str) -> bool:
        lines = [place.line for place in finding.at("cause") if place.file == file]
        return (
            (self.kind is None or finding.kind == self.kind)
            and (self.severity is None or finding.severity == self.severity)
            and (self.cause_line is None or self.cause_line in lines)
        )


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"this is not a regular expression: {error}") from None
    return text


class Output(Body):
    """What the program printed."""

    equals: str | None = Field(
        None, description="All that was printed, line by line without spaces at the ends."
    )
    contains: Names | None = Field(None, description="Texts that must be in it.")
    matches: Annotated[str, AfterValidator(_pattern)] | None = Field(
        None, description="A regular expression that must be found in it."
    )
    lines: int | None = Field(None, description="How many lines there are.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        needs_one(self, ("equals", "contains", "matches", "lines"))
        return self

    def says(self) -> str:
        parts = []
        if self.equals is not None:
            parts.append(f"prints exactly {self.equals.strip()!r}")
        if self.contains is not None:
            parts.append(f"prints {listed([repr(text) for text in self.contains])}")
        if self.matches is not None:
            parts.append(f"prints something that matches {self.matches!r}")
        if self.lines is not None:
            parts.append(f"prints {self.lines} lines")
        return f"the program {listed(parts)}"

    def judge(self, evidence: Evidence) -> Outcome:
        text = printed(evidence)
        holds = (
            (self.equals is None or _trimmed(text) == _trimmed(self.equals))
            and all(part in text for part in self.contains or ())
            and (self.matches is None or re.search(self.matches, text, re.MULTILINE) is not None)
            and (self.lines is None or len(text.splitlines()) == self.lines)
        )
        if not holds and not evidence.came_to_an_end:
            return undecided(self.says(), evidence.stopped)
        short = text if len(text) <= 200 else text[:200] + "…"
        return decided(holds, self.says(), repr(short) if text else "it printed nothing")


def printed(evidence: Evidence) -> str:
    """What the program wrote to standard output.

    Of a run that was stopped, the last events may be missing: then all that came out counts.
    """
    end = evidence.trace.end
    if end is not None and not evidence.came_to_an_end:
        return end.output
    return "".join(part for stream, part in evidence.state.output if stream == 1)


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


class Warns(Body):
    """A warning that the program gave."""

    category: str | None = Field(None, description="The warning's class, like UserWarning.")
    contains: str | None = Field(None, description="Text that must be in it.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        needs_one(self, ("category", "contains"))
        return self

    def says(self) -> str:
        text = f"a {self.category}" if self.category else "a warning"
        return f"the program gives {text}" + (f" with {self.contains!r}" if self.contains else "")

    def judge(self, evidence: Evidence) -> Outcome:
        given = evidence.state.warnings
        holds = any(
            (self.category is None or warning.category == self.category)
            and (self.contains is None or self.contains in warning.message)
            for warning in given
        )
        if not holds and not evidence.came_to_an_end:
            return undecided(self.says(), evidence.stopped)
        return decided(holds, self.says(), listed([w.category for w in given]))
