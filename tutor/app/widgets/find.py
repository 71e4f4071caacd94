"""A field at the bottom of the screen: what to look for in a pane."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label


class FindBar(Horizontal):
    """Enter finds the next place, Escape ends the search."""

    DEFAULT_CSS = """
    FindBar {
        dock: bottom;
        height: 1;
        background: $panel;
        & Label { width: auto; padding: 0 1; color: $text-accent; text-style: bold; }
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        & Input:focus { border: none; }
        & .hint { color: $foreground 70%; text-style: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "End the search", show=False),
    ]

    class Find(Message):
        """Look for this text, from here on."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Closed(Message):
        """The search is over."""

    def compose(self) -> ComposeResult:
        yield Label("/")
        yield Input()
        yield Label("Enter: next   Esc: close", classes="hint")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _find(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value:
            self.post_message(self.Find(event.value))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()

    def action_close(self) -> None:
        self.post_message(self.Closed())
