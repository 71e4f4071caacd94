"""One check of a lesson: a name, its arguments, and why it is asked."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tutor.lesson.checks.body import Body, Numeric, together
from tutor.lesson.checks.evidence import Evidence, Missing, Outcome, every, undecided
from tutor.lesson.checks.functions import Agrees, Calls, Hooks
from tutor.lesson.checks.graphs import Graph, Saved
from tutor.lesson.checks.source import SourceCheck
from tutor.lesson.checks.tensors import Flags, Grad, Storage, Value, Version
from tutor.lesson.checks.trouble import FindingCheck, Output, Raises, Warns
from tutor.lesson.model import Model
from tutor.trace import Probe


class Check(Model):
    """A mapping with the check's name as its one key, and `why` beside it if wanted."""

    raises: Raises | None = Field(None, description="How the program ends.")
    finding: FindingCheck | None = Field(None, description="What the explanation says.")
    grad: Grad | None = Field(None, description="A gradient.")
    value: Value | None = Field(None, description="A value.")
    flags: Flags | None = Field(None, description="What torch says of a tensor.")
    version: Version | None = Field(None, description="A version counter.")
    storage: Storage | None = Field(None, description="Which tensors share memory.")
    graph: Graph | None = Field(None, description="The graph of a tensor.")
    saved: Saved | None = Field(None, description="What a node keeps for its backward.")
    output: Output | None = Field(None, description="What is printed.")
    warns: Warns | None = Field(None, description="A warning.")
    source: SourceCheck | None = Field(None, description="The text of the program.")
    calls: Calls | None = Field(None, description="How often a function is called.")
    hooks: Hooks | None = Field(None, description="What runs while a backward is going on.")
    agrees: Agrees | None = Field(
        None, description="What a function computes, against the solution's."
    )
    every: tuple[Check, ...] | None = Field(None, alias="all", description="Checks that all hold.")
    some: tuple[Check, ...] | None = Field(
        None, alias="any", description="Checks of which one holds."
    )
    negated: Check | None = Field(None, alias="not", description="A check that does not hold.")
    why: str = Field("", description="Shown when the check does not hold.")

    @model_validator(mode="after")
    def _one_check(self) -> Self:
        given = self.model_fields_set - {"why"}
        if len(given) != 1:
            raise ValueError("a check has exactly one name, and beside it at most `why`")
        if self.every == () or self.some == ():
            raise ValueError("this list needs at least one check")
        return self

    @property
    def body(self) -> Body | None:
        """The arguments, None for `all`, `any` and `not`."""
        for name in self.model_fields_set:
            value = getattr(self, name)
            if isinstance(value, Body):
                return value
        return None

    @property
    def parts(self) -> tuple[Check, ...]:
        """The checks inside `all`, `any` or `not`."""
        if self.negated is not None:
            return (self.negated,)
        return self.every or self.some or ()

    def asks(self) -> tuple[Probe, ...]:
        """The questions that the run must answer."""
        if self.body is not None:
            return self.body.asks()
        return every(part.asks() for part in self.parts)

    def rechecks(self) -> tuple[Numeric, ...]:
        """The slopes that must be measured by running again."""
        if self.body is not None:
            return self.body.rechecks()
        return tuple(need for part in self.parts for need in part.rechecks())

    def says(self) -> str:
        """What it asks of the program, as a sentence without an end."""
        if self.body is not None:
            return self.body.says()
        if self.negated is not None:
            return f"it is not so that {self.negated.says()}"
        word = "; " if self.every else "; or "
        return word.join(part.says() for part in self.parts)

    def judge(self, evidence: Evidence) -> Outcome:
        """Decide in three values: the negation of undecided is undecided."""
        if self.body is not None:
            try:
                return self.body.judge(evidence)
            except Missing as missing:
                return undecided(self.says(), str(missing))
        outcomes = [part.judge(evidence) for part in self.parts]
        if self.negated is not None:
            return _negated(self.says(), outcomes[0])
        return together(outcomes) if self.every else _any(self.says(), outcomes)


def _negated(says: str, outcome: Outcome) -> Outcome:
    if outcome.status == "undecided":
        return Outcome("undecided", says, outcome.got)
    return Outcome("fails" if outcome.holds else "holds", says, outcome.got)


def _any(says: str, outcomes: list[Outcome]) -> Outcome:
    for status in ("holds", "undecided"):
        for outcome in outcomes:
            if outcome.status == status:
                return Outcome(outcome.status, says, outcome.got)
    return Outcome("fails", says, "; ".join(outcome.got for outcome in outcomes))
