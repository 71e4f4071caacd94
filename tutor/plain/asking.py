"""The answers a step asks for, taken one line at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tutor.attempt import Answer
from tutor.lesson import AnyStep, ChoiceStep, Fill, Order, Predict
from tutor.plain.prose import numbered, wrapped

SURE = "How sure are you?"
_SURE = ("It is a guess", "Fairly sure", "Certain")

_ASSIGNED = re.compile(r"^([a-z][a-z0-9_]*)\s*=(?!=)\s*(.*)$")


class BadAnswer(Exception):
    """The line is no answer; the text says what would be one."""


@dataclass(slots=True)
class Asking:
    """What a step asks, and what has been answered so far."""

    step: AnyStep
    given: dict[str, str] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()
    sure: int | None = None

    @property
    def asks(self) -> bool:
        """Whether the step wants an answer at all."""
        return isinstance(self.step, (Predict, ChoiceStep, Fill, Order))

    @property
    def answer(self) -> Answer:
        """The whole answer, None while something is missing."""
        step = self.step
        if isinstance(step, Predict):
            complete = len(self.given) == len(step.asked) and (not step.sure or self.sure)
            return dict(self.given) if complete else None
        if isinstance(step, ChoiceStep):
            return tuple(step.choices[n - 1].id for n in self.numbers) or None
        if isinstance(step, Fill):
            return dict(self.given) if len(self.given) == len(step.blanks) else None
        if isinstance(step, Order):
            return self.numbers or None
        return None

    def lines(self) -> list[str]:
        """What is asked now."""
        step = self.step
        if self.answer is not None:
            return []
        if isinstance(step, Predict):
            return self._predict(step)
        if isinstance(step, ChoiceStep):
            options = [option.text for option in step.choices]
            return [*_listed(options), "Type the number of your answer; several with spaces."]
        if isinstance(step, Fill):
            missing = [name for name in step.blanks if name not in self.given]
            return [f"Blank {missing[0]}: type what belongs there."]
        if isinstance(step, Order):
            return [*_listed(step.shown), "Type the numbers of the lines in the right order."]
        return []

    def _predict(self, step: Predict) -> list[str]:
        for index, question in enumerate(step.asked, 1):
            if question.id in self.given:
                continue
            head = wrapped(f"Question {index}: {question.text}") if step.questions else []
            return [*head, *_listed([c.text for c in question.choices]), "Type a number."]
        return [SURE, *_listed(_SURE), "Type a number."]

    def take(self, text: str) -> None:
        """Take a line as an answer. Raises `BadAnswer`."""
        step = self.step
        if isinstance(step, Predict):
            for question in step.asked:
                if question.id not in self.given:
                    choice = question.choices[_one(text, len(question.choices)) - 1]
                    self.given[question.id] = choice.id
                    return
            self.sure = _one(text, len(_SURE))
        elif isinstance(step, ChoiceStep):
            self.numbers = tuple(dict.fromkeys(_many(text, len(step.choices))))
        elif isinstance(step, Fill):
            self._fill(step, text)
        elif isinstance(step, Order):
            numbers = _many(text, len(step.shown))
            if len(set(numbers)) != len(numbers):
                raise BadAnswer("Each line can stand in one place only.")
            self.numbers = numbers
        else:
            raise BadAnswer("")

    def _fill(self, step: Fill, text: str) -> None:
        named = _ASSIGNED.match(text)
        if named is not None and named[1] in step.blanks:
            self.given[named[1]] = named[2]
            return
        missing = [name for name in step.blanks if name not in self.given]
        if not missing:
            names = ", ".join(step.blanks)
            raise BadAnswer(f"To change a blank, type its name and =. The blanks: {names}.")
        self.given[missing[0]] = text

    def again(self) -> None:
        """Forget what was answered."""
        self.given.clear()
        self.numbers = ()
        self.sure = None


def _listed(items: tuple[str, ...] | list[str]) -> list[str]:
    lines: list[str] = []
    for number, item in enumerate(items, 1):
        first, *rest = wrapped(item, "   ")
        lines += [f"{number}. {first.lstrip()}", *rest]
    return lines


def _one(text: str, most: int) -> int:
    numbers = _many(text, most)
    if len(numbers) != 1:
        raise BadAnswer(f"One number is needed, from 1 to {most}.")
    return numbers[0]


def _many(text: str, most: int) -> tuple[int, ...]:
    words = text.replace(",", " ").split()
    if not words or not all(word.isascii() and word.isdigit() for word in words):
        raise BadAnswer(f"A number from 1 to {most} is needed, or a command. help lists them.")
    numbers = tuple(int(word) for word in words)
    wrong = [number for number in numbers if not 1 <= number <= most]
    if wrong:
        raise BadAnswer(f"There is no number {wrong[0]}; they go from 1 to {most}.")
    return numbers


def solution_of(step: AnyStep) -> list[str]:
    """One way to solve a step, as lines; empty where there is nothing to solve."""
    if step.solution is not None:
        return ["One way:", *numbered(step.solution)]
    if isinstance(step, Predict):
        texts = [
            next(choice.text for choice in question.choices if choice.id == question.answer)
            for question in step.asked
        ]
        return [line for text in texts for line in wrapped(f"The answer: {text}")]
    if isinstance(step, Fill):
        return [f"{name} = {blank.answer}" for name, blank in step.blanks.items()]
    if isinstance(step, Order):
        return ["One way:", *numbered("\n".join(step.lines))]
    options = getattr(step, "choices", ())
    return [line for option in options if option.right for line in wrapped(option.text)]


def text_of(answer: Answer, sure: int | None) -> str:
    """An answer as one line of text, for the record of what was done."""
    if answer is None:
        return ""
    if isinstance(answer, dict):
        text = ", ".join(f"{key}: {value}" for key, value in answer.items())
    elif isinstance(answer, tuple):
        text = " ".join(map(str, answer))
    else:
        text = str(answer)
    return text if sure is None else f"{text} (sure: {sure})"
