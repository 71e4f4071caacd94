"""The screen of panes: prose, code, what torch did, the explanation, and time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from tutor.app.model.fixes import WordsOf
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.rows import Row, Span, Spans, wrap
from tutor.app.model.shown import Shown
from tutor.app.panes import (
    LIMIT,
    TITLES,
    VIEWS,
    contents,
    here,
    marks,
    sentence,
    time_view,
)
from tutor.app.services import Services
from tutor.app.widgets.answers import AnswersView
from tutor.app.widgets.bars import KeyLine, Keys, Tab, TabStrip, TimeBar, TopLine
from tutor.app.widgets.editor import CodeEditor
from tutor.app.widgets.prose import ProsePane
from tutor.app.widgets.rows import Content, RowsView
from tutor.app.widgets.styles import Palette

if TYPE_CHECKING:
    from tutor.app.app import TutorApp

PANES = ("lesson", "code", *VIEWS, "explanation")


class PanesScreen(Screen[None]):
    """Lays the panes out, hands them what is shown, and brings them to the front."""

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
        self.graph_limit = LIMIT
        self.composed = False
        """Whether the widgets are there to be handed something."""
        self._ascii = ascii_borders

    def keys_now(self) -> Keys:
        """The keys to name at the bottom."""
        raise NotImplementedError

    # -- parts -----------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield Palette()
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
                    view = RowsView(id=name)
                    view.border_title = f" {TITLES[name]} "
                    yield view
            explanation = RowsView(id="explanation", classes="frame")
            explanation.border_title = "Explanation"
            yield explanation
        yield TimeBar(self.glyphs, id="time")
        yield KeyLine(id="keys")

    def compose_answers(self) -> ComposeResult:
        """Widgets between the code and the sentence."""
        yield from ()

    @property
    def tutor(self) -> TutorApp:
        return cast("TutorApp", self.app)

    @property
    def editor(self) -> CodeEditor:
        return self.query_one("#code", CodeEditor)

    @property
    def typing(self) -> bool:
        """Whether letters are text now, in the editor or in a field."""
        focused = self.focused
        return focused is not None and focused.check_consume_key("x", "x")

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
        self.live = self.tutor.settings.live
        self._show_view()
        self.paint()
        self.paint_tabs()
        self.paint_keys()

    # -- showing ---------------------------------------------------------------------

    def watch_shown(self) -> None:
        if self.composed:
            self.paint()

    def watch_view(self) -> None:
        if self.composed:
            self._show_view()
            self.paint_tabs()

    def _show_view(self) -> None:
        """The chosen view; where there is room for two, one beside the graph."""
        beside = self.view if self.view != "graph" else "tensors"
        for name in VIEWS:
            widget = self.query_one(f"#{name}")
            widget.set_class(name == self.view, "-active")
            widget.set_class(name == beside, "-beside")

    def watch_pane(self) -> None:
        if self.composed:
            self.paint_tabs()

    def watch_running(self) -> None:
        if self.composed:
            self.paint_title()
            self.paint_time()
            self.paint_keys()

    def watch_edited(self) -> None:
        if self.composed:
            self.paint_title()
            self.paint_marks()
            self.paint_sentence()
            self.paint_keys()

    def watch_live(self) -> None:
        if self.composed:
            self.paint_title()

    def paint(self) -> None:
        """Hand every pane what it shows now."""
        for name, content in contents(
            self.shown, self.glyphs, self.words, self.graph_limit
        ).items():
            self.query_one(f"#{name}", RowsView).content = content
        self.paint_marks()
        self.paint_time()
        self.paint_sentence()
        self.paint_title()
        self.paint_keys()

    def paint_marks(self) -> None:
        self.editor.marks = {} if self.edited else marks(self.shown, self.glyphs)
        self.editor.here = 0 if self.edited else here(self.shown)

    def paint_time(self) -> None:
        bar = self.query_one("#time", TimeBar)
        bar.view = time_view(
            self.shown, self.before_run(), running=self.running, ready=self.services.ready
        )

    def done_words(self, *, otherwise: bool) -> str:
        """What to say under the code when the step is done, or the run said otherwise."""
        return "The run says otherwise. n goes on." if otherwise else "Done. n goes on."

    def before_run(self) -> str:
        """What to do while nothing has run."""
        return "Nothing has run yet: r runs the code."

    def paint_sentence(self) -> None:
        view = self.query_one("#sentence", AnswersView)
        text, role = sentence(self.shown, self.words)
        verdict = self.shown.verdict
        if verdict is not None and verdict.done:
            text = self.done_words(otherwise=verdict.chosen_right is False)
        if self.edited:
            text = ""
        done = verdict is not None and verdict.done
        warns = self.glyphs.mark if done else self.glyphs.bad
        sign = {"good": self.glyphs.ok, "bad": self.glyphs.bad, "warn": warns}.get(role, "")
        why = "  e: why" if role in ("bad", "warn") else ""
        spans: Spans = (Span(f"{sign} ", role), Span(text), Span(why, "link"))
        view.content = Content(partial(_sentence_rows, spans if text else ()))
        view.set_class(bool(text), "-some")

    def paint_title(self) -> None:
        frame = self.query_one("#code-frame")
        said = "Code"
        if self.running:
            said = f"Code {self.glyphs.sep} running"
        elif self.edited and self.shown.trace is not None:
            said = f"Code {self.glyphs.sep} edited since the run"
        if self.live:
            said += f" {self.glyphs.sep} live"
        frame.border_title = said
        frame.border_subtitle = "Esc leaves the editor" if self.typing else ""

    def paint_tabs(self) -> None:
        views = self.query_one("#views", TabStrip)
        views.tabs = tuple(Tab(name, TITLES[name]) for name in VIEWS)
        views.active = self.view
        strip = self.query_one("#tabs", TabStrip)
        strip.tabs = tuple(Tab(name, TITLES[name]) for name in self.panes())
        strip.active = self.pane
        self.set_class(self.pane == "lesson", "-reading")
        active = self.frame_of(self.pane)
        for frame in self.query(".frame"):
            frame.set_class(frame is active, "-active")

    def paint_keys(self) -> None:
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
            self.zoom_to(self.frame_of(pane))
        widget = self.widget_of(pane)
        alone = self.narrow or self.has_class("-zoomed")
        if pane == "code" and widget is self.editor and alone:
            self.set_focus(None)
        else:
            self.call_after_refresh(self.focus_on, widget)

    def focus_on(self, widget: Widget) -> None:
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
            self.zoom_to(self.frame_of("code"))
        self.call_after_refresh(self.focus_on, self.editor)

    @on(CodeEditor.Left)
    def leave_code(self) -> None:
        """Out of the editor: letters are keys again."""
        if self.narrow or self.has_class("-zoomed"):
            self.set_focus(None)
        else:
            self.focus_on(self.query_one(f"#{self.view}"))

    def action_leave(self) -> None:
        """Out of the editor."""
        self.leave_code()

    @on(TabStrip.Chosen)
    def _tab_chosen(self, message: TabStrip.Chosen) -> None:
        self.action_show(message.pane)

    def on_descendant_focus(self) -> None:
        self.paint_title()
        self.paint_keys()

    def on_descendant_blur(self) -> None:
        self.paint_title()
        self.paint_keys()

    def action_zoom(self) -> None:
        """One pane alone, or all of them again."""
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
            for frame in self.query(".frame"):
                frame.remove_class("-zoom")
            return
        if self.narrow and not (self.pane == "lesson" and self.has_class("-coded")):
            self.notify("One pane fills the screen already. Wider than 99 columns, z zooms.")
            return
        focused = self.focused
        around = focused.ancestors_with_self if focused else ()
        frames = (w for w in around if isinstance(w, Widget) and w.has_class("frame"))
        self.zoom_to(next(frames, self.frame_of(self.pane)))

    def zoom_to(self, chosen: Widget) -> None:
        self.add_class("-zoomed")
        for frame in self.query(".frame"):
            frame.set_class(frame is chosen, "-zoom")


def _sentence_rows(spans: Spans, width: int) -> list[Row]:
    """The line under the editor; Enter or a click on it opens the explanation."""
    return [Row(line, action="why") for line in wrap(spans, width, "  ") if line]
