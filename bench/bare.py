"""A bare Textual app with the kinds of widgets of our first screen: what Textual itself costs."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, OptionList, Static


class Bare(App[None]):
    """A line, a hidden field, a list, a line."""

    CSS = """
    #top, #keys { height: 1; background: $panel; }
    Input { display: none; }
    OptionList { height: 1fr; border: round $border; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+q", "quit", "Quit")]

    def compose(self) -> ComposeResult:
        yield Static("autograd-tutor › Lessons                       0 of 8 lessons done", id="top")
        yield Input(placeholder="Search")
        yield OptionList(*(f"○ A lesson of this many words, number {n}" for n in range(8)))
        yield Static("Enter open  / search  f free play  ? help  q quit", id="keys")


if __name__ == "__main__":
    Bare().run()
