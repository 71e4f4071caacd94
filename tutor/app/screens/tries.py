"""The earlier tries of a step over the lesson: compare them, go back to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tutor.app.model.glyphs import Glyphs
from tutor.app.model.tries import distinct, tries_rows
from tutor.app.widgets.rows import Content, RowsView
from tutor.app.widgets.styles import Palette

if TYPE_CHECKING:
    from tutor.progress import Tried


class TriesScreen(ModalScreen[str | None]):
    """Gives the code to go back to, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,y", "dismiss", "Close", show=False),
    ]
    DEFAULT_CSS = """
    TriesScreen {
        align: center middle;
        & > #tries { width: 84; max-width: 96%; height: 80%; background: $surface; }
    }
    """

    def __init__(self, tries: Sequence[Tried], code: str, glyphs: Glyphs) -> None:
        super().__init__()
        self._tries = tries
        self._code = code
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield Palette()
        view = RowsView(id="tries", classes="frame")
        view.border_title = "Earlier tries"
        view.border_subtitle = "Enter goes back to one, Escape closes"
        yield view

    def on_mount(self) -> None:
        view = self.query_one("#tries", RowsView)
        view.content = Content(
            lambda width: tries_rows(self._tries, self._code, width, self._glyphs)
        )
        view.focus()

    @on(RowsView.Picked)
    def _picked(self, message: RowsView.Picked) -> None:
        message.stop()
        _, _, number = message.row.action.partition(" ")
        self.dismiss(distinct(self._tries)[int(number)].code)
