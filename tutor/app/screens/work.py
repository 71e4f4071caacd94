"""The screen where code is run and looked at: what the lesson and the playground share."""

from __future__ import annotations

from functools import partial
from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.reactive import reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import TextArea

from tutor.app.model.explanation import WordsOf, all_fixes, sentence
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.graph import LIMIT
from tutor.app.model.rows import Row, Span, Spans, Target, wrap
from tutor.app.model.shown import Shown, cause, cause_moment, growing
from tutor.app.model.timeline import Kind, moment_words
from tutor.app.panes import TITLES, VIEWS, contents, marks
from tutor.app.services import Cancel, Services
from tutor.app.widgets.answers import AnswersView
from tutor.app.widgets.bars import Key, KeyLine, Keys, Tab, TabStrip, TimeBar, TimeView, TopLine
from tutor.app.widgets.editor import CodeEditor
from tutor.app.widgets.prose import ProsePane
from tutor.app.widgets.rows import Content, RowsView
from tutor.trace.trace import Trace

PANES = ("lesson", "code", *VIEWS, "explanation")
REPAINT = 0.1
"""Seconds between two looks at a run that goes on."""
LIVE_PAUSE = 0.6
"""Seconds without a key after which live code runs."""


class WorkScreen(Screen[None]):
    """Code, what happened in its run, and time; subclasses say what is run and kept."""

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 (textual declares it without ClassVar)
        (0, "-narrow"),
        (100, "-medium"),
        (160, "-wide"),
    ]
    AUTO_FOCUS = ""

    shown: reactive[Shown] = reactive(Shown(), always_update=True)
    running: reactive[bool] = reactive(False)
    edited: reactive[bool] = reactive(False)
    view: reactive[str] = reactive("graph")
    """The observing pane that is shown."""
    pane: reactive[str] = reactive("lesson")
    """The pane that is shown where only one fits."""
    live: reactive[bool] = reactive(False)

    def __init__(self, services: Services, glyphs: Glyphs, *, ascii_borders: bool = False) -> None:
        super().__init__()
        self.services = services
        self.glyphs = glyphs
        self._ascii = ascii_borders
        self._cancel: Cancel | None = None
        self._graph_limit = LIMIT
        self._live_timer: Timer | None = None
        self._repaint: Timer | None = None
        self.composed = False
        """Whether the widgets are there to be handed something."""

    # -- what subclasses say ---------------------------------------------------------

    async def attempt(self, code: str, on_events: Any, cancel: Cancel) -> Shown:
        """Run this code to its end."""
        raise NotImplementedError

    def keep(self, code: str) -> None:
        """Write the code down."""
        raise NotImplementedError

    def ready_to_run(self) -> str:
        """What to do before the code may be run ("" for nothing)."""
        return ""

    def keys_now(self) -> Keys:
        """The keys to name at the bottom."""
        raise NotImplementedError

    def ran(self, view: Shown) -> None:
        """A run has ended."""

    # -- parts -----------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield TopLine(self.glyphs, id="top")
        yield TabStrip(id="tabs")
        with Container(id="body"):
            prose = ProsePane(id="lesson", classes="frame")
            prose.border_title = "Lesson"
            yield prose
            with Vertical(id="code-frame", classes="frame") as frame:
                frame.border_title = "Code"
                yield AnswersView(id="setup")
                yield CodeEditor(id="code")
                yield from self.compose_answers()
                yield AnswersView(id="sentence")
            with Vertical(id="observe", classes="frame") as observe:
                observe.border_title = "What torch did"
                yield TabStrip(id="views")
                for name in VIEWS:
                    yield RowsView(id=name, classes="-active" if name == self.view else "")
            explanation = RowsView(id="explanation", classes="frame")
            explanation.border_title = "Explanation"
            yield explanation
        yield TimeBar(self.glyphs, id="time")
        yield KeyLine(id="keys")

    def compose_answers(self) -> ComposeResult:
        """Widgets between the code and the sentence."""
        yield from ()

    @property
    def editor(self) -> CodeEditor:
        return self.query_one("#code", CodeEditor)

    @property
    def words(self) -> WordsOf:
        return self.services.words

    @property
    def narrow(self) -> bool:
        return self.has_class("-narrow")

    def frame_of(self, pane: str) -> Widget:
        """The bordered widget that holds a pane."""
        if pane in VIEWS:
            return self.query_one("#observe")
        return self.query_one("#code-frame" if pane == "code" else f"#{pane}")

    def widget_of(self, pane: str) -> Widget:
        """The widget that takes the focus for a pane."""
        return self.query_one(f"#{pane}")

    def on_mount(self) -> None:
        self.composed = True
        self.set_class(self._ascii, "-ascii")
        self._paint()
        self._paint_tabs()
        self._paint_keys()

    # -- showing ---------------------------------------------------------------------

    def watch_shown(self) -> None:
        if self.composed:
            self._paint()

    def watch_view(self, view: str) -> None:
        if self.composed:
            for name in VIEWS:
                self.query_one(f"#{name}").set_class(name == view, "-active")
            self._paint_tabs()

    def watch_pane(self) -> None:
        if self.composed:
            self._paint_tabs()

    def watch_running(self) -> None:
        if self.composed:
            self._paint_title()
            self._paint_keys()

    def watch_edited(self) -> None:
        if self.composed:
            self._paint_title()
            self._paint_marks()
            self._paint_sentence()
            self._paint_keys()

    def watch_live(self) -> None:
        if self.composed:
            self._paint_title()

    def _paint(self) -> None:
        """Hand every pane what it shows now."""
        for name, content in contents(
            self.shown, self.glyphs, self.words, self._graph_limit
        ).items():
            self.query_one(f"#{name}", RowsView).content = content
        self._paint_marks()
        self._paint_time()
        self._paint_sentence()
        self._paint_title()
        self._paint_keys()

    def _paint_marks(self) -> None:
        self.editor.marks = {} if self.edited else marks(self.shown, self.glyphs)
        self.editor.here = 0 if self.edited else self.shown.here()

    def _paint_time(self) -> None:
        view = self.shown
        bar = self.query_one("#time", TimeBar)
        if view.trace is None or view.live:
            words = "Running…" if view.live else "Nothing has run yet: r runs the code."
            bar.view = TimeView(words=words)
            return
        gaps = tuple(view.line.fraction(moment) for moment in view.line.gaps)
        words = moment_words(view.trace, view.line, view.moment)
        bar.view = TimeView(view.line.fraction(view.moment), words, gaps, shown=True)

    def _paint_sentence(self) -> None:
        view = self.query_one("#sentence", AnswersView)
        shown = self.shown
        text, role = sentence(shown.trace, shown.findings, shown.verdict, self.words)
        if shown.live or self.edited:
            text = ""
        sign = {"good": self.glyphs.ok, "bad": self.glyphs.bad, "warn": self.glyphs.bad}.get(
            role, ""
        )
        why = "  e: why" if role in ("bad", "warn") else ""
        spans: Spans = (Span(f"{sign} ", role), Span(text), Span(why, "link"))
        view.content = Content(partial(_sentence_rows, spans if text else ()))
        view.set_class(bool(text), "-some")

    def _paint_title(self) -> None:
        frame = self.query_one("#code-frame")
        said = "Code"
        if self.running:
            said = f"Code {self.glyphs.sep} running"
        elif self.edited and self.shown.trace is not None:
            said = f"Code {self.glyphs.sep} edited since the run"
        if self.live:
            said += f" {self.glyphs.sep} live"
        frame.border_title = said
        inside = self.editor.has_focus
        frame.border_subtitle = "Esc leaves the editor" if inside else ""

    def _paint_tabs(self) -> None:
        views = self.query_one("#views", TabStrip)
        views.tabs = tuple(Tab(name, TITLES[name]) for name in VIEWS)
        views.active = self.view
        strip = self.query_one("#tabs", TabStrip)
        strip.tabs = tuple(Tab(name, TITLES[name]) for name in self.panes())
        strip.active = self.pane
        active = self.frame_of(self.pane)
        for frame in self.query(".frame"):
            frame.set_class(frame is active, "-active")

    def _paint_keys(self) -> None:
        self.query_one("#keys", KeyLine).view = self.keys_now()

    def panes(self) -> tuple[str, ...]:
        """The panes that there are, in the order of the tabs."""
        return PANES

    # -- choosing panes --------------------------------------------------------------

    def action_show(self, pane: str) -> None:
        """Bring a pane to the front and into focus."""
        if pane not in self.panes():
            return
        if pane in VIEWS:
            self.view = pane
        self.pane = pane
        if self.has_class("-zoomed"):
            self._zoom(self.frame_of(pane))
        widget = self.widget_of(pane)
        if pane == "code" and widget is self.editor and self.narrow:
            self.set_focus(None)
        else:
            self.call_after_refresh(self._focus, widget)

    def _focus(self, widget: Widget) -> None:
        if widget.focusable:
            self.set_focus(widget)

    def action_edit(self) -> None:
        """Into the editor."""
        if "code" not in self.panes():
            return
        if self.editor.read_only:
            self.action_show("code")
            return
        self.pane = "code"
        if self.has_class("-zoomed"):
            self._zoom(self.frame_of("code"))
        self.call_after_refresh(self._focus, self.editor)

    @on(CodeEditor.Left)
    def _left_editor(self) -> None:
        if self.narrow or self.has_class("-zoomed"):
            self.set_focus(None)
        else:
            self._focus(self.query_one(f"#{self.view}"))

    @on(TabStrip.Chosen)
    def _tab_chosen(self, message: TabStrip.Chosen) -> None:
        self.action_show(message.pane)

    def on_descendant_focus(self) -> None:
        self._paint_title()
        self._paint_keys()

    def on_descendant_blur(self) -> None:
        self._paint_title()
        self._paint_keys()

    def action_zoom(self) -> None:
        """One pane alone, or all of them again."""
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
            for frame in self.query(".frame"):
                frame.remove_class("-zoom")
            return
        focused = self.focused
        around = focused.ancestors_with_self if focused else ()
        frames = (w for w in around if isinstance(w, Widget) and w.has_class("frame"))
        self._zoom(next(frames, self.frame_of(self.pane)))

    def _zoom(self, chosen: Widget) -> None:
        self.add_class("-zoomed")
        for frame in self.query(".frame"):
            frame.set_class(frame is chosen, "-zoom")

    # -- running ---------------------------------------------------------------------

    def action_run(self) -> None:
        """Run the code; while it runs, stop it."""
        if self.running:
            if self._cancel is not None:
                self._cancel.set()
            return
        first = self.ready_to_run()
        if first:
            self.notify(first)
            return
        self._run(self.editor.text)

    @work(exclusive=True, group="run", exit_on_error=False)
    async def _run(self, code: str) -> None:
        cancel = self._cancel = self.services.cancel()
        self.running = True
        self._graph_limit = LIMIT
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
            self.shown = growing(trace, self.editor.text, self.shown.main)

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
        self.notify("Live: the code runs when you pause." if self.live else "Live is off.")

    def on_unmount(self) -> None:
        if self._cancel is not None and self.running:
            self._cancel.set()

    # -- fixes and links -------------------------------------------------------------

    def action_apply_fix(self, number: int = 0) -> None:
        """Make a proposed change, as one step of undo, and run."""
        fixes = all_fixes(self.shown.findings, self.shown.main)
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
            self._graph_limit += LIMIT
            self._paint()
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
            self._zoom(self.frame_of("code"))
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

    def action_help(self) -> None:
        """The help page, about the pane in focus first."""
        from tutor.app.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.pane, self.glyphs))

    def shared_keys(self) -> tuple[Key, ...]:
        """Keys that depend on what happened, in order of importance."""
        if self.running:
            return (Key("r", "stop", "run"),)
        keys = [Key("r", "run", "run")]
        fixes = all_fixes(self.shown.findings, self.shown.main)
        if fixes and not self.edited and not self.editor.read_only:
            keys.insert(0, Key("a", "apply fix", "apply_fix"))
        if cause(self.shown) is not None:
            keys.append(Key("c", "cause", "cause"))
        return tuple(keys)


def _sentence_rows(spans: Spans, width: int) -> list[Row]:
    """The line under the editor; Enter or a click on it opens the explanation."""
    return [Row(line, action="why") for line in wrap(spans, width, "  ") if line]
