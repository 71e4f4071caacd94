"""A bare Textual app with the kinds of widgets of our first screen: what Textual itself costs."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.widgets import Static, TextArea

OBSERVING = ("graph", "tensors", "versions", "output")


class Bare(App[None]):
    """Lines above and below; between them panes that scroll, and an editor."""

    CSS = """
    .line { height: 1; background: $panel; }
    #body { height: 1fr; layout: grid; grid-size: 2 2; }
    .frame { border: round $border; padding: 0 1; }
    .hidden { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+q", "quit", "Quit")]

    def compose(self) -> ComposeResult:
        yield Static("autograd-tutor", id="top", classes="line")
        yield Static("Lesson  Code  Graph", id="tabs", classes="line hidden")
        with Container(id="body"):
            yield VerticalScroll(Static(), classes="frame")
            with Vertical(classes="frame"):
                yield VerticalScroll(Static(), classes="hidden")
                yield TextArea(show_line_numbers=True)
                yield VerticalScroll(Static(), classes="hidden")
                yield VerticalScroll(Static(), classes="hidden")
            with Vertical(classes="frame") as observe:
                observe.border_title = "What torch did"
                yield Static("Graph  Tensors  Versions  Output", classes="line")
                for name in OBSERVING:
                    yield VerticalScroll(Static(), classes="" if name == "graph" else "hidden")
            yield VerticalScroll(Static(), classes="frame")
        yield Static("Nothing has run yet", id="time", classes="line")
        yield Static("r run  n next  ? help  q quit", id="keys", classes="line")


if __name__ == "__main__":
    Bare().run()
