"""The playground: code without a lesson, and what happened in it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from tutor.app.keys import WORK_KEYS, bindings
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.shown import MAIN, Shown, shown
from tutor.app.panes import VIEWS
from tutor.app.screens.work import WorkScreen
from tutor.app.services import Cancel, Services
from tutor.app.widgets.bars import Key, Keys, Top, TopLine

WATCH = 1.0
"""Seconds between two looks at the file on disk."""

EXAMPLE = """\
import torch

x = torch.tensor([1., 2., 3.], requires_grad=True)
y = (x * x).sum()
y.backward()
print(x.grad)
"""


class PlayScreen(WorkScreen):
    """Opens any Python file, or a text of its own; nothing is checked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(WORK_KEYS),
        Binding("w,ctrl+s", "save", "Save", show=False, id="save"),
        Binding("b,backspace", "course", "Lessons", show=False, id="course"),
    ]

    def __init__(
        self,
        services: Services,
        glyphs: Glyphs,
        code: str = "",
        file: Path | None = None,
        *,
        ascii_borders: bool = False,
    ) -> None:
        super().__init__(services, glyphs, ascii_borders=ascii_borders)
        self._start = code or EXAMPLE.rstrip("\n")
        self.file = file
        self._stamp: int | None = None
        self._saved = ""

    @property
    def main(self) -> str:
        return str(self.file) if self.file else MAIN

    def on_mount(self) -> None:
        self.add_class("-play")
        self.pane = "code"
        super().on_mount()
        if self.file is not None:
            self._read()
            if self.file is not None:
                self._take_up_draft()
            self.set_interval(WATCH, self._look_at_file)
        else:
            self.editor.load_text(self._start)
        self._paint_top()

    def panes(self) -> tuple[str, ...]:
        return ("code", *VIEWS, "explanation")

    @property
    def _draft(self) -> str:
        """Where the unsaved text is kept."""
        if self.file is None:
            return "code"
        base = hashlib.sha256(self._saved.encode()).hexdigest()[:16]
        return f"{self.file.absolute()}#{base}"

    def _take_up_draft(self) -> None:
        """Bring back what was typed and not saved, as one step that can be undone."""
        draft = self.services.progress.code("playground", self._draft)
        if draft is None or draft == self._saved:
            return
        self.editor.replace_all(draft)
        self._paint_top()
        self.notify("Your unsaved changes are back: w saves them, R takes them out again.")

    def _paint_top(self) -> None:
        name = self.file.name if self.file else "playground"
        changed = self.file is not None and self.editor.text != self._saved
        words = "not saved: w saves" if changed else ""
        self.query_one("#top", TopLine).view = Top(("autograd-tutor", name), words)

    # -- the file --------------------------------------------------------------------

    def _read(self) -> None:
        """The file as it is on disk."""
        assert self.file is not None
        try:
            text = read_code(self.file)
        except UnreadableError as error:
            # Without the file: what could not be read must not be written over.
            self.file = None
            self.notify(str(error), severity="error", timeout=20)
            return
        self._saved = text
        self._stamp = self.file.stat().st_mtime_ns if self.file.exists() else None
        if self.editor.text == "" and not self.editor.history.undo_stack:
            self.editor.load_text(text)
        else:
            self.editor.replace_all(text)
        self._paint_top()

    def _look_at_file(self) -> None:
        """Take up what another editor saved, unless there are changes of our own."""
        if self.file is None:
            return
        try:
            stamp = self.file.stat().st_mtime_ns
        except OSError:
            return
        if stamp == self._stamp:
            return
        if self.editor.text != self._saved:
            self._stamp = stamp
            self.notify(
                "The file changed on disk, and so did the code here: w writes yours over it."
            )
            return
        self._read()
        self.notify(f"{self.file.name} was read again.")

    def action_save(self) -> None:
        """Write the code to its file."""
        if self.file is None:
            self.notify("This code has no file. `autograd-tutor open FILE` opens one.")
            return
        try:
            self.file.write_text(self.editor.text, encoding="utf-8")
        except OSError as error:
            self.notify(f"{self.file} cannot be written: {error.strerror}.", severity="error")
            return
        self._saved = self.editor.text
        self._stamp = self.file.stat().st_mtime_ns
        self._paint_top()
        self.notify(f"Saved {self.file.name}.")

    def keep(self, code: str) -> None:
        # An unsaved text of a file is a draft on what the file held: it is offered again only
        # while the file still holds that.
        self.services.progress.edited("playground", self._draft, code)
        self._paint_top()

    # -- running ---------------------------------------------------------------------

    async def attempt(self, code: str, on_events: Any, cancel: Cancel) -> Shown:
        trace, found = await self.services.explain(code, self.main, on_events, cancel)
        return shown(trace, found, None, code, self.main)

    def action_reset(self) -> None:
        """The code as it was when the playground was opened, or as the file is."""
        self.editor.replace_all(self._saved if self.file else self._start)

    def action_course(self) -> None:
        self.tutor.open_course()

    def open_lesson(self, lesson_id: str) -> None:
        self.tutor.open_lesson(lesson_id)

    def keys_now(self) -> Keys:
        if self.typing:
            keys: tuple[Key, ...] = (
                Key("F5", "stop" if self.running else "run", "run"),
                Key("Esc", "leave the editor", "leave"),
                Key("F1", "help", "help", always=True),
            )
            return Keys(keys)
        save = (Key("w", "save", "save"),) if self.file else ()
        return Keys(
            (
                *self.shared_keys(),
                Key("i", "edit", "edit"),
                *save,
                Key("g t v o e", "panes", "show('graph')"),
                Key("[ ]", "time", "time('line',False)"),
                Key("b", "lessons", "course"),
                Key("?", "help", "help", always=True),
                Key("q", "quit", "app.quit", always=True),
            )
        )


MOST_LINES = 100_000


class UnreadableError(Exception):
    """A file that is no code we can show; the message says what to do."""


def read_code(file: Path) -> str:
    """The text of a Python file. Raises `UnreadableError`."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UnreadableError(f"{file} cannot be read: {error.strerror}.") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UnreadableError(
            f"{file} is not UTF-8 (line {line}). Save it as UTF-8 and open it again."
        ) from error
    if "\0" in text:
        raise UnreadableError(f"{file} holds NUL bytes, so it is no Python source.")
    if text.count("\n") > MOST_LINES:
        raise UnreadableError(
            f"{file} has more than {MOST_LINES} lines. `autograd-tutor explain` runs such a file."
        )
    return text.replace("\r\n", "\n")
