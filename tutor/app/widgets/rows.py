"""A pane of rows: scrolls, has a cursor, and follows the links of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tutor.app.model.glyphs import PLAIN
from tutor.app.model.rows import Row, Span
from tutor.app.widgets.styles import Palette, palette_of

Build = Callable[[int], Sequence[Row]]
"""Rows for a width in cells."""


@dataclass(frozen=True, eq=False)
class Content:
    """What a pane shows: how to build its rows, and what it is about.

    While `about` stays the same, the scroll position and the cursor stay too.
    """

    build: Build
    about: object = None


NOTHING = Content(lambda width: ())


def _plain(row: Row) -> Row:
    """The row with nothing that a poor font lacks; every letter keeps its cell."""
    if all(span.text.isascii() for span in row.spans):
        return row
    spans = tuple(Span(span.text.translate(PLAIN), span.role) for span in row.spans)
    return replace(row, spans=spans)


class RowsView(ScrollView, can_focus=True):
    """Shows the rows of `content`; builds them only while it is on screen."""

    DEFAULT_CSS = """
    RowsView {
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        overflow-x: hidden;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Up", show=False),
        Binding("down,j", "cursor(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(False)", "First row", show=False),
        Binding("end", "edge(True)", "Last row", show=False),
        Binding("enter", "pick", "Follow", show=False),
    ]

    content: reactive[Content] = reactive(NOTHING, layout=False)

    class Picked(Message):
        """Enter or a click on a row that does something."""

        def __init__(self, view: RowsView, row: Row) -> None:
            super().__init__()
            self.view = view
            self.row = row

        @property
        def control(self) -> RowsView:
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.rows: Sequence[Row] = ()
        self.cursor = 0
        self._any_live = False
        self._built_for: tuple[Content, int] | None = None
        self._width = 0
        self._base = Style()
        self._palette: Palette

    # -- building --------------------------------------------------------------------

    def watch_content(self, old: Content, new: Content) -> None:
        self._rebuild(keep=old.about == new.about)

    def on_resize(self) -> None:
        self._rebuild(keep=True)

    def on_show(self) -> None:
        self._rebuild(keep=True)

    def _rebuild(self, keep: bool) -> None:
        width = self.scrollable_content_region.width
        if width <= 0 or not self.is_attached:
            return
        wanted = (self.content, width)
        if self._built_for == wanted:
            return
        key = self.rows[self.cursor].key if keep and self.cursor < len(self.rows) else ""
        rows = tuple(self.content.build(width))
        self.rows = tuple(map(_plain, rows)) if self.screen.has_class("-ascii") else rows
        self._any_live = any(row.live for row in self.rows)
        self._built_for = wanted
        self.virtual_size = Size(width, len(self.rows))
        if not keep:
            self.cursor = self._first_live()
            self.scroll_to(0, 0, animate=False, immediate=True)
        else:
            self.cursor = self._place_of(key, self.cursor)
        self.fit_height()
        self.refresh()

    def fit_height(self) -> None:
        """A hook for panes that are as high as their rows."""

    def _first_live(self) -> int:
        return next((i for i, row in enumerate(self.rows) if row.live), 0)

    def _place_of(self, key: str, otherwise: int) -> int:
        """Where the row with this key is now."""
        last = max(0, len(self.rows) - 1)
        if key:
            for index, row in enumerate(self.rows):
                if row.key == key:
                    return index
        return min(otherwise, last)

    # -- the cursor ------------------------------------------------------------------

    def action_cursor(self, by: int) -> None:
        """Move the cursor; where no row does anything, move the pane."""
        if self._any_live:
            self._move(self.cursor + by)
        else:
            self.scroll_to(y=self.scroll_y + by, animate=False)

    def action_page(self, by: int) -> None:
        self.action_cursor(by * max(1, self.size.height - 1))

    def action_edge(self, last: bool) -> None:
        self._move(len(self.rows) - 1 if last else 0)

    def go_to(self, key: str) -> bool:
        """Put the cursor on the row with this key. False if there is none."""
        for index, row in enumerate(self.rows):
            if row.key == key:
                self._move(index)
                return True
        return False

    def find(self, text: str) -> bool:
        """Put the cursor on the next row that holds a text. False if none does."""
        count = len(self.rows)
        for step in range(1, count + 1):
            index = (self.cursor + step) % count
            if text.lower() in self.rows[index].text.lower():
                self._move(index)
                return True
        return False

    def _move(self, index: int) -> None:
        if not self.rows:
            return
        self.cursor = max(0, min(index, len(self.rows) - 1))
        self.scroll_to_region(
            Region(0, self.cursor, 1, 1), animate=False, immediate=True, force=True
        )
        self.refresh()

    def action_pick(self) -> None:
        """Follow the row; where it leads nowhere, Enter means what it means outside."""
        if self.cursor >= len(self.rows) or not self.rows[self.cursor].live:
            raise SkipAction
        self.post_message(self.Picked(self, self.rows[self.cursor]))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        index = offset.y + round(self.scroll_y)
        if 0 <= index < len(self.rows):
            self.cursor = index
            self.refresh()
            if self.rows[index].live:
                self.post_message(self.Picked(self, self.rows[index]))

    # -- painting --------------------------------------------------------------------

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        # Once for all lines: what follows from the style sheet costs more than a line.
        self._base = self.rich_style
        self._palette = palette_of(self)
        self._width = self.scrollable_content_region.width
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self._width
        base, style = self._base, self._palette.style
        index = y + round(self.scroll_y)
        if index >= len(self.rows):
            return Strip.blank(width, base)
        segments = [
            Segment(span.text, base + style(f"role--{span.role}") if span.role else base)
            for span in self.rows[index].spans
        ]
        strip = Strip(segments).adjust_cell_length(width, base)
        if index == self.cursor and self.has_focus and self._any_live:
            cursor = style("role--cursor")
            lit = [Segment(text, (own or base) + cursor) for text, own, _ in strip]
            strip = Strip(lit, width)
        return strip

    @property
    def text(self) -> str:
        """All rows as plain text: what a person could read by scrolling."""
        return "\n".join(row.text for row in self.rows)
