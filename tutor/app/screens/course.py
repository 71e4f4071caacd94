"""The course: tracks and lessons with progress; nothing is locked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Input

from tutor.app.keys import COURSE_KEYS, bindings
from tutor.app.model.course import course_rows, next_lesson
from tutor.app.model.glyphs import Glyphs
from tutor.app.services import Services, standing
from tutor.app.widgets.bars import Key, KeyLine, Keys, Top, TopLine
from tutor.app.widgets.rows import Content, RowsView
from tutor.app.widgets.styles import Palette

if TYPE_CHECKING:
    from tutor.app.app import TutorApp
    from tutor.lesson import Pack


class CourseScreen(Screen[None]):
    """The list of lessons; the next one is under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(COURSE_KEYS),
        Binding("escape", "leave_search", show=False),
        Binding("down", "into_list", show=False),
    ]
    AUTO_FOCUS = "#lessons"

    search: reactive[str] = reactive("")

    def __init__(self, services: Services, glyphs: Glyphs, *, ascii_borders: bool = False) -> None:
        super().__init__()
        self.services = services
        self.glyphs = glyphs
        self._ascii = ascii_borders

    def compose(self) -> ComposeResult:
        yield Palette()
        yield TopLine(self.glyphs, id="top")
        yield Input(placeholder="Search lessons: a word of a title or a concept", id="search")
        lessons = RowsView(id="lessons", classes="frame")
        lessons.border_title = "Lessons"
        yield lessons
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        self.set_class(self._ascii, "-ascii")
        self.query_one("#search").display = False
        keys = (
            Key("Enter", "open", "pick"),
            Key("/", "search", "search"),
            Key("f", "free play", "free"),
            Key("?", "help", "help", always=True),
            Key("q", "quit", "app.quit", always=True),
        )
        self.query_one("#keys", KeyLine).view = Keys(keys)
        self.show_lessons()

    def on_screen_resume(self) -> None:
        self.show_lessons()

    @property
    def tutor(self) -> TutorApp:
        return cast("TutorApp", self.app)

    @property
    def pack(self) -> Pack:
        return self.services.pack()

    def show_lessons(self) -> None:
        """The list anew, with the cursor on the lesson to go on with."""
        pack, search = self.pack, self.search
        stands = partial(standing, self.services.progress)
        view = self.query_one("#lessons", RowsView)
        view.content = Content(
            lambda width: course_rows(pack, stands, width, self.glyphs, search), search
        )
        done = sum(
            all(stands(lesson, s.id) in ("done", "skipped") for s in lesson.steps)
            for lesson in pack.lessons.values()
        )
        words = f"{done} of {len(pack.lessons)} lessons done"
        self.query_one("#top", TopLine).view = Top(("autograd-tutor", pack.title), words)
        upcoming = next_lesson(pack, stands)
        self.call_after_refresh(view.go_to, f"lesson {upcoming}")

    def watch_search(self) -> None:
        if self.is_mounted:
            self.show_lessons()

    @on(RowsView.Picked, "#lessons")
    def _picked(self, message: RowsView.Picked) -> None:
        verb, _, rest = message.row.action.partition(" ")
        if verb == "lesson":
            self.tutor.open_lesson(rest)

    def action_pick(self) -> None:
        """Open the lesson under the cursor."""
        self.query_one("#lessons", RowsView).action_pick()

    def action_search(self) -> None:
        """Show the search field."""
        field = self.query_one("#search", Input)
        field.display = True
        field.focus()

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        self.search = event.value

    @on(Input.Submitted, "#search")
    def _search_done(self) -> None:
        self.action_into_list()

    def action_into_list(self) -> None:
        self.query_one("#lessons").focus()

    def action_leave_search(self) -> None:
        """No search any more; from the list, back to where one came from."""
        field = self.query_one("#search", Input)
        field.value = ""
        field.display = False
        self.action_into_list()

    def action_free(self) -> None:
        self.tutor.open_playground("")

    def action_help(self) -> None:
        from tutor.app.screens.help import HelpScreen

        self.app.clear_notifications()
        self.app.push_screen(HelpScreen("course", self.glyphs))

    @on(KeyLine.Pressed)
    async def _key_pressed(self, message: KeyLine.Pressed) -> None:
        await self.run_action(message.action)
