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

    id: Kebab = Field(description="Kept in the learner's record; unique in the step.")
    when: tuple[Check, ...] = Field(min_length=1, description="Checks that all hold for it.")
    say: Words = Field(description="What to tell the learner who made it.")
    example: str | None = Field(None, description="Code that makes it; proved to trigger it.")


class Hint(Model):
    """One hint: plain text, or `say` with `when`, checks that hold while it is still of use."""

    say: Words = Field(description="What to tell.")
    when: tuple[Check, ...] = Field(
        (), description="Checks of the last run; once one fails, the hint is of no more use."
    )

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, data: Any) -> Any:
        return {"say": data} if isinstance(data, str) else data


class Choice(Model):
    """One answer to a prediction, with what must be true after the run if it is right."""

    id: Kebab = Field(description="Unique among the choices.")
    text: Words = Field(description="What the learner reads.")
    holds: tuple[Check, ...] = Field(
        min_length=1,
        description="Checks that all hold after the run if this is the answer, and only then.",
    )
    say: str = Field("", description="Said to those who chose it where it is not true.")


class Option(Model):
    """One answer of a `choice` step."""

    id: Kebab = Field(description="Unique among the choices.")
    text: Words = Field(description="What the learner reads.")
    right: bool = Field(False, description="Whether it belongs to the right answer.")
    say: str = Field("", description="Said to those who chose it.")


class Question(Model):
    """One of several questions about the same run."""

    id: Kebab = Field(description="Unique in the step.")
    text: Words = Field(description="What is asked.")
    choices: tuple[Choice, ...] = Field(min_length=2, description="Two or more answers.")
    answer: Kebab = Field(description="The id of the choice that the run makes true.")


class Blank(Model):
    """A gap in the code: the answer, and others that pass too."""

    answer: Words = Field(description="What belongs into the gap.")
    also: tuple[str, ...] = Field((), description="Other texts that pass.")
    width: int = Field(8, ge=1, le=60, description="Columns of the gap on the screen.")


class BaseStep(Model):
    """What every kind of step may say."""

    id: Kebab = Field(description="Never reused: progress is keyed by it.")
    was: tuple[str, ...] = Field((), description="Earlier ids of this step.")
    text: Words = Field(description="What the learner reads, in Markdown.")
    checks: tuple[Check, ...] = Field((), description="What must hold after the run.")
    mistakes: tuple[Mistake, ...] = Field(
        (), description="Wrong ideas that are recognised and answered."
    )
    hints: tuple[Hint, ...] = Field((), description="From a nudge to nearly the answer.")
    solution: str | None = Field(
        None, description="Code that passes; shown when asked for, and after solving."
    )
    also: tuple[str, ...] = Field((), description="Other code that must pass.")
    after: str = Field("", description="Shown once the step is done.")
    panes: tuple[Pane, ...] = Field((), description="What to open beside the code.")
    timeout: float = Field(5.0, gt=0, le=120, description="Seconds.")
    seed: int = Field(0, description="What random numbers start from.")

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

    kind: Literal["read"] = Field(description="Prose only.")

    @property
    def runs(self) -> bool:
        return False


class Run(BaseStep):
    """A program to run and to look at."""

    kind: Literal["run"] = Field(description="A program to run and to look at.")
    code: Words = Field(description="The program.")
    can_edit: bool = Field(True, alias="editable", description="Whether the learner may change it.")

    @property
    def starting_code(self) -> str:
        return self.code

    @property
    def editable(self) -> bool:
        return self.can_edit


class Predict(BaseStep):
    """A program whose outcome is predicted first; the run decides which answer is true."""

    kind: Literal["predict"] = Field(
        description="A program whose outcome is predicted; the run decides."
    )
    code: Words = Field(description="The program.")
    choices: tuple[Choice, ...] = Field(
        (), description="The possible answers, if one thing is asked."
    )
    answer: Kebab | None = Field(None, description="The id of the choice that the run makes true.")
    questions: tuple[Question, ...] = Field(
        (), description="Several questions about the same run, instead of choices."
    )
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

    kind: Literal["choice"] = Field(description="A question without a run.")
    choices: tuple[Option, ...] = Field(
        min_length=2, description="The possible answers, one or several of them right."
    )

    @property
    def runs(self) -> bool:
        return False


class Fill(BaseStep):
    """A program with blanks."""

    kind: Literal["fill"] = Field(description="A program with gaps.")
    code: Words = Field(description="The program, each gap as ⟦name⟧.")
    blanks: dict[str, Blank] = Field(min_length=1, description="For each gap its answer.")

    @property
    def starting_code(self) -> str:
        return self.code

    def filled(self, answers: dict[str, str]) -> str:
        """The program with these answers in its blanks (a missing one stays empty)."""
        return BLANK.sub(lambda found: answers.get(found[1], ""), self.code)


class CodeStep(BaseStep):
    """A step whose code the learner writes or changes."""

    starter: str = Field("", description="The code to begin with.")
    starter_passes: bool = Field(False, description="Say so if the starter is meant to pass.")

    @property
    def starting_code(self) -> str:
        return self.starter

    @property
    def editable(self) -> bool:
        return True


class Fix(CodeStep):
    """A program that does not work yet."""

    kind: Literal["fix"] = Field(description="A program that does not work yet.")
    starter: Words = Field(description="The program as it is found.")


class Write(CodeStep):
    """A program to write."""

    kind: Literal["write"] = Field(description="A program to write.")


class Break(CodeStep):
    """A program to be brought into the stated trouble."""

    kind: Literal["break"] = Field(description="A program to be brought into trouble.")
    starter: Words = Field(description="The program as it is found.")


class Order(BaseStep):
    """Lines to be put in a right order."""

    kind: Literal["order"] = Field(description="Lines to be put in order.")
    lines: tuple[str, ...] = Field(min_length=2, description="The lines in a right order.")
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
