"""What every kind of check has in common: what it asks, what it says, how it decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from tutor.lesson.checks.evidence import Evidence, Outcome
from tutor.lesson.model import Model
from tutor.trace import Probe
from tutor.trace.expression import parse, parse_path


def _expression(text: str) -> str:
    parse(text)
    return text


def _path(text: str) -> str:
    parse_path(text)
    return text


def _as_list(data: object) -> object:
    return [data] if isinstance(data, str) else data


Expression = Annotated[str, AfterValidator(_expression)]
"""Text of the small language of `tutor.trace.expression`."""

Path = Annotated[str, AfterValidator(_path)]
"""A name, or a way from a name: `x`, `net.weight`, `layers[0].bias`."""

Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One text or a list of texts."""


class Body(Model):
    """The arguments of one check."""

    def asks(self) -> tuple[Probe, ...]:
        """The questions that the run must answer for it."""
        return ()

    def says(self) -> str:
        """What it asks of the program, as a sentence without an end."""
        raise NotImplementedError

    def judge(self, evidence: Evidence) -> Outcome:
        """Decide. Raises `Missing` where an answer is missing."""
        raise NotImplementedError

    def rechecks(self) -> tuple[Numeric, ...]:
        """The slopes that must be measured by running again."""
        return ()


class Numeric(Model):
    """A slope to be measured: `loss` at the end, as the leaf `of` moves right after the setup."""

    of: Path
    loss: Expression | None = None

    @property
    def key(self) -> str:
        """What the measured slopes are filed under."""
        return f"{self.of} -> {self.loss or ''}"


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """All of several: the first that fails, else the first undecided, else they hold."""
    for status in ("fails", "undecided"):
        for outcome in outcomes:
            if outcome.status == status:
                return outcome
    wanted = ", ".join(outcome.wanted for outcome in outcomes)
    return Outcome("holds", wanted, ", ".join(outcome.got for outcome in outcomes))
