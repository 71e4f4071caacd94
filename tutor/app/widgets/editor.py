"""The code editor: a TextArea with colours by Pygments, marks in its gutter and notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea
from textual.widgets.text_area import Edit as TextEdit
from textual.widgets.text_area import Selection

from tutor.app.model.glyphs import PLAIN
from tutor.app.model.highlight import Lines, highlight, patched
from tutor.app.model.mark import Mark
from tutor.app.widgets.styles import palette_of

WHOLE = 40
"""Lines up to which the whole text is read at each key; of a longer one the changed part is."""

PAUSE = 0.12
"""Seconds without a key after which the whole text is read again."""

GAP = 3
"""Cells between the code and its note."""

SHORTEST = 8
"""Cells below which a note is left out."""

NO_MARKS: Mapping[int, Mark] = {}


class CodeEditor(TextArea):
    """Shows `marks` beside the code; an edit makes them stale, and the screen clears them."""

    DEFAULT_CSS = """
    CodeEditor {
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
        &:focus { border: none; }
        & > .text-area--gutter { color: $foreground 55%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave the editor", show=False),
    ]

    marks: reactive[Mapping[int, Mark]] = reactive(NO_MARKS)
    here: reactive[int] = reactive(0)
    """The line that the time slider points to (0: none)."""

    class Left(Message):
        """Escape: the learner wants the letters to be keys again."""

    def __init__(self, text: str = "", *, id: str | None = None) -> None:
        super().__init__(
            text,
            id=id,
            theme="css",
            show_line_numbers=True,
            soft_wrap=True,
            tab_behavior="indent",
            highlight_cursor_line=False,
        )
        self._pieces: Lines = ()
        self._pieces_of = ""
        self._recolour: Timer | None = None

    # -- what the screen gives -------------------------------------------------------

    def watch_marks(self) -> None:
        self._line_cache.clear()
        self.refresh()

    def watch_here(self, here: int) -> None:
        self._line_cache.clear()
        self.refresh()
        if here and not self.has_focus:
            self.show_line(here, move=False)

    def show_line(self, line: int, *, move: bool = True) -> None:
        """Bring a line (from 1) into view; `move` puts the caret there too."""
        row = max(0, min(line - 1, self.document.line_count - 1))
        if move:
            self.move_cursor((row, self._indent(row)), center=True)
            return
        top, height = round(self.scroll_y), self.size.height
        if not top <= row < top + height:
            self.scroll_to(y=max(0, row - height // 2), animate=False)

    def find(self, text: str) -> bool:
        """Select the next place that holds a text, from the caret on. False if none does."""
        whole = self.text.lower()
        row, column = self.cursor_location
        lines = self.text.split("\n")
        start = sum(len(line) + 1 for line in lines[:row]) + column
        at = whole.find(text.lower(), start)
        if at < 0:
            at = whole.find(text.lower())
        if at < 0:
            return False
        before = self.text[:at]
        place = (before.count("\n"), len(before) - before.rfind("\n") - 1)
        self.selection = Selection(place, (place[0], place[1] + len(text)))
        self.scroll_cursor_visible(center=True)
        return True

    def _indent(self, row: int) -> int:
        line = self.document.get_line(row)
        return len(line) - len(line.lstrip())

    def replace_lines(self, edits: list[tuple[int, int, str]]) -> None:
        """Replace whole lines (first, last, new), all as one step of undo.

        `last = first - 1` inserts before `first`. Line numbers are those before any edit.
        """
        text = self.text
        lines = text.split("\n")
        for first, last, new in sorted(edits, reverse=True):
            lines[first - 1 : last] = new.rstrip("\n").split("\n") if new else []
        self.replace_all("\n".join(lines))

    def replace_all(self, text: str) -> None:
        """Put other code in place of all, as one step of undo."""
        if text == self.text:
            return
        self.history.checkpoint()
        row, column = self.cursor_location
        end = self.document.end
        self.edit(TextEdit(text, (0, 0), end, maintain_selection_offset=False))
        self.history.checkpoint()
        row = min(row, self.document.line_count - 1)
        self.move_cursor((row, min(column, len(self.document.get_line(row)))))

    # -- colours ---------------------------------------------------------------------

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        self._lex()
        if line_index < len(self._pieces):
            style = palette_of(self).style
            for start, end, kind in self._pieces[line_index]:
                line.stylize(style(f"code--{kind}"), start, end)
        return line

    def _lex(self) -> None:
        """Colours for the text as it is; of a long text only what changed, until typing pauses."""
        text = self.text
        if text == self._pieces_of:
            return
        if self._pieces and self.document.line_count > WHOLE:
            old, new = self._pieces_of.split("\n"), text.split("\n")
            self._pieces = patched(old, self._pieces, new)
            if self._recolour is not None:
                self._recolour.stop()
            self._recolour = self.set_timer(PAUSE, self._lex_late)
        else:
            self._pieces = highlight(text)
        self._pieces_of = text

    def _lex_late(self) -> None:
        self._recolour = None
        self._pieces = highlight(self.text)
        self._pieces_of = self.text
        self._line_cache.clear()
        self.refresh()

    # -- marks -----------------------------------------------------------------------

    @property
    def gutter_width(self) -> int:
        """The line number, a blank, the mark, a blank."""
        return super().gutter_width + 1 if self.show_line_numbers else 0

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        wrapped = self.wrapped_document
        offset = y + round(self.scroll_y)
        if offset >= wrapped.height:
            return strip
        row, column = wrapped.offset_to_location(Offset(0, offset))
        mark = self.marks.get(row + 1)
        first = column == 0
        last = (
            offset + 1 >= wrapped.height
            or wrapped.offset_to_location(Offset(0, offset + 1))[0] != row
        )
        strip = self._with_sign(strip, mark if first else None)
        if mark is not None and mark.note and last:
            strip = self._with_note(strip, mark)
        if row + 1 == self.here:
            here = palette_of(self).style("role--here")
            segments = [Segment(text, (style or Style()) + here) for text, style, _ in strip]
            strip = Strip(segments, strip.cell_length)
        return strip

    def _with_sign(self, strip: Strip, mark: Mark | None) -> Strip:
        """The gutter: the number, then the sign."""
        width = self.gutter_width
        if not width:
            return strip
        gutter, rest = strip.crop(0, width), strip.crop(width)
        base = next((s for _, s, _ in gutter if s is not None), Style())
        digits = gutter.text.strip()
        number = Segment(f"{digits:>{width - 3}} ", base)
        sign = Segment(" ", base)
        if mark is not None:
            sign = Segment(mark.glyph, base + palette_of(self).style(f"role--{mark.role or 'dim'}"))
        return Strip.join([Strip([number, sign, Segment(" ", base)], width), rest])

    def _with_note(self, strip: Strip, mark: Mark) -> Strip:
        """The note at the right end, where the code leaves room for it."""
        total = self.scrollable_content_region.width
        code = cell_len(strip.text.rstrip())
        room = total - code - GAP - 1
        if room < SHORTEST:
            return strip
        note = mark.note
        if self.screen.has_class("-ascii"):
            note = note.translate(PLAIN)
        if cell_len(note) > room:
            note = set_cell_size(note, room - 1).rstrip() + "…"
        start = max(code + GAP, total - cell_len(note) - 1)
        head = strip.crop(0, start)
        base = next((s for _, s, _ in strip.crop(start, total) if s is not None), Style())
        style = base + palette_of(self).style(f"role--{mark.note_role or 'dim'}")
        tail = Strip([Segment(note, style)], cell_len(note))
        return Strip.join([head, tail]).adjust_cell_length(strip.cell_length, base)

    # -- keys ------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Left())
            return
        if event.key == "enter" and not self.read_only:
            event.stop()
            event.prevent_default()
            self._restart_blink()
            self._new_line()
            return
        await super()._on_key(event)

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def _new_line(self) -> None:
        """Enter keeps the indent, and deepens it after a colon."""
        start, end = sorted(self.selection)
        before = self.document.get_line(start[0])[: start[1]]
        indent = before[: len(before) - len(before.lstrip())]
        if before.rstrip().endswith(":"):
            indent += " " * self.indent_width
        self._replace_via_keyboard("\n" + indent, start, end)
