"""The screen where code is run and looked at: what the lesson and the playground share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.timer import Timer
from textual.widgets import TextArea

from tutor.app.model.fixes import offered
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.rows import Row, Target
from tutor.app.model.shown import MAIN, Shown, cause, cause_moment, growing
from tutor.app.model.times import Kind
from tutor.app.panes import LIMIT, VIEWS
from tutor.app.screens.panes import PanesScreen
from tutor.app.services import Cancel, Services
from tutor.app.widgets.bars import Key, KeyLine, TimeBar
from tutor.app.widgets.editor import CodeEditor
from tutor.app.widgets.rows import RowsView

if TYPE_CHECKING:
    from tutor.app.widgets.find import FindBar
    from tutor.trace.trace import Trace

REPAINT = 0.1
"""Seconds between two looks at a run that goes on."""
LIVE_PAUSE = 0.6
"""Seconds without a key after which live code runs."""


class WorkScreen(PanesScreen):
    """Runs code, follows links, walks in time; subclasses say what is run and kept."""

    def __init__(self, services: Services, glyphs: Glyphs, *, ascii_borders: bool = False) -> None:
        super().__init__(services, glyphs, ascii_borders=ascii_borders)
        self._cancel: Cancel | None = None
        self._live_timer: Timer | None = None
        self._repaint: Timer | None = None
        self._searched: RowsView | CodeEditor | None = None

    @property
    def main(self) -> str:
        """The name of the learner's code in a run."""
        return MAIN

    # -- what subclasses say ---------------------------------------------------------

    async def attempt(self, code: str, on_events: Any, cancel: Cancel) -> Shown | None:
        """Run this code to its end; None where the learner has gone elsewhere meanwhile."""
        raise NotImplementedError

    def keep(self, code: str) -> None:
        """Write the code down."""
        raise NotImplementedError

    def ready_to_run(self) -> str:
        """What to do before the code may be run ("" for nothing)."""
        return ""

    def ran(self, view: Shown) -> None:
        """A run has ended."""

    # -- running ---------------------------------------------------------------------

    def action_run(self) -> None:
        """Run the code; while it runs, stop it."""
        if self.running:
            self.stop_run()
            return
        first = self.ready_to_run()
        if first:
            self.notify(first)
            return
        if self.narrow and self.pane == "lesson":
            self.pane = "code"  # where its marks and its sentence will be
        self._run(self.editor.text)

    def stop_run(self) -> None:
        """End the run that is going on, if one is."""
        if self._cancel is not None and self.running:
            self._cancel.set()

    @work(exclusive=True, group="run", exit_on_error=False)
    async def _run(self, code: str) -> None:
        cancel = self._cancel = self.services.cancel()
        self.running = True
        self.graph_limit = LIMIT
        try:
            view = await self.attempt(code, self._on_events, cancel)
        except Exception as error:
            self.running = False
            self.notify(
                f"The run could not be made: {error}. `autograd-tutor doctor` may say why.",
                severity="error",
                timeout=10,
            )
            return
        self._stop_repaint()
        self.running = False
        if view is None:
            return
        self.edited = self.editor.text != code and self.code_decides()
        self.shown = view
        self.ran(view)

    def code_decides(self) -> bool:
        """Whether the editor's text is what is run."""
        return True

    def _on_events(self, trace: Trace, events: object) -> None:
        """Part of a run came: look at it soon, but not for each part."""
        if self._repaint is None:
            self._repaint = self.set_timer(REPAINT, lambda: self._look(trace))

    def _look(self, trace: Trace) -> None:
        self._repaint = None
        if self.running:
            self.shown = growing(trace, self.editor.text, self.main)

    def _stop_repaint(self) -> None:
        if self._repaint is not None:
            self._repaint.stop()
            self._repaint = None

    # -- editing ---------------------------------------------------------------------

    @on(TextArea.Changed, "#code")
    def _code_changed(self) -> None:
        if not self.code_decides():
            return
        self.edited = self.shown.trace is not None and self.editor.text != self.shown.code
        self.keep(self.editor.text)
        if self.live:
            if self._live_timer is not None:
                self._live_timer.stop()
            self._live_timer = self.set_timer(LIVE_PAUSE, self._run_live)

    def _run_live(self) -> None:
        self._live_timer = None
        if self.running:
            self._live_timer = self.set_timer(LIVE_PAUSE, self._run_live)
        elif self.editor.text != self.shown.code and not self.ready_to_run():
            self._run(self.editor.text)

    def action_live(self) -> None:
        """Run by itself when typing pauses, or no longer."""
        self.live = not self.live
        self.tutor.keep_live(self.live)
        self.notify("Live: the code runs when you pause." if self.live else "Live is off.")

    def on_unmount(self) -> None:
        self.stop_run()

    # -- fixes and links -------------------------------------------------------------

    def action_apply_fix(self, number: int = 0) -> None:
        """Make a proposed change, as one step of undo, and run."""
        fixes = offered(self.shown.findings, self.shown.main, self.shown.done)
        if number >= len(fixes):
            self.notify("There is no change to apply. Run the code first (r).")
            return
        if self.edited:
            self.notify("The code was edited since the run. Run it again (r), then apply.")
            return
        if self.editor.read_only:
            self.notify("The code of this step stays as it is.")
            return
        fix = fixes[number]
        self.editor.replace_lines([(e.line, e.end_line, e.new) for e in fix.edits])
        self.notify(f"Applied: {fix.title}. ctrl+z in the editor takes it back.")
        self.action_run()

    @on(RowsView.Picked)
    def _picked(self, message: RowsView.Picked) -> None:
        self.follow(message.row, message.view)

    def follow(self, row: Row, view: RowsView) -> None:
        """Do what a row promises."""
        verb, _, rest = row.action.partition(" ")
        if row.target is not None:
            self.go_to(row.target)
        elif verb == "fix":
            self.action_apply_fix(int(rest))
        elif verb == "key":
            view.go_to(rest)
        elif verb == "more":
            self.graph_limit += LIMIT
            self.paint()
        elif verb == "why":
            self.action_show("explanation")
        elif verb == "fold":
            self.action_unfold()
        elif verb == "lesson":
            self.open_lesson(rest)

    def open_lesson(self, lesson_id: str) -> None:
        """Go to the lesson that teaches what a finding is about."""

    def action_unfold(self) -> None:
        """Show or hide the setup."""

    def go_to(self, target: Target) -> None:
        """Move the caret to a line of the learner's code."""
        if target.file != self.shown.main:
            if target.file == "setup.py":
                self.notify(f"That is line {target.line} of the setup above the code.")
            else:
                self.notify(f"That is {target.file}, line {target.line}.")
            return
        self.pane = "code"
        if self.has_class("-zoomed"):
            self.zoom_to(self.frame_of("code"))
        self.editor.here = target.line
        self.editor.show_line(target.line)

    def action_cause(self) -> None:
        """To the line and the moment that a finding blames."""
        place = cause(self.shown)
        if place is None:
            self.notify("Nothing is blamed for anything in this run.")
            return
        moment = cause_moment(self.shown, place)
        if moment is not None:
            self.shown = self.shown.at(moment)
        self.go_to(Target(place.file, place.line))

    # -- time ------------------------------------------------------------------------

    def action_time(self, kind: Kind, forward: bool) -> None:
        """To the next or the previous moment of a kind."""
        view = self.shown
        if view.trace is None or view.live:
            self.notify("Run the code first (r); then time can be walked.")
            return
        self.shown = view.at(view.line.step(view.moment, kind, forward))

    @on(TimeBar.Moved)
    def _time_moved(self, message: TimeBar.Moved) -> None:
        view = self.shown
        if view.trace is not None and not view.live:
            self.shown = view.at(view.line.near(message.fraction))

    @on(KeyLine.Pressed)
    async def _key_pressed(self, message: KeyLine.Pressed) -> None:
        await self.run_action(message.action)

    # -- searching -------------------------------------------------------------------

    def action_search(self) -> None:
        """Look for text in the pane in focus, or in the observing pane that is shown."""
        from tutor.app.widgets.find import FindBar

        focused = self.focused
        searched = focused if isinstance(focused, (RowsView, CodeEditor)) else None
        self._searched = searched or self.query_one(f"#{self.view}", RowsView)
        if self._searched.id in VIEWS:
            self.pane = self.view
        if not self.query("FindBar"):
            self.mount(FindBar())

    def on_find_bar_find(self, message: FindBar.Find) -> None:
        """The next place, from the cursor on and around."""
        if self._searched is not None and not self._searched.find(message.text):
            self.notify(f"There is no {message.text!r} in this pane.")

    def on_find_bar_closed(self) -> None:
        """Back to where the search was."""
        self.query("FindBar").remove()
        if self._searched is not None:
            self.focus_on(self._searched)

    def action_help(self) -> None:
        """The help page, about the pane in focus first."""
        from tutor.app.screens.help import HelpScreen

        self.app.clear_notifications()
        self.app.push_screen(HelpScreen(self.pane, self.glyphs))

    def shared_keys(self) -> tuple[Key, ...]:
        """Keys that depend on what happened, in order of importance."""
        if self.running:
            return (Key("r", "stop", "run"),)
        keys = [Key("r", "run", "run")]
        fixes = offered(self.shown.findings, self.shown.main, self.shown.done)
        if fixes and not self.edited and not self.editor.read_only:
            keys.insert(0, Key("a", "apply fix", "apply_fix"))
        if cause(self.shown) is not None:
            keys.append(Key("c", "cause", "cause"))
        return tuple(keys)
