"""The app at a lesson that is being written: read anew whenever it is saved."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tutor.app.app import TutorApp
from tutor.app.real import RealServices
from tutor.app.screens.lesson import LessonScreen

if TYPE_CHECKING:
    from tutor.author.previewing import Previewed
    from tutor.lesson import Pack
    from tutor.progress import Progress

MOST_FAULTS = 3
"""Faults that are shown at once."""


class PreviewServices(RealServices):
    """The pack that is being written, and progress that goes away."""

    def __init__(self, pack: Pack, folder: Path) -> None:
        super().__init__()
        self.now = pack
        self._file = folder / "progress.jsonl"

    def pack(self) -> Pack:
        return self.now

    @property
    def progress(self) -> Progress:
        if "_kept" not in self.__dict__:
            from tutor.progress import Progress

            self._kept: Progress = Progress(self._file)
        return self._kept

    def close(self) -> None:
        super().close()
        if "_kept" in self.__dict__:
            self._kept.close()


class PreviewApp(TutorApp):
    """Shows one lesson, and shows it again when a file of its pack was written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "solve", "solve", priority=True),
        Binding("f3", "wrong", "a mistake", priority=True),
    ]

    def __init__(
        self, services: PreviewServices, previewed: Previewed, step: str, look: float = 0.4
    ) -> None:
        super().__init__(services, f"{previewed.lesson_id}/{step}".rstrip("/"))
        self._preview = services
        self._previewed = previewed
        self._look = look
        self._mistake = -1

    def on_mount(self) -> None:
        super().on_mount()
        from tutor.author.watching import Watch

        self._watch = Watch(self._previewed.folder)
        self.set_interval(self._look, self._reload)

    def _reload(self) -> None:
        if not self._watch.changed():
            return
        pack, lesson, faults = self._previewed.load()
        screen = next((s for s in self.screen_stack if isinstance(s, LessonScreen)), None)
        if lesson is None:
            told = "\n".join(fault.shown() for fault in faults[:MOST_FAULTS])
            self.notify(told or "The lesson is gone.", severity="error", timeout=3600, markup=False)
            return
        self._preview.now = pack
        self.clear_notifications()
        if screen is not None and screen.index >= 0:
            known = lesson.step(screen.step.id)
            at = min(screen.index, len(lesson.steps) - 1)
            screen.begin(lesson, known.id if known else lesson.steps[at].id)
        self.notify("Read anew.", timeout=2)

    # -- trying it out -----------------------------------------------------------------

    def action_solve(self) -> None:
        """Put the solution into the editor."""
        screen = self.screen
        if isinstance(screen, LessonScreen) and screen.step.editable and screen.step.solution:
            screen.editor.replace_all(screen.step.solution.rstrip("\n"))
        else:
            self.notify("This step has no solution to write.")

    def action_wrong(self) -> None:
        """Put the example of the next mistake into the editor."""
        screen = self.screen
        if not isinstance(screen, LessonScreen) or screen.index < 0:
            return
        mistakes = [m for m in screen.step.mistakes if m.example]
        if not mistakes or not screen.step.editable:
            self.notify("This step has no mistake with an example.")
            return
        self._mistake = (self._mistake + 1) % len(mistakes)
        mistake = mistakes[self._mistake]
        screen.editor.replace_all((mistake.example or "").rstrip("\n"))
        self.notify(f"The example of {mistake.id}. Run it: what is said must fit.")


def run(previewed: Previewed, step: str) -> int:
    """Open the app at a lesson that is being written. Returns the exit status."""
    pack, lesson, faults = previewed.load()
    if lesson is None:
        for fault in faults:
            print(fault.shown())
        return 1
    with tempfile.TemporaryDirectory(prefix="autograd-tutor-preview-") as folder:
        services = PreviewServices(pack, Path(folder))
        app = PreviewApp(services, previewed, step)
        try:
            app.run()
        finally:
            services.close()
    return app.return_code or 0
