"""Checks proposed from what was observed: a solution runs, and what is so of it becomes a check."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tutor.attempt import Attempts, Runs
from tutor.attempt.trials import carried
from tutor.explain import findings
from tutor.lesson import AnyStep, Check, Evidence, Lesson
from tutor.lesson.checks import question
from tutor.lesson.checks.evidence import every
from tutor.lesson.checks.functions import during_backward
from tutor.lesson.checks.trouble import printed, root_of
from tutor.lesson.checks.words import shown
from tutor.lesson.compile import solved
from tutor.lesson.walk import bound
from tutor.trace import NONE, Program, Trace

FEW = 16
"""Numbers that are written out at most."""


@dataclass(frozen=True)
class Proposal:
    """One check that holds for the solution, as it is written in a lesson.

    `starter` says whether it also holds for the code that the learner begins with: such a check
    does not tell the two apart.
    """

    text: str
    starter: bool


def record(runs: Runs, lesson: Lesson, step: AnyStep) -> tuple[Proposal, ...]:
    """Run the code of somebody who solved the step, and propose checks."""
    code = solved(step)
    program = Attempts(runs, ()).program(lesson, step, code, carried(lesson, step))
    names = _names(lesson, step, code)
    asked = [
        question(kind, of=of)
        for name in names
        for kind, of in (("tensor", name), ("value", name), ("value", f"{name}.grad"))
    ]
    first = runs.run(_asking(program, asked))
    evidence = Evidence(first, findings(first))
    checks = [(text, Check.model_validate(text)) for text in _candidates(evidence, names)]
    probes = every(check.asks() for _, check in checks)
    again = runs.run(_asking(program, probes))
    starter = None
    if step.starting_code.strip() != code.strip():
        begun = Attempts(runs, ()).program(lesson, step, step.starting_code, carried(lesson, step))
        starter = runs.run(_asking(begun, probes))
    return tuple(
        Proposal(flow(data), starter is not None and _holds(check, starter))
        for data, check in checks
        if _holds(check, again)
    )


def _holds(check: Check, trace: Trace) -> bool:
    return check.judge(Evidence(trace, findings(trace))).holds


def _asking(program: Program, probes: Sequence[Any]) -> Program:
    return msgspec.structs.replace(program, probes=tuple(probes))


def _names(lesson: Lesson, step: AnyStep, code: str) -> list[str]:
    """The names that the setup and the code bind, in the order in which they appear."""
    names: list[str] = []
    for text in (lesson.setup, *carried(lesson, step), code):
        known = bound(text) or frozenset()
        for node in ast.walk(ast.parse(text)):
            name = getattr(node, "id", None)
            if name in known and name not in names:
                names.append(str(name))
    return names


def _candidates(evidence: Evidence, names: Sequence[str]) -> Iterator[Any]:
    trace = evidence.trace
    root = root_of(evidence)
    if trace.raised is None:
        yield {"raises": "none"}
    else:
        yield {"raises": {"kind": root.kind} if root else {}}
    wrong = [f for f in evidence.findings if f.severity != "note"]
    if not wrong:
        yield {"finding": "none"}
    for finding in wrong:
        yield {"finding": {"kind": finding.kind}}
    for name in names:
        yield from _of_tensor(evidence, name)
    lines = [line.strip() for line in printed(evidence).splitlines() if line.strip()]
    if lines:
        yield {"output": {"contains": lines[:5]}}
    hooks = list(during_backward(evidence))
    if hooks:
        yield {"hooks": {"order": hooks}}


def _of_tensor(evidence: Evidence, name: str) -> Iterator[Any]:
    facts = _answer(evidence, "tensor", name)
    if facts is None:
        return
    grad, value = (_answer(evidence, "value", of) for of in (f"{name}.grad", name))
    if facts["is_leaf"] and facts["requires_grad"]:
        if facts["grad_is_none"]:
            yield {"grad": {"of": name, "is": "none"}}
        elif grad is not None:
            told = _told(grad)
            yield {"grad": {"of": name, **(told or {"finite": str(grad["finite"]).lower()})}}
    elif facts["requires_grad"]:
        if value is not None and (told := _told(value)):
            yield {"value": {"of": name, **told}}
        yield from _graph(evidence, name, facts["uid"])
    elif value is not None and (told := _told(value)):
        yield {"value": {"of": name, **told}}
    if facts["version"]:
        yield {"version": {"of": name, "equals": facts["version"]}}


def _answer(evidence: Evidence, kind: str, of: str) -> Mapping[str, Any] | None:
    answer = evidence.trace.answers.get(question(kind, of=of).id)
    if answer is None or answer.status != "ok" or not isinstance(answer.data, dict):
        return None
    return answer.data


def _told(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The numbers of a small tensor as an expression; None where they are many or not finite."""
    flat = value.get("flat")
    if flat is None or not flat or len(flat) > FEW or not value["finite"]:
        return None
    return {"equals": shown(value)}


def _graph(evidence: Evidence, name: str, uid: int) -> Iterator[Any]:
    """A way from the tensor's node to each leaf that has a name."""
    state = evidence.state
    tensor = state.tensors.get(uid)
    node = state.nodes.get(tensor.meta.node) if tensor is not None else None
    if node is None or tensor is None:
        return
    for below in state.walk(tensor.meta.node):
        leaf = below.event.leaf
        known = next(iter(state.names_of(leaf)), None) if leaf != NONE else None
        if known is not None:
            yield {"graph": {"of": name, "path": [node.name, f"leaf {known}"]}}


def flow(data: Any) -> str:
    """Data as YAML in brackets, quoted only where it must be."""
    if isinstance(data, dict):
        return "{" + ", ".join(f"{key}: {flow(value)}" for key, value in data.items()) + "}"
    if isinstance(data, (list, tuple)):
        return "[" + ", ".join(map(flow, data)) + "]"
    text = str(data)
    plain = text.replace("_", "a").replace("-", "a").replace(".", "a").replace(" ", "a")
    if plain.isalnum() and text[:1].isalnum() and text == text.strip() and text.isascii():
        return text
    return json.dumps(text, ensure_ascii=False)
