"""Checks on tensors: their gradient, value, flags, version and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tutor.lesson.checks.body import Body, Expression, Numeric, Path, together
from tutor.lesson.checks.evidence import (
    Evidence,
    Missing,
    Outcome,
    decided,
    question,
)
from tutor.lesson.checks.words import listed, number, shown, yes
from tutor.lesson.model import Model
from tutor.trace import Probe

RTOL = 1e-4
ATOL = 1e-6


def needs_one(model: Model, names: Sequence[str]) -> None:
    """Raise ValueError unless at least one of these fields was given."""
    if not model.model_fields_set & set(names):
        asked = [(type(model).model_fields[name].alias or name) for name in names]
        raise ValueError(f"this asks nothing; give {listed(asked, 'or')}")


def _equal(evidence: Evidence, probe: Probe, of: str, wanted: str) -> Outcome:
    data = evidence.ask(probe)
    left, right = data["left"], data["right"]
    worth = shown(right)
    text = (
        f"`{of}` is {worth}"
        if wanted.replace(" ", "") == worth.replace(" ", "")
        else (f"`{of}` is `{wanted}`, which is {worth}")
    )
    got = shown(left)
    if not data["same_shape"]:
        got += f", of shape {left['shape']} instead of {right['shape']}"
    return decided(bool(data["equal"]), text, got)


class NumericLoss(Model):
    """`loss` is computed at the end; without one, it is the sum of the backward's roots."""

    loss: Expression | None = Field(None, description="What is measured, at the end of the run.")


class Grad(Body):
    """The gradient that a leaf, or a tensor that retains one, has at the end."""

    of: Path = Field(description="The leaf, or the tensor that retains its gradient.")
    equals: Expression | None = Field(
        None, description="What the gradient must be; `start.x` is what the setup made."
    )
    nothing: Literal["none"] | None = Field(None, alias="is", description="There is no gradient.")
    finite: bool | None = Field(None, description="Whether all its numbers are finite.")
    same_as: Path | None = Field(
        None, description="Another tensor that must have the same gradient."
    )
    numeric: NumericLoss | None = Field(
        None, description="Whether it agrees with the slope that is measured by running again."
    )
    rtol: float = Field(RTOL, description="Allowed difference, relative.")
    atol: float = Field(ATOL, description="Allowed difference, absolute.")

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        asked = {"equals", "nothing", "finite", "same_as", "numeric"} & self.model_fields_set
        if len(asked) != 1:
            raise ValueError('give exactly one of "equals", "is", "finite", "same_as", "numeric"')
        return self

    def asks(self) -> tuple[Probe, ...]:
        if self.nothing:
            return (question("tensor", of=self.of),)
        if self.finite is not None:
            return (question("value", of=self.grad),)
        if self.numeric is not None:
            return (question("tensor", of=self.of),)
        return (self._comparison(),)

    def rechecks(self) -> tuple[Numeric, ...]:
        return () if self.numeric is None else (Numeric(of=self.of, loss=self.numeric.loss),)

    @property
    def grad(self) -> str:
        """The path of the gradient."""
        return f"{self.of}.grad"

    def _comparison(self) -> Probe:
        other = self.equals if self.equals is not None else f"{self.same_as}.grad"
        return question("compare", left=self.grad, right=other, rtol=self.rtol, atol=self.atol)

    def says(self) -> str:
        if self.nothing:
            return f"`{self.grad}` is None"
        if self.finite is not None:
            return f"`{self.grad}` is {yes(self.finite, 'finite', 'not finite')}"
        if self.numeric is not None:
            return f"`{self.grad}` agrees with the slope measured by running again"
        return f"`{self.grad}` is `{self.equals or f'{self.same_as}.grad'}`"

    def judge(self, evidence: Evidence) -> Outcome:
        if self.nothing:
            none = bool(evidence.tensor(self.of)["grad_is_none"])
            return decided(none, f"`{self.grad}` is None", yes(none, "None", "a gradient"))
        if self.finite is not None:
            value = evidence.ask(question("value", of=self.grad))
            return decided(bool(value["finite"]) == self.finite, self.says(), shown(value))
        if self.numeric is not None:
            return self._judge_numeric(evidence)
        wanted = self.equals if self.equals is not None else f"{self.same_as}.grad"
        return _equal(evidence, self._comparison(), self.grad, wanted)

    def _judge_numeric(self, evidence: Evidence) -> Outcome:
        if evidence.tensor(self.of)["grad_is_none"]:
            raise Missing(f"`{self.grad}` is None")
        measured = (evidence.slopes or {}).get(self.rechecks()[0].key)
        if not measured:
            raise Missing("the slope could not be measured by running again")
        for found, claimed in measured:
            if not abs(found - claimed) <= max(self.atol, 1e-3 * max(abs(found), abs(claimed))):
                wanted = f"a slope of {number(found)}, as measured by moving `{self.of}` a little"
                return Outcome("fails", wanted, f"{number(claimed)} from the gradient")
        return Outcome("holds", self.says(), f"{len(measured)} directions agree")


class Value(Body):
    """What an expression is worth at the end."""

    of: Expression = Field(description="What is looked at.")
    equals: Expression | None = Field(None, description="What it must be worth.")
    shape: tuple[int, ...] | None = Field(None, description="Its shape.")
    dtype: str | None = Field(None, description="Its dtype, like float32.")
    finite: bool | None = Field(None, description="Whether all its numbers are finite.")
    rtol: float = Field(RTOL, description="Allowed difference, relative.")
    atol: float = Field(ATOL, description="Allowed difference, absolute.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        needs_one(self, ("equals", "shape", "dtype", "finite"))
        return self

    def asks(self) -> tuple[Probe, ...]:
        probes = [] if self.equals is None else [self._comparison()]
        if self.shape is not None or self.dtype is not None or self.finite is not None:
            probes.append(question("value", of=self.of))
        return tuple(probes)

    def _comparison(self) -> Probe:
        return question("compare", left=self.of, right=self.equals, rtol=self.rtol, atol=self.atol)

    def says(self) -> str:
        parts = []
        if self.equals is not None:
            parts.append(f"is `{self.equals}`")
        if self.shape is not None:
            parts.append(f"has shape {list(self.shape)}")
        if self.dtype is not None:
            parts.append(f"has dtype {self.dtype}")
        if self.finite is not None:
            parts.append(f"is {yes(self.finite, 'finite', 'not finite')}")
        return f"`{self.of}` {listed(parts)}"

    def judge(self, evidence: Evidence) -> Outcome:
        outcomes = []
        if self.equals is not None:
            outcomes.append(_equal(evidence, self._comparison(), self.of, self.equals))
        if len(self.asks()) > len(outcomes):
            value = evidence.ask(question("value", of=self.of))
            outcomes += self._described(value)
        return together(outcomes)

    def _described(self, value: dict[str, Any]) -> list[Outcome]:
        outcomes = []
        if self.shape is not None:
            got = list(value["shape"])
            wanted = f"`{self.of}` has shape {list(self.shape)}"
            outcomes.append(decided(got == list(self.shape), wanted, f"shape {got}"))
        if self.dtype is not None:
            dtype = self.dtype.removeprefix("torch.")
            wanted = f"`{self.of}` has dtype {dtype}"
            outcomes.append(decided(value["dtype"] == dtype, wanted, f"dtype {value['dtype']}"))
        if self.finite is not None:
            wanted = f"`{self.of}` is {yes(self.finite, 'finite', 'not finite')}"
            outcomes.append(decided(bool(value["finite"]) == self.finite, wanted, shown(value)))
        return outcomes


_FLAGS = {
    "requires_grad": ("requires grad", "does not require grad"),
    "is_leaf": ("is a leaf", "is not a leaf"),
    "retains_grad": ("retains its gradient", "does not retain its gradient"),
    "is_inference": ("is an inference tensor", "is not an inference tensor"),
}


class Flags(Body):
    """What torch says of a tensor."""

    of: Path = Field(description="The tensor.")
    requires_grad: bool | None = Field(None, description="Whether it requires grad.")
    is_leaf: bool | None = Field(None, description="Whether it is a leaf.")
    retains_grad: bool | None = Field(None, description="Whether it retains its gradient.")
    is_inference: bool | None = Field(None, description="Whether it was made in inference mode.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        needs_one(self, tuple(_FLAGS))
        return self

    @property
    def _wanted(self) -> dict[str, bool]:
        return {name: flag for name in _FLAGS if (flag := getattr(self, name)) is not None}

    def asks(self) -> tuple[Probe, ...]:
        return (question("tensor", of=self.of),)

    def says(self) -> str:
        return f"`{self.of}` {listed([_FLAGS[n][not flag] for n, flag in self._wanted.items()])}"

    def judge(self, evidence: Evidence) -> Outcome:
        facts = evidence.tensor(self.of)
        return together(
            [
                decided(
                    bool(facts[name]) == flag,
                    f"`{self.of}` {_FLAGS[name][not flag]}",
                    f"it {_FLAGS[name][not facts[name]]}",
                )
                for name, flag in self._wanted.items()
            ]
        )


class Version(Body):
    """What the version counter of a tensor reads, or how far it moved, or who shares it."""

    of: Path = Field(description="The tensor.")
    equals: int | None = Field(None, description="What its version counter reads.")
    bumped_by: int | None = Field(
        None, description="How far it moved since the setup, or since the tensor was made."
    )
    same_counter_as: Path | None = Field(None, description="A tensor that shares the counter.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        needs_one(self, ("equals", "bumped_by", "same_counter_as"))
        return self

    def asks(self) -> tuple[Probe, ...]:
        names = [self.of, *([self.same_counter_as] if self.same_counter_as else [])]
        return tuple(question("tensor", of=name) for name in names)

    def says(self) -> str:
        parts = []
        if self.equals is not None:
            parts.append(f"the version of `{self.of}` reads {self.equals}")
        if self.bumped_by is not None:
            parts.append(f"the version of `{self.of}` moves by {self.bumped_by}")
        if self.same_counter_as is not None:
            parts.append(f"`{self.of}` shares its version counter with `{self.same_counter_as}`")
        return listed(parts)

    def judge(self, evidence: Evidence) -> Outcome:
        facts = evidence.tensor(self.of)
        outcomes = []
        if facts["version"] is None:
            raise Missing(f"`{self.of}` is an inference tensor, which has no version counter")
        if self.equals is not None:
            wanted = f"the version of `{self.of}` reads {self.equals}"
            outcomes.append(
                decided(facts["version"] == self.equals, wanted, f"version {facts['version']}")
            )
        if self.bumped_by is not None:
            moved = self._moved(evidence, facts)
            wanted = f"the version of `{self.of}` moves by {self.bumped_by}"
            outcomes.append(decided(moved == self.bumped_by, wanted, f"it moved by {moved}"))
        if self.same_counter_as is not None:
            mine = evidence.traced(self.of).meta.counter
            other = evidence.traced(self.same_counter_as).meta.counter
            got = yes(mine == other, "they share one", "each has its own")
            wanted = f"`{self.of}` and `{self.same_counter_as}` share one version counter"
            outcomes.append(decided(mine == other, wanted, got))
        return together(outcomes)

    def _moved(self, evidence: Evidence, facts: dict[str, Any]) -> int:
        """How far the counter moved since the setup, or since the tensor's birth."""
        if facts["start_version"] is not None:
            return int(facts["version"] - facts["start_version"])
        tensor = evidence.traced(self.of)
        counter = evidence.state.counters.get(tensor.meta.counter)
        if counter is None or counter.missed:
            raise Missing(f"the run did not keep every write to `{self.of}`")
        return sum(w.after - w.before for w in counter.writes if w.moment > tensor.moment)


class Storage(Body):
    """Which tensors lie in the same memory."""

    same: tuple[Path, Path] | None = Field(
        None, description="Two tensors that lie in the same memory."
    )
    of: Path | None = Field(None, description="A tensor that is a view.")
    view_of: Path | None = Field(None, description="The tensor that it is a view of.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if (self.same is None) == (self.view_of is None) or (
            (self.of is None) != (self.view_of is None)
        ):
            raise ValueError('give "same: [a, b]", or "of" together with "view_of"')
        return self

    def asks(self) -> tuple[Probe, ...]:
        names = self.same or (self.of, self.view_of)
        return tuple(question("tensor", of=name) for name in names)

    def says(self) -> str:
        if self.same is not None:
            return f"`{self.same[0]}` and `{self.same[1]}` lie in the same memory"
        return f"`{self.of}` is a view of `{self.view_of}`"

    def judge(self, evidence: Evidence) -> Outcome:
        first, second = (evidence.ask(probe) for probe in self.asks())
        shared = first["storage"] == second["storage"]
        if self.same is not None:
            return decided(shared, self.says(), yes(shared, "the same", "memory of their own"))
        view = shared and first["base"] == second["uid"]
        return decided(view, self.says(), yes(view, "a view", "no view of it"))
