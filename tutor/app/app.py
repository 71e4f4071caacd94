"""The app: themes, settings, and which screen is shown."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, TypeVar

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import Theme

from tutor.app import settings as kept
from tutor.app.keys import COURSE_KEYS, LESSON_KEYS, WORK_KEYS, KeySpec
from tutor.app.model.glyphs import glyphs
from tutor.app.services import Services
from tutor.app.theme import DARK, LIGHT, syntax

S = TypeVar("S", bound=Screen[None])


class TutorApp(App[int]):
    """Opens at a lesson, at a file, or where the learner was."""

    TITLE = "autograd-tutor"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        services: Services,
        lesson: str | None = None,
        file: Path | None = None,
        *,
        settings: kept.Settings | None = None,
        settings_file: Path | None = None,
        notice: str = "",
    ) -> None:
        super().__init__()
        self.services = services
        self.settings = settings or kept.Settings()
        self._settings_file = settings_file
        self._lesson = lesson
        self._file = file
        self._notice = notice
        self.first_frame: float | None = None
        """`time.perf_counter()` when the first frame had been painted."""
        self.glyphs = glyphs(self.settings.glyphs)
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        known = self.settings.theme in self.available_themes
        self.theme = self.settings.theme if known else DARK.name
        if not known:
            self._notice += f" There is no theme {self.settings.theme!r}; the dark one is used."

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of code for themes that do not bring their own."""
        return dict(syntax(self.current_theme))

    def get_default_screen(self) -> Screen[None]:
        """What the first frame shows: the panes, still empty, until lessons have been read."""
        if self._file is not None:
            from tutor.app.screens.play import PlayScreen

            return PlayScreen(self.services, self.glyphs, "", self._file, ascii_borders=self._ascii)
        from tutor.app.screens.lesson import LessonScreen

        return LessonScreen(self.services, self.glyphs, ascii_borders=self._ascii)

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, self._theme_changed)
        self.call_after_refresh(self._painted)

    async def _painted(self) -> None:
        """The first frame is on the screen: now what takes time."""
        self.first_frame = time.perf_counter()
        # A trace of a long run is millions of objects without cycles; with the usual thresholds
        # each look at one would have them walked again and again.
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)
        gc.enable()
        await self._open_first()
        self.services.start()
        if self._notice:
            self.notify(self._notice.strip(), severity="warning", timeout=12)

    async def _open_first(self) -> None:
        from tutor.app.screens.lesson import LessonScreen

        if self._file is not None:
            return
        asked, _, step = (self._lesson or "").partition("/")
        name = asked
        if not name and (place := self.services.progress.place):
            name, step = place
        lesson = self.services.pack().lesson(name) if name else None
        if lesson is not None and isinstance(self.screen, LessonScreen):
            self.screen.begin(lesson, step)
            return
        if asked:
            self.notify(f"There is no lesson {asked!r} here. These are the lessons there are.")
        self.open_course()

    # -- screens ---------------------------------------------------------------------

    @property
    def _ascii(self) -> bool:
        return self.settings.glyphs == "ascii"

    def _back_to(self, kind: type[S]) -> S | None:
        """Close what lies over the screen of this kind. None if there is no such screen."""
        found = next((s for s in reversed(self.screen_stack) if isinstance(s, kind)), None)
        while found is not None and self.screen is not found:
            self.pop_screen()
        return found

    def open_lesson(self, lesson_id: str, step: str = "") -> bool:
        """Go to a lesson. False, with a notice, if there is none of this id."""
        from tutor.app.screens.lesson import LessonScreen

        lesson = self.services.pack().lesson(lesson_id)
        if lesson is None:
            self.notify(f"There is no lesson {lesson_id!r} here.", severity="warning")
            return False
        screen = self._back_to(LessonScreen)
        if screen is not None:
            screen.begin(lesson, step)
            return True
        self.push_screen(
            LessonScreen(self.services, self.glyphs, lesson, step, ascii_borders=self._ascii)
        )
        return True

    def open_course(self) -> None:
        """All lessons."""
        from tutor.app.screens.course import CourseScreen

        if self._back_to(CourseScreen) is None:
            self.push_screen(CourseScreen(self.services, self.glyphs, ascii_borders=self._ascii))

    def open_playground(self, code: str, file: Path | None = None) -> None:
        """Code without a lesson."""
        from tutor.app.screens.play import PlayScreen

        if not code and file is None:
            code = self.services.progress.code("playground", "code") or ""
        screen = PlayScreen(self.services, self.glyphs, code, file, ascii_borders=self._ascii)
        if isinstance(self.screen, PlayScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a message as it stands: `w[/x]` in it is code or a name, never markup."""
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    # -- settings --------------------------------------------------------------------

    def _theme_changed(self, theme: Theme) -> None:
        self._keep(replace(self.settings, theme=theme.name))

    def _keep(self, settings: kept.Settings) -> None:
        if settings == self.settings:
            return
        self.settings = settings
        if self._settings_file is None:
            return
        try:
            kept.save(self._settings_file, settings)
        except OSError as error:
            self.notify(f"The setting could not be kept: {error}.", severity="warning")

    def keep_live(self, live: bool) -> None:
        """Keep whether code runs by itself."""
        self._keep(replace(self.settings, live=live))

    def toggle_glyphs(self) -> None:
        """The other set of signs, from the next screen on."""
        name = "unicode" if self._ascii else "ascii"
        self._keep(replace(self.settings, glyphs=name))
        self.glyphs = glyphs(name)
        self.notify(f"Signs: {name}. They are used from the next screen on.")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every key of the screen by name, then those of the app."""
        from tutor.app.screens.course import CourseScreen
        from tutor.app.screens.lesson import LessonScreen
        from tutor.app.screens.work import WorkScreen

        specs: tuple[KeySpec, ...] = ()
        if isinstance(screen, LessonScreen):
            specs = (*LESSON_KEYS, *WORK_KEYS)
        elif isinstance(screen, WorkScreen):
            specs = WORK_KEYS
        elif isinstance(screen, CourseScreen):
            specs = COURSE_KEYS
        for spec in specs:
            if spec.id == "palette":
                continue

            async def act(action: str = spec.action) -> None:
                await screen.run_action(action)

            yield SystemCommand(f"{spec.words}  ({spec.shown})", spec.tooltip, act)
        yield SystemCommand("Theme", "Choose the colours.", self.action_change_theme)
        yield SystemCommand(
            "Signs: Unicode or ASCII", "For fonts that lack the signs.", self.toggle_glyphs
        )
