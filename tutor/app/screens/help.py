"""The help page over any screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tutor.app.keys import COURSE_KEYS, LESSON_KEYS, WORK_KEYS
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.help import help_rows
from tutor.app.widgets.rows import Content, RowsView
from tutor.app.widgets.styles import Palette


class HelpScreen(ModalScreen[None]):
    """About one pane, then every key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "Close", show=False),
    ]
    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        & > #help { width: 84; max-width: 96%; height: 90%; background: $surface; }
    }
    """

    def __init__(self, pane: str, glyphs: Glyphs) -> None:
        super().__init__()
        self._pane = pane
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield Palette()
        view = RowsView(id="help", classes="frame")
        view.border_title = "Help"
        view.border_subtitle = "Escape closes"
        yield view

    def on_mount(self) -> None:
        keys = COURSE_KEYS if self._pane == "course" else (*WORK_KEYS, *LESSON_KEYS)
        view = self.query_one("#help", RowsView)
        view.content = Content(lambda width: help_rows(self._pane, keys, width, self._glyphs))
        view.focus()
