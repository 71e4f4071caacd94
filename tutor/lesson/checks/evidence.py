"""What a check decides from, and what it may say: questions, evidence, outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tutor.explain.finding import Finding
from tutor.lesson.checks.words import because
from tutor.trace import NONE, Probe, State, Trace
from tutor.trace.state import TensorState

Status = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check came to. An undecided one says in `got` what is missing."""

    status: Status
    wanted: str
    got: str

    @property
    def holds(self) -> bool:
        return self.status == "holds"


def decided(holds: bool, wanted: str, got: str) -> Outcome:
    """An outcome that holds or fails."""
    return Outcome("holds" if holds else "fails", wanted, got)


def undecided(wanted: str, missing: str) -> Outcome:
    """An outcome without an answer, and what is missing for one."""
    return Outcome("undecided", wanted, missing)


def question(kind: str, **args: object) -> Probe:
    """A probe whose id is its content, so that equal questions are asked once."""
    text = json.dumps(args, sort_keys=True, ensure_ascii=False)
    return Probe(f"{kind} {text}", kind, args)


class Missing(Exception):
    """A question without an answer: the sentence that says why."""


@dataclass(frozen=True)
class Evidence:
    """Everything a verdict may rest on: the run, what explains it, the answers to questions.

    `slopes` maps a numeric question to (measured, claimed) slopes along each direction.
    """

    trace: Trace
    findings: Sequence[Finding]
    slopes: Mapping[str, Sequence[tuple[float, float]]] | None = None

    @property
    def state(self) -> State:
        """The state at the end of the run."""
        return self.trace.last

    @property
    def source(self) -> str:
        """What the learner wrote."""
        return self.trace.program.main if self.trace.program else ""

    @property
    def file(self) -> str:
        """The name of the learner's file in places."""
        program = self.trace.program
        return program.sources[-1].file if program and program.sources else ""

    @property
    def came_to_an_end(self) -> bool:
        """Whether the program ended by itself: nothing it would have done is missing."""
        return self.trace.outcome in ("ok", "error", "exited")

    @property
    def stopped(self) -> str:
        """In words, why the program did not end by itself."""
        end = self.trace.end
        if end is None:
            return "the run has no end yet"
        if end.message:
            return f"the run did not end by itself: {end.message}"
        return f"the run did not end by itself ({end.outcome})"

    def ask(self, probe: Probe) -> dict[str, Any]:
        """The answer to a question. Raises `Missing`."""
        answer = self.trace.answers.get(probe.id)
        if answer is None:
            raise Missing(
                self.stopped if not self.came_to_an_end else "the run gave no answer to this"
            )
        data = answer.data if isinstance(answer.data, dict) else {}
        if answer.status != "ok":
            raise Missing(because(str(data.get("reason", "")), str(data.get("detail", ""))))
        return data

    def tensor(self, of: str) -> dict[str, Any]:
        """What torch says of the live tensor `of`. Raises `Missing`."""
        return self.ask(question("tensor", of=of))

    def traced(self, of: str) -> TensorState:
        """The tensor `of` in the trace's last state. Raises `Missing`."""
        uid = self.tensor(of).get("uid", NONE)
        tensor = self.state.tensors.get(uid)
        if tensor is None:
            raise Missing(f"the run kept no record of `{of}`")
        return tensor


def every(probes: Iterable[Iterable[Probe]]) -> tuple[Probe, ...]:
    """Questions of several checks, each once, in order."""
    return tuple({probe.id: probe for group in probes for probe in group}.values())
