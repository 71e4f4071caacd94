"""Checks on functions: how often they are called, in which order, and what they compute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tutor.lesson.checks.body import Body, Path
from tutor.lesson.checks.evidence import Evidence, Outcome, decided, question, undecided
from tutor.lesson.checks.tensors import ATOL, RTOL, needs_one
from tutor.lesson.checks.words import listed, shown
from tutor.lesson.model import Model
from tutor.trace import Probe
from tutor.trace import events as ev

UNSEEN = "the run was not seen whole"


class Calls(Body):
    """How often a function of the learner's was called."""

    fn: str = Field(description="A function of the learner's.")
    times: int = Field(ge=0, description="How often it is called.")

    def says(self) -> str:
        return f"`{self.fn}` is called {_times(self.times)}"

    def judge(self, evidence: Evidence) -> Outcome:
        frames = {
            event.frame
            for _, event in evidence.trace.of_kind(ev.Enter)
            if event.function in (self.fn, self.fn.split(".")[-1]) and event.file == evidence.file
        }
        if not _whole(evidence):
            return undecided(self.says(), UNSEEN)
        return decided(len(frames) == self.times, self.says(), f"called {_times(len(frames))}")


class Hooks(Body):
    """Which functions of the learner's ran while a backward was going on, and in which order.

    These are hooks, and the backward of a function of one's own; what they call does not count.
    """

    order: tuple[str, ...] | None = Field(
        None, description="The names of the functions, in the order in which they run."
    )
    count: int | None = Field(None, ge=0, description="How many run, one that runs twice twice.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        needs_one(self, ("order", "count"))
        return self

    def says(self) -> str:
        parts = []
        if self.order is not None:
            parts.append(f"runs {_row(self.order)}")
        if self.count is not None:
            parts.append(f"runs {self.count} hook{'s' * (self.count != 1)}")
        return f"the way back {listed(parts)}"

    def judge(self, evidence: Evidence) -> Outcome:
        if not _whole(evidence):
            return undecided(self.says(), UNSEEN)
        ran = tuple(during_backward(evidence))
        holds = self.order in (None, ran) and self.count in (None, len(ran))
        return decided(holds, self.says(), f"it runs {_row(ran)}")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _row(names: tuple[str, ...]) -> str:
    return ", then ".join(names) if names else "no function of yours"


def _whole(evidence: Evidence) -> bool:
    """Whether all that ran is in the trace."""
    skipped = any(True for _ in evidence.trace.of_kind(ev.Skipped))
    return evidence.came_to_an_end and not skipped


def during_backward(evidence: Evidence) -> Iterator[str]:
    """The functions of the learner's that the engine called, in order."""
    passes: set[int] = set()
    inside: set[int] = set()
    for _, event in evidence.trace.numbered():
        if isinstance(event, ev.BackwardStart):
            passes.add(event.run)
        elif isinstance(event, ev.BackwardEnd):
            passes.discard(event.run)
        elif isinstance(event, ev.Enter) and passes:
            if not inside and event.file == evidence.file:
                yield event.function
            inside.add(event.frame)
        elif isinstance(event, ev.Leave):
            inside.discard(event.frame)


# -- a function that must compute what the solution's does ------------------------------------


class Drawn(Model):
    """One argument: a tensor whose numbers are drawn evenly from a range."""

    shape: tuple[Annotated[int, Field(ge=0, le=1000)], ...] = Field(
        (), description="Its shape; a single number without."
    )
    range: tuple[float, float] = Field((-2.0, 2.0), description="Least and greatest number.")


def _name(text: str) -> str:
    if not text.isidentifier():
        raise ValueError(f'"{text}" is no name of a function')
    return text


class Agrees(Body):
    """A function of the learner's computes what the solution's does, and so do its gradients."""

    call: Annotated[str, AfterValidator(_name)] = Field(
        description="The name of the function, in the learner's code and in the solution."
    )
    against: Literal["solution"] = Field(
        "solution", alias="with", description="What it is compared with."
    )
    inputs: dict[Path, Drawn] = Field(
        min_length=1, description="Its arguments, in order, each with a name for messages."
    )
    cases: int = Field(10, ge=1, le=200, description="How many inputs are tried.")
    seed: int = Field(0, description="What they are drawn from.")
    rtol: float = Field(RTOL, description="Allowed difference, relative.")
    atol: float = Field(ATOL, description="Allowed difference, absolute.")

    def asks(self) -> tuple[Probe, ...]:
        return (
            question(
                "agree",
                call=self.call,
                inputs={name: one.model_dump(mode="json") for name, one in self.inputs.items()},
                cases=self.cases,
                seed=self.seed,
                rtol=self.rtol,
                atol=self.atol,
            ),
        )

    def says(self) -> str:
        names = ", ".join(self.inputs)
        return f"`{self.call}({names})` and its gradients agree with the solution"

    def judge(self, evidence: Evidence) -> Outcome:
        data = evidence.ask(self.asks()[0])
        if data["agrees"]:
            return decided(True, self.says(), f"{data['cases']} inputs agree")
        inputs = ", ".join(f"{name} = {shown(x)}" for name, x in data["inputs"].items())
        wanted = f"{data['what']} for {inputs} to be {_side(data['right'])}"
        return decided(False, wanted, _side(data["left"]))


def _side(side: str | Mapping[str, Any]) -> str:
    return side if isinstance(side, str) else shown(side)
