"""The nine kinds of step, and what each of them holds."""

from __future__ import annotations

import random
import re
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from tutor.lesson.checks import Check
from tutor.lesson.model import Kebab, Model, Words

Pane = Literal["graph", "tensors", "versions", "output", "explanation"]

BLANK = re.compile(r"⟦([a-z][a-z0-9_]*)⟧")
"""A blank in the code of a `fill` step: ⟦name⟧."""


class Mistake(Model):
    """A wrong idea that people have: recognised by checks, answered by a sentence."""

    id: Kebab
    when: tuple[Check, ...] = Field(min_length=1, description="Checks that all hold for it.")
    say: Words = Field(description="What to tell the learner who made it.")
    example: str | None = Field(None, description="Code that makes it; proved to trigger it.")


class Hint(Model):
    """One hint: plain text, or `say` with `when`, checks that hold while it is still of use."""

    say: Words
    when: tuple[Check, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, data: Any) -> Any:
        return {"say": data} if isinstance(data, str) else data


class Choice(Model):
    """One answer to a prediction, with what must be true after the run if it is right."""

    id: Kebab
    text: Words
    holds: tuple[Check, ...] = Field(min_length=1)
    say: str = Field("", description="Said to those who chose it where it is not true.")


class Option(Model):
    """One answer of a `choice` step."""

    id: Kebab
    text: Words
    right: bool = False
    say: str = ""


class Question(Model):
    """One of several questions about the same run."""

    id: Kebab
    text: Words
    choices: tuple[Choice, ...] = Field(min_length=2)
    answer: Kebab


class Blank(Model):
    """A gap in the code: the answer, and others that pass too."""

    answer: Words
    also: tuple[str, ...] = ()
    width: int = Field(8, ge=1, le=60)


class BaseStep(Model):
    """What every kind of step may say."""

    id: Kebab = Field(description="Never reused: progress is keyed by it.")
    was: tuple[str, ...] = Field((), description="Earlier ids of this step.")
    text: Words
    checks: tuple[Check, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    hints: tuple[Hint, ...] = ()
    solution: str | None = None
    also: tuple[str, ...] = Field((), description="Other code that must pass.")
    after: str = Field("", description="Shown once the step is done.")
    panes: tuple[Pane, ...] = ()
    timeout: float = Field(5.0, gt=0, le=120, description="Seconds.")
    seed: int = 0

    @property
    def starting_code(self) -> str:
        """What the editor shows first ("" for a step without code)."""
        return ""

    @property
    def editable(self) -> bool:
        """Whether the learner may change the code."""
        return False

    @property
    def runs(self) -> bool:
        """Whether there is a program to run."""
        return True


class Read(BaseStep):
    """Prose only."""

    kind: Literal["read"]

    @property
    def runs(self) -> bool:
        return False


class Run(BaseStep):
    """A program to run and to look at."""

    kind: Literal["run"]
    code: Words
    can_edit: bool = Field(True, alias="editable")

    @property
    def starting_code(self) -> str:
        return self.code

    @property
    def editable(self) -> bool:
        return self.can_edit


class Predict(BaseStep):
    """A program whose outcome is predicted first; the run decides which answer is true."""

    kind: Literal["predict"]
    code: Words
    choices: tuple[Choice, ...] = ()
    answer: Kebab | None = None
    questions: tuple[Question, ...] = ()
    sure: bool = Field(False, description="Ask how sure the learner is.")

    @property
    def starting_code(self) -> str:
        return self.code

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions; a step with `choices` alone asks one, whose id is the step's."""
        if self.questions or self.answer is None:
            return self.questions
        return (
            Question.model_construct(
                id=self.id, text=self.text, choices=self.choices, answer=self.answer
            ),
        )


class ChoiceStep(BaseStep):
    """A question without a run."""

    kind: Literal["choice"]
    choices: tuple[Option, ...] = Field(min_length=2)

    @property
    def runs(self) -> bool:
        return False


class Fill(BaseStep):
    """A program with blanks."""

    kind: Literal["fill"]
    code: Words
    blanks: dict[str, Blank] = Field(min_length=1)

    @property
    def starting_code(self) -> str:
        return self.code

    def filled(self, answers: dict[str, str]) -> str:
        """The program with these answers in its blanks (a missing one stays empty)."""
        return BLANK.sub(lambda found: answers.get(found[1], ""), self.code)


class CodeStep(BaseStep):
    """A step whose code the learner writes or changes."""

    starter: str = ""
    starter_passes: bool = Field(False, description="Say so if the starter is meant to pass.")

    @property
    def starting_code(self) -> str:
        return self.starter

    @property
    def editable(self) -> bool:
        return True


class Fix(CodeStep):
    """A program that does not work yet."""

    kind: Literal["fix"]
    starter: Words


class Write(CodeStep):
    """A program to write."""

    kind: Literal["write"]


class Break(CodeStep):
    """A program to be brought into the stated trouble."""

    kind: Literal["break"]
    starter: Words


class Order(BaseStep):
    """Lines to be put in a right order."""

    kind: Literal["order"]
    lines: tuple[str, ...] = Field(min_length=2)
    extra: tuple[str, ...] = Field((), description="Lines that must stay out.")

    @property
    def shown(self) -> tuple[str, ...]:
        """All lines in the order they are shown: shuffled, always the same way."""
        lines = list(self.lines + self.extra)
        random.Random(self.id).shuffle(lines)
        return tuple(lines)

    def arranged(self, numbers: tuple[int, ...]) -> str:
        """The program of these shown lines, numbered from 1."""
        shown = self.shown
        return "".join(shown[n - 1].rstrip("\n") + "\n" for n in numbers if 0 < n <= len(shown))


Step = Annotated[
    Read | Run | Predict | ChoiceStep | Fill | Fix | Write | Break | Order,
    Field(discriminator="kind"),
]
AnyStep = Read | Run | Predict | ChoiceStep | Fill | Fix | Write | Break | Order
KINDS = ("read", "run", "predict", "choice", "fill", "fix", "write", "break", "order")
"""The kinds of step, simplest first."""
