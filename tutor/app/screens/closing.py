"""The page after a lesson's last step, over the lesson."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tutor.app.model.closing import Closing, closing_rows
from tutor.app.model.glyphs import Glyphs
from tutor.app.widgets.answers import AnswersView
from tutor.app.widgets.rows import Content, RowsView
from tutor.app.widgets.styles import Palette


class ClosingScreen(ModalScreen[str | None]):
    """Gives "next", "course", "step" and its place from 0, or None to stay."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,f9", "choose('next')", "Next lesson", show=False),
        Binding("b,backspace", "choose('course')", "All lessons", show=False),
        Binding("escape,q,p", "dismiss", "Stay", show=False),
    ]
    DEFAULT_CSS = """
    ClosingScreen {
        align: center middle;
        & > #closing {
            width: 84; max-width: 96%; height: auto; max-height: 90%; background: $surface;
        }
    }
    """

    def __init__(self, closing: Closing, glyphs: Glyphs) -> None:
        super().__init__()
        self._page = closing
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield Palette()
        view = AnswersView(id="closing", classes="frame")
        view.border_title = "The end of the lesson"
        view.border_subtitle = "n next lesson, b all lessons, Escape stays here"
        yield view

    def on_mount(self) -> None:
        view = self.query_one("#closing", RowsView)
        view.content = Content(lambda width: closing_rows(self._page, width, self._glyphs))
        view.focus()
        left = self._page.left
        first = f"step {left[0]}" if left else "next" if self._page.following else "course"
        self.call_after_refresh(view.go_to, first)

    def action_choose(self, what: str) -> None:
        """Go on to what a key names."""
        self.dismiss(what)

    @on(RowsView.Picked)
    def _picked(self, message: RowsView.Picked) -> None:
        message.stop()
        self.dismiss(message.row.action)
