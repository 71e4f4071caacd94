"""Fields for the blanks of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Label

if TYPE_CHECKING:
    from tutor.lesson import Blank


class FillForm(VerticalScroll, can_focus=False):
    """One field a blank; Tab goes from field to field, Enter in the last one runs."""

    DEFAULT_CSS = """
    FillForm {
        & Horizontal { height: 1; width: 1fr; }
        & Label { width: auto; padding: 0 1 0 0; color: $foreground 80%; }
        & Input { height: 1; width: 1fr; border: none; padding: 0; background: $panel; }
        & Input:focus { border: none; background: $primary 20%; }
        &:nocolor Input { text-style: underline; }
        &:nocolor Input:focus { text-style: reverse; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave the fields", show=False),
    ]

    class Filled(Message):
        """A blank holds another text."""

        def __init__(self, blank: str, value: str) -> None:
            super().__init__()
            self.blank = blank
            self.value = value

    class Done(Message):
        """Enter in the last field."""

    class Left(Message):
        """Escape: the learner wants the letters to be keys again."""

    def __init__(self, blanks: Mapping[str, Blank], values: Mapping[str, str]) -> None:
        super().__init__()
        self._blanks = blanks
        self._values = values

    def compose(self) -> ComposeResult:
        for name in self._blanks:
            with Horizontal():
                yield Label(f"{name} =", markup=False)
                yield Input(self._values.get(name, ""), name=name, select_on_focus=False)

    def action_leave(self) -> None:
        self.post_message(self.Left())

    @property
    def first(self) -> Widget:
        """The field to begin with: the first that is empty."""
        fields = list(self.query(Input))
        return next((f for f in fields if not f.value), fields[0] if fields else self)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Filled(event.input.name or "", event.value))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        fields = list(self.query(Input))
        place = fields.index(event.input)
        if place + 1 < len(fields):
            fields[place + 1].focus()
        else:
            self.post_message(self.Done())
