"""Questions under the code: choices to pick, lines to order, and the two answers side by side."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.prose import inline, prose_rows
from tutor.app.model.rows import BLANK, Row, Span, Spans, width_of, wrap

if TYPE_CHECKING:
    from tutor.attempt.verdict import Answer, ChoiceResult, QuestionResult, Verdict
    from tutor.lesson.steps import AnyStep, Order

SURE = (("guess", "a guess"), ("fairly", "fairly sure"), ("certain", "certain"))
"""Answers to "how sure are you?"."""

BESIDE = 44
"""Cells from which two answers stand side by side."""

Picked = Mapping[str, tuple[str, ...]]
"""Question id to the ids picked there."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question; `many` allows several picks, an empty `text` is that of the step."""

    id: str
    text: str
    options: tuple[tuple[str, str], ...]
    many: bool = False


def asks(step: AnyStep) -> tuple[Ask, ...]:
    """The questions of a step (none for a step that asks nothing)."""
    if step.kind == "predict":
        alone = len(step.asked) == 1
        found = [
            Ask(q.id, "" if alone else q.text, tuple((c.id, c.text) for c in q.choices))
            for q in step.asked
        ]
        if step.sure:
            found.append(Ask("sure?", "How sure are you?", SURE))
        return tuple(found)
    if step.kind == "choice":
        many = sum(option.right for option in step.choices) > 1
        return (Ask(step.id, "", tuple((o.id, o.text) for o in step.choices), many),)
    return ()


def answer_of(step: AnyStep, picked: Picked) -> Answer:
    """What is handed in: None while a question is still open."""
    questions = [ask for ask in asks(step) if ask.id != "sure?"]
    if not questions or any(not picked.get(ask.id) for ask in asks(step)):
        return None
    if step.kind == "choice":
        return picked[step.id]
    if len(questions) == 1:
        return picked[questions[0].id][0]
    return {ask.id: picked[ask.id][0] for ask in questions}


def pick(step: AnyStep, picked: Picked, question: str, option: str) -> Picked:
    """The picks after this one: it replaces the other, or joins and leaves where many may be."""
    ask = next(a for a in asks(step) if a.id == question)
    old = picked.get(question, ())
    if not ask.many:
        new: tuple[str, ...] = (option,)
    elif option in old:
        new = tuple(o for o in old if o != option)
    else:
        chosen = {*old, option}
        new = tuple(o for o, _ in ask.options if o in chosen)
    return {**picked, question: new}


def numbered(step: AnyStep, number: int) -> tuple[str, str] | None:
    """The (question, option) with this number, counted through all questions from 1."""
    flat = [(ask.id, option) for ask in asks(step) for option, _ in ask.options]
    return flat[number - 1] if 0 < number <= len(flat) else None


def choice_rows(
    step: AnyStep,
    picked: Picked,
    verdict: Verdict | None,
    width: int,
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """The choices, or once the run has decided, what was said and what is."""
    if verdict is not None and verdict.questions:
        return list(decided_rows(verdict, width, glyphs))
    judged = _judged(step, picked, verdict)
    rows: list[Row] = []
    number = 0
    for ask in asks(step):
        if rows:
            rows.append(BLANK)
        if ask.text:
            rows += prose_rows(ask.text, width)
        for option, text in ask.options:
            number += 1
            chosen = option in picked.get(ask.id, ())
            rows += _option(ask, option, text, number, chosen, width, glyphs)
            if option in judged:
                rows += _remark(judged[option], width, glyphs)
    if judged and verdict is not None:
        return rows + list(_outcome(verdict, judged, width, glyphs))
    ready = answer_of(step, picked) is not None
    does = "commit and run" if step.runs else "commit"
    if ready:
        rows.append(Row((Span(f"[Enter] {does}", "link"),), action="commit", key="commit"))
    else:
        which = "1" if number == 1 else "1 or 2" if number == 2 else f"a number from 1 to {number}"
        words = f"Press {which} to pick, then Enter to {does}."
        rows += [Row(line) for line in wrap((Span(words, "dim"),), width)]
    return rows


def _option(
    ask: Ask, option: str, text: str, number: int, chosen: bool, width: int, glyphs: Glyphs
) -> Iterator[Row]:
    if ask.many:
        sign = glyphs.ticked if chosen else glyphs.unticked
    else:
        sign = glyphs.picked if chosen else glyphs.free
    lead = f"{number} "
    spans: Spans = (
        Span(lead, "dim"),
        Span(sign + " ", "name" if chosen else ""),
        *inline(text, "strong" if chosen else ""),
    )
    action = f"pick {ask.id} {option}"
    for part, line in enumerate(wrap(spans, width, " " * (len(lead) + 2))):
        yield Row(line, action=action, key=f"{action} {part}")


def _judged(step: AnyStep, picked: Picked, verdict: Verdict | None) -> Mapping[str, ChoiceResult]:
    """The picks of a question without a run that were judged, and not changed since."""
    if verdict is None or step.kind != "choice":
        return {}
    chosen = {choice.id: choice for choice in verdict.choices if choice.chosen}
    return chosen if set(chosen) == set(picked.get(step.id, ())) else {}


def _remark(choice: ChoiceResult, width: int, glyphs: Glyphs) -> Iterator[Row]:
    """Whether a pick is right, and what the author says of it."""
    good = choice.status == "holds"
    sign = Span(f"    {glyphs.ok if good else glyphs.bad} ", "good" if good else "bad")
    words = choice.say or ("right" if good else "not this one")
    for line in wrap((sign, *inline(" ".join(words.split()), "dim")), width, "      "):
        yield Row(line)


def _outcome(
    verdict: Verdict, judged: Mapping[str, ChoiceResult], width: int, glyphs: Glyphs
) -> Iterator[Row]:
    """Done, or what to do next; the right answers are not given away."""
    wrong = any(choice.status != "holds" for choice in judged.values())
    if verdict.done:
        sign, words = Span(f"{glyphs.ok} ", "good"), "Right. n goes on."
    elif wrong:
        sign, words = Span(f"{glyphs.mark} ", "warn"), "Not yet. Pick again."
    else:
        sign, words = Span(f"{glyphs.mark} ", "warn"), "Right so far, but these are not all."
    for line in wrap((sign, Span(words, "strong")), width, "  "):
        yield Row(line, key="outcome")


def decided_rows(verdict: Verdict, width: int, glyphs: Glyphs = UNICODE) -> Iterator[Row]:
    """For each question the learner's answer beside what the run made true."""
    single = len(verdict.questions) == 1
    for number, question in enumerate(verdict.questions):
        if number:
            yield BLANK
        if not single:
            yield from prose_rows(question.text, width)
        yield from _decided(question, width, glyphs)


def _decided(question: QuestionResult, width: int, glyphs: Glyphs) -> Iterator[Row]:
    chosen = [c for c in question.choices if c.chosen]
    true = [c for c in question.choices if c.status == "holds"]
    sign = glyphs.ok if question.right else glyphs.bad
    yours = _answer_text("You said", chosen, sign, bool(question.right), width, glyphs)
    ran = any(c.checks for c in question.choices)
    label = "The run says" if ran else "Right is"
    truth = _answer_text(label, true, glyphs.ok, True, width, glyphs)
    if width >= BESIDE:
        yield from _beside(yours, truth, width)
    else:
        yield from (Row(line) for line in yours)
        yield from (Row(line) for line in truth)
    for choice in chosen:
        if choice.say:
            yield from prose_rows(choice.say, width)


def _answer_text(
    label: str, choices: list[ChoiceResult], sign: str, good: bool, width: int, glyphs: Glyphs
) -> list[Spans]:
    """A label and the answers under it, in half of the width where there is room for two."""
    room = (width - 3) // 2 if width >= BESIDE else width
    lines: list[Spans] = [(Span(label, "dim"),)]
    if not choices:
        text = "nothing" if label == "You said" else "none of these answers"
        return [*lines, (Span(f"  {text}", "warn"),)]
    for choice in choices:
        lead = Span(f"{sign} ", "good" if good else "bad")
        lines += wrap((lead, *inline(choice.text, "strong")), room, "  ")
    return lines


def _beside(left: list[Spans], right: list[Spans], width: int) -> Iterator[Row]:
    half = (width - 3) // 2
    for index in range(max(len(left), len(right))):
        one = left[index] if index < len(left) else ()
        other = right[index] if index < len(right) else ()
        yield Row((*one, Span(" " * (half - width_of(one)) + " │ ", "dim"), *other))


# -- lines to put in order ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Numbers of lines (from 1, through `lines` and then `extra`): those in, and those out."""

    inside: tuple[int, ...]
    outside: tuple[int, ...] = ()

    @property
    def every(self) -> tuple[int, ...]:
        return self.inside + self.outside

    def moved(self, index: int, by: int) -> Arrangement:
        """The line at `index` of `every` moved up or down; past the last inside it goes out."""
        order = list(self.every)
        to = index + by
        border = len(self.inside)
        if by > 0 and index == border - 1:
            return Arrangement(tuple(order[: border - 1]), tuple(order[border - 1 :]))
        if by < 0 and index == border and self.outside:
            return Arrangement(tuple(order[: border + 1]), tuple(order[border + 1 :]))
        if not 0 <= to < len(order):
            return self
        order[index], order[to] = order[to], order[index]
        return Arrangement(tuple(order[:border]), tuple(order[border:]))


def shuffled(step: Order) -> Arrangement:
    """All lines in an order that is not the given one, the same each time."""
    count = len(step.lines) + len(step.extra)
    numbers = list(range(1, count + 1))
    random.Random(step.id).shuffle(numbers)
    if numbers[: len(step.lines)] == sorted(numbers[: len(step.lines)]):
        numbers.reverse()
    return Arrangement(tuple(numbers))


def order_rows(step: Order, order: Arrangement, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """The lines as they stand, and under a rule those that are left out."""
    every = step.lines + step.extra
    rows: list[Row] = []
    for index, number in enumerate(order.every):
        if index == len(order.inside):
            rows.append(Row((Span(f"{glyphs.rail * 3} left out", "dim"),)))
        outside = index >= len(order.inside)
        lead = Span("    " if outside else f"{index + 1:>2}  ", "dim")
        code = every[number - 1].rstrip("\n")
        for part, text in enumerate(code.split("\n")):
            front = lead if part == 0 else Span("    ")
            spans = (front, Span(text, "dim" if outside else "code"))
            rows += [
                Row(line, action=f"line {index}", key=f"line {number} {part}")
                for line in wrap(spans, width, "      ")
            ]
    hint = "alt+up and alt+down (or K and J) move a line; down from the last place leaves it out."
    return [*rows, *(Row(line) for line in wrap((Span(hint, "dim"),), width))]
