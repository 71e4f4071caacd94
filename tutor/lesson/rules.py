"""What must be true of a lesson beyond the shape of its data."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

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
    Run,
    Write,
)
from tutor.lesson.versions import BadRange, parse_range


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
    for index, step in enumerate(lesson.steps):
        found += _step(document, ("steps", index), step)
    return found


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
    if isinstance(step, (Run, Predict)):
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
