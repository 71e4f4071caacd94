"""Warnings: what no rule forbids, and what makes a lesson worse for those who take it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tutor.lesson import (
    Break,
    ChoiceStep,
    Fault,
    Fill,
    Fix,
    Lesson,
    Order,
    Pack,
    Predict,
    Read,
    Write,
)
from tutor.lesson.document import Document, Loc
from tutor.lesson.prerequisites import first_teachers
from tutor.lesson.steps import AnyStep
from tutor.lesson.walk import bound, checks_at, name_of, names_in, texts_of

RULES = {
    "W701": "single-hint",
    "W702": "no-hint",
    "W703": "long-read",
    "W704": "untaught-concept",
    "W705": "unbound-name",
    "W706": "same-choice",
    "W707": "open-backtick",
    "W708": "tight-tree",
    "W709": "text-only",
    "W710": "same-title",
}
"""The rules of advice: code to name."""

WORDS_AT_ONCE = 100
"""Words after which the learner should have something to do."""


def advice(pack: Pack) -> Iterator[Fault]:
    """Warnings about a pack's lessons."""
    titles: dict[str, str] = {}
    lessons = {**pack.lessons, **pack.faulty}
    for lesson_id, lesson in lessons.items():
        document = pack.documents[lesson_id]
        other = titles.setdefault(lesson.title.casefold(), lesson_id)
        if other != lesson_id and not lesson.title.startswith("TODO"):
            yield _fault(document, ("title",), "W710", f"{other} has the same title")
        yield from of_lesson(lesson, document)
    taught = first_teachers(lessons)
    if pack.glossary is not None:
        for concept in pack.concepts:
            if concept not in taught:
                message = f'no lesson teaches "{concept}"'
                help = "add it to a lesson's teaches:, or take it out"
                yield _fault(pack.glossary, ("concepts", concept), "W704", message, help, key=True)


def of_lesson(lesson: Lesson, document: Document) -> Iterator[Fault]:
    """Warnings about one lesson."""
    yield from _long_reads(lesson, document)
    for index, step in enumerate(lesson.steps):
        for rule in _RULES:
            yield from rule(lesson, step, ("steps", index), document)


def _fault(
    document: Document, loc: Loc, code: str, message: str, help: str = "", *, key: bool = False
) -> Fault:
    node = document.node(loc, key=key)
    line, column, width = (node.line, node.column, node.width) if node else (0, 0, 1)
    return document.text.fault(line, column, (code, RULES[code]), message, help=help, width=width)


def _words(text: str) -> int:
    return len(re.findall(r"\w+", text))


def _long_reads(lesson: Lesson, document: Document) -> Iterator[Fault]:
    words = 0
    for index, step in enumerate(lesson.steps):
        words += _words(step.text)
        if words > WORDS_AT_ONCE:
            message = f"{words} words are read before there is something to do"
            help = f"cut the text, or let the learner try something first ({WORDS_AT_ONCE} at most)"
            yield _fault(document, ("steps", index, "text"), "W703", message, help)
            words = 0
        if not isinstance(step, Read):
            words = _words(step.after)


def _hints(lesson: Lesson, step: AnyStep, loc: Loc, document: Document) -> Iterator[Fault]:
    if not isinstance(step, (Fix, Write, Break, Fill, Order)):
        return
    if not step.hints:
        message = f'step "{step.id}" has no hint'
        help = "give hints:, from a nudge to nearly the answer"
        yield _fault(document, loc, "W702", message, help)
    elif len(step.hints) == 1 and isinstance(step, (Fix, Write)):
        message = f'step "{step.id}" has one hint; who needs a second gets the solution instead'
        yield _fault(document, (*loc, "hints"), "W701", message, key=True)


def _names(lesson: Lesson, step: AnyStep, loc: Loc, document: Document) -> Iterator[Fault]:
    if not step.runs:
        return
    codes = [lesson.setup, *codes_of(step)]
    if lesson.carry:
        for earlier in lesson.steps[: lesson.steps.index(step)]:
            codes += codes_of(earlier)
    known: set[str] = set()
    for code in codes:
        names = bound(code)
        if names is None:
            return
        known |= names
    for below, check in checks_at(step):
        for place, text in texts_of(below, check):
            for name in sorted(names_in(text) - known):
                message = f'nothing in this step makes a "{name}", so this is never decided'
                help = f"names there are: {', '.join(sorted(known - {'torch'})) or 'none'}"
                yield _fault(document, (*loc, *place), "W705", message, help)


def codes_of(step: AnyStep) -> list[str]:
    """Every code that a step's author wrote down."""
    codes = [step.solution or "", *step.also, *(m.example or "" for m in step.mistakes)]
    if isinstance(step, Fill):
        codes.append(step.filled({name: blank.answer for name, blank in step.blanks.items()}))
    elif isinstance(step, Order):
        codes.append("\n".join(step.lines))
    else:
        codes.append(step.starting_code)
    return [code for code in codes if code.strip()]


def _choices(lesson: Lesson, step: AnyStep, loc: Loc, document: Document) -> Iterator[Fault]:
    rows: list[tuple[Loc, list[str]]] = []
    if isinstance(step, ChoiceStep):
        rows.append(((*loc, "choices"), [option.text for option in step.choices]))
    elif isinstance(step, Predict):
        for number, question in enumerate(step.asked):
            below: Loc = (*loc, "questions", number) if step.questions else loc
            rows.append(((*below, "choices"), [choice.text for choice in question.choices]))
    for place, texts in rows:
        seen: set[str] = set()
        for index, text in enumerate(texts):
            if text.strip().casefold() in seen:
                message = "another choice has the same text"
                yield _fault(document, (*place, index, "text"), "W706", message)
            seen.add(text.strip().casefold())


def _backticks(lesson: Lesson, step: AnyStep, loc: Loc, document: Document) -> Iterator[Fault]:
    for place, text in texts_shown(step):
        if text.count("`") % 2:
            message = "a backtick is not closed, so code runs into the words after it"
            yield _fault(document, (*loc, *place), "W707", message)


def texts_shown(step: AnyStep) -> Iterator[tuple[Loc, str]]:
    """The texts of a step that a learner reads, with their places below the step."""
    yield ("text",), step.text
    yield ("after",), step.after
    for index, mistake in enumerate(step.mistakes):
        yield ("mistakes", index, "say"), mistake.say
    for index, hint in enumerate(step.hints):
        yield ("hints", index), hint.say
    if isinstance(step, ChoiceStep):
        for index, option in enumerate(step.choices):
            yield ("choices", index, "text"), option.text
            yield ("choices", index, "say"), option.say
    elif isinstance(step, Predict):
        for number, question in enumerate(step.asked):
            below: Loc = ("questions", number) if step.questions else ()
            if step.questions:
                yield (*below, "text"), question.text
            for index, choice in enumerate(question.choices):
                yield (*below, "choices", index, "text"), choice.text
                yield (*below, "choices", index, "say"), choice.say


def _trees(lesson: Lesson, step: AnyStep, loc: Loc, document: Document) -> Iterator[Fault]:
    if not isinstance(step, (Fix, Write)):
        return
    for below, check in checks_at(step):
        if below[0] == "checks" and check.graph is not None and check.graph.tree is not None:
            message = "a whole tree refuses answers that are right in another way"
            help = "path: names the nodes that matter and allows others between them"
            yield _fault(document, (*loc, *below, "graph", "tree"), "W708", message, help)


def _effects(lesson: Lesson, step: AnyStep, loc: Loc, document: Document) -> Iterator[Fault]:
    if isinstance(step, (Fix, Write, Fill, Order)) and step.checks:
        names = {name_of(check) for _, check in checks_at(step) if _[0] == "checks"}
        if names <= {"source", "not", "all", "any"}:
            message = f'"{step.id}" is decided by its text alone'
            help = "check what the program does; source: is for what it must not use"
            yield _fault(document, (*loc, "checks"), "W709", message, help, key=True)


_RULES: tuple[Callable[[Lesson, AnyStep, Loc, Document], Iterator[Fault]], ...] = (
    _hints,
    _names,
    _choices,
    _backticks,
    _trees,
    _effects,
)
