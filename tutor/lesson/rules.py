"""What must be true of a lesson beyond the shape of its data."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from tutor.lesson.checks.tensors import Grad
from tutor.lesson.checks.trouble import FindingCheck, Raises
from tutor.lesson.document import Document, Loc
from tutor.lesson.faults import Fault, did_you_mean
from tutor.lesson.lesson import Lesson
from tutor.lesson.steps import (
    BLANK,
    AnyStep,
    Break,
    Choice,
    ChoiceStep,
    CodeStep,
    Fill,
    Fix,
    Order,
    Predict,
    Read,
    Run,
    Write,
)
from tutor.lesson.versions import BadRange, parse_range
from tutor.lesson.walk import bound, checks_at, name_of, names_in, started, texts_of


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


def faults_of(lesson: Lesson, document: Document, expected_id: str) -> list[Fault]:
    """Every fault of a lesson whose data has the right shape."""
    found: list[Fault] = []
    if lesson.id != expected_id:
        message = f'the file stands at the place of "{expected_id}", its id is "{lesson.id}"'
        found.append(document.fault(("id",), "E210", message, help="change one of the two"))
    try:
        parse_range(lesson.torch)
    except BadRange as error:
        found.append(document.fault(("torch",), "E215", str(error), help='like ">=2.13"'))
    found += _twice(document, ("steps",), lesson.steps)
    found += _twice(document, ("recall",), lesson.recall)
    found += _python(document, ("setup",), lesson.setup)
    found += _earlier_ids(document, lesson.steps)
    for index, step in enumerate(lesson.steps):
        found += _step(document, ("steps", index), step)
        found += _of_setup(document, ("steps", index), lesson.setup, step)
    return found


def _earlier_ids(document: Document, steps: Sequence[AnyStep]) -> Iterator[Fault]:
    """Earlier ids of steps that another step has now, or had too."""
    owners = {step.id: step.id for step in steps}
    for row, step in enumerate(steps):
        for index, earlier in enumerate(step.was):
            owner = owners.setdefault(earlier, step.id)
            if owner != step.id or earlier == step.id:
                message = f'"{earlier}" cannot be an earlier id: it belongs to "{owner}"'
                yield document.fault(("steps", row, "was", index), "E217", message)


def _of_setup(document: Document, loc: Loc, setup: str, step: AnyStep) -> Iterator[Fault]:
    """What checks ask of the setup that it does not make."""
    made = bound(setup)
    if made is None:
        return
    for below, check in checks_at(step):
        asked = [
            ((*loc, *place), name, f"start.{name}")
            for place, text in texts_of(below, check)
            for name in sorted(started(text))
        ]
        if isinstance(check.body, Grad) and check.body.numeric is not None:
            name = min(names_in(check.body.of), default="")
            place = (*loc, *below, "grad", "of")
            asked.append((place, name, f'"numeric" moves {name} right after the setup'))
        for place, name, said in asked:
            if name not in made:
                message = f'{said}: the setup makes no "{name}"'
                yield document.fault(place, "E216", message, help=_made(made))


def _made(names: Iterable[str]) -> str:
    known = sorted(set(names) - {"torch"})
    return f"it makes {', '.join(known)}" if known else "give the lesson a setup: that makes it"


def _lines(document: Document, loc: Loc, step: Run | Predict) -> Iterator[Fault]:
    """Lines that checks speak of and the code does not have."""
    if isinstance(step, Run) and step.editable:
        return
    last = len(step.code.splitlines())
    for below, check in checks_at(step):
        if not isinstance(check.body, (Raises, FindingCheck)):
            continue
        for key in ("at_line", "cause_line"):
            line = getattr(check.body, key, None)
            if line is not None and not 1 <= line <= last:
                message = f"the code has no line {line}"
                place = (*loc, *below, name_of(check), key)
                yield document.fault(place, "E218", message, help=f"its lines are 1 to {last}")


def _step(document: Document, loc: Loc, step: AnyStep) -> Iterator[Fault]:
    yield from _twice(document, (*loc, "mistakes"), step.mistakes)
    if isinstance(step, Predict):
        yield from _predict(document, loc, step)
    elif isinstance(step, ChoiceStep):
        yield from _twice(document, (*loc, "choices"), step.choices)
        if not any(option.right for option in step.choices):
            yield document.fault(
                (*loc, "choices"), "E213", "no choice is right", help="give one of them right: true"
            )
    elif isinstance(step, Fill):
        yield from _fill(document, loc, step)
    if isinstance(step, (Fill, Order, CodeStep)) and not step.checks:
        message = f'nothing decides when "{step.id}" is done'
        yield document.fault(loc, "E213", message, help="give checks:")
    if isinstance(step, (Fix, Write, Break)) and step.solution is None:
        yield document.fault(loc, "E213", f'"{step.id}" has no solution', help="give solution:")
    elif isinstance(step, Order):
        yield from _order(document, loc, step)
    if isinstance(step, (Read, ChoiceStep, Run, Predict)):
        for below, check in checks_at(step):
            if check.agrees is not None:
                message = "there is no solution here that a function could agree with"
                yield document.fault((*loc, *below, "agrees"), "E213", message)
    if isinstance(step, (Run, Predict)):
        yield from _lines(document, loc, step)
        yield from _python(document, (*loc, "code"), step.code)
    yield from _python(document, (*loc, "solution"), step.solution or "")
    for index, other in enumerate(step.also):
        yield from _python(document, (*loc, "also", index), other)


def _predict(document: Document, loc: Loc, step: Predict) -> Iterator[Fault]:
    if step.questions:
        if step.choices or step.answer is not None:
            message = '"questions" and "choices" with "answer" exclude each other'
            yield document.fault((*loc, "questions"), "E213", message)
        yield from _twice(document, (*loc, "questions"), step.questions)
        for index, question in enumerate(step.questions):
            below = (*loc, "questions", index)
            yield from _answer(document, below, question.choices, question.answer)
    elif len(step.choices) < 2 or step.answer is None:
        message = f'"{step.id}" needs "choices" (two or more) and "answer", or "questions"'
        yield document.fault(loc, "E213", message)
    else:
        yield from _answer(document, loc, step.choices, step.answer)


def _answer(
    document: Document, loc: Loc, choices: Sequence[Choice], answer: str
) -> Iterator[Fault]:
    yield from _twice(document, (*loc, "choices"), choices)
    known = [choice.id for choice in choices]
    if answer not in known:
        message = f'no choice is called "{answer}"'
        yield document.fault((*loc, "answer"), "E212", message, help=did_you_mean(answer, known))


def _fill(document: Document, loc: Loc, step: Fill) -> Iterator[Fault]:
    there = set(BLANK.findall(step.code))
    for name in sorted(there - set(step.blanks)):
        message = f"the code has a blank ⟦{name}⟧ without an answer"
        yield document.fault((*loc, "blanks"), "E212", message, help=f"give blanks: {name}:")
    for name in sorted(set(step.blanks) - there):
        message = f"the code has no blank ⟦{name}⟧"
        yield document.fault((*loc, "blanks", name), "E212", message, key=True)
    filled = step.filled({name: blank.answer for name, blank in step.blanks.items()})
    yield from _python(document, (*loc, "code"), filled)


def _order(document: Document, loc: Loc, step: Order) -> Iterator[Fault]:
    known = {line.strip() for line in step.lines}
    for index, line in enumerate(step.extra):
        if line.strip() in known:
            message = "this line is also one of lines:, so no order could tell it apart"
            yield document.fault((*loc, "extra", index), "E219", message)
    try:
        ast.parse("\n".join(step.lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        told = problem.msg if isinstance(problem, SyntaxError) else problem
        message = f'"lines" in this order are not Python: {told}'
        yield document.fault((*loc, "lines"), "E214", message)


def _twice(document: Document, loc: Loc, items: Iterable[_HasId]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        if item.id in first:
            node = document.node((*loc, first[item.id], "id"))
            where = f" at line {node.line + 1}" if node else ""
            message = f'the id "{item.id}" was already given{where}'
            yield document.fault((*loc, index, "id"), "E211", message)
        first.setdefault(item.id, index)


def _python(document: Document, loc: Loc, code: str) -> Iterator[Fault]:
    """A fault where code that must be Python is not."""
    try:
        ast.parse(code)
    except SyntaxError as error:
        line = document.line_inside(loc, error.lineno or 1)
        source = document.text.lines[line] if line < len(document.text.lines) else ""
        indent = len(source) - len(source.lstrip())
        column = indent + max((error.offset or 1) - 1, 0)
        yield document.text.fault(
            line,
            min(column, max(len(source) - 1, 0)),
            ("E214", "bad-python"),
            f'"{loc[-1]}" is not Python: {error.msg}',
        )
    except (ValueError, RecursionError, MemoryError) as problem:
        yield document.fault(loc, "E214", f"this is not Python: {problem}")
