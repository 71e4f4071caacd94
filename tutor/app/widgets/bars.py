"""The one-line widgets: the top line, the strip of tabs, the time slider, the line of keys."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from tutor.app.model.glyphs import Glyphs
from tutor.app.model.rows import Role, Span, Spans, cut, split, width_of
from tutor.app.widgets.styles import palette_of


class Bar(Widget):
    """One row of spans; subclasses say which."""

    DEFAULT_CSS = """
    Bar { height: 1; }
    """

    def spans(self, width: int) -> Spans:
        """What to show in `width` cells."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        width = self.size.width
        if y:
            return Strip.blank(width, base)
        style = palette_of(self).style
        segments = [
            Segment(span.text, base + style(f"role--{span.role}") if span.role else base)
            for span in self.spans(width)
        ]
        return Strip(segments).adjust_cell_length(width, base)


@dataclass(frozen=True)
class Top:
    """Where the learner is: names from outer to inner, the step, and how the steps stand."""

    trail: tuple[str, ...] = ("autograd-tutor",)
    step: str = ""
    dots: Spans = ()


class TopLine(Bar):
    """The first line of the screen."""

    view: reactive[Top] = reactive(Top())

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs

    def spans(self, width: int) -> Spans:
        view = self.view
        right: Spans = ()
        if view.step:
            right = (Span(view.step + "  ", "dim"), *view.dots, Span(" "))
        trail = list(view.trail)
        sep = f" {self._glyphs.sep} "
        while len(trail) > 1 and cell_len(sep.join(trail)) + 3 + width_of(right) > width:
            trail.pop(0)
        left: list[Span] = [Span(" ")]
        for number, name in enumerate(trail):
            if number:
                left.append(Span(sep, "dim"))
            last = number == len(trail) - 1
            left.append(Span(name, "strong" if last else "dim"))
        return split(tuple(left), right, width, self._glyphs.more)


@dataclass(frozen=True)
class Tab:
    """One pane to go to; `dot` marks that there is something to see."""

    id: str
    label: str
    dot: str = ""
    role: Role = ""


class TabStrip(Bar):
    """Names of panes, the shown one marked; a click shows another."""

    tabs: reactive[tuple[Tab, ...]] = reactive(())
    active: reactive[str] = reactive("")

    class Chosen(Message):
        """A click on a tab."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def spans(self, width: int) -> Spans:
        roomy = sum(cell_len(t.label) + 3 for t in self.tabs) <= width
        spans: list[Span] = []
        for tab in self.tabs:
            active = tab.id == self.active
            pad = " " if roomy else ""
            text = f"{pad}{tab.label}{pad}"
            spans.append(Span(text, "active" if active else "dim"))
            spans.append(Span(tab.dot or " ", tab.role))
        return cut(tuple(spans), width)

    def on_click(self, event: events.Click) -> None:
        at = 0
        roomy = sum(cell_len(t.label) + 3 for t in self.tabs) <= self.size.width
        for tab in self.tabs:
            at += cell_len(tab.label) + (3 if roomy else 1)
            if event.x < at:
                self.post_message(self.Chosen(tab.id))
                return


@dataclass(frozen=True)
class TimeView:
    """What the slider shows: how far along, in words, and where nothing is kept."""

    fraction: float = 1.0
    words: str = ""
    gaps: tuple[float, ...] = ()
    shown: bool = False
    live: bool = False


class TimeBar(Bar):
    """The time slider: a rail with a knob, and where that is."""

    view: reactive[TimeView] = reactive(TimeView())

    class Moved(Message):
        """A click or a drag: to this place on the rail, from 0 to 1."""

        def __init__(self, fraction: float) -> None:
            super().__init__()
            self.fraction = fraction

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs
        self._rail = (1, 1)

    def spans(self, width: int) -> Spans:
        view, glyphs = self.view, self._glyphs
        if not view.shown:
            return (Span(" "), Span(view.words, "dim"))
        keys = "  [ ] line  { } call  ( ) backward" if width >= 100 else ""
        words = f" {view.words} "
        room = width - cell_len(words) - cell_len(keys) - 2
        if room < 12:
            keys = ""
            room = width - cell_len(words) - 2
        room = max(6, room)
        knob = round(view.fraction * (room - 1))
        rail = [glyphs.rail] * room
        for gap in view.gaps:
            rail[round(gap * (room - 1))] = glyphs.gap
        self._rail = (1, room)
        return cut(
            (
                Span(" "),
                Span("".join(rail[:knob]), "rail"),
                Span(glyphs.knob, "key"),
                Span("".join(rail[knob + 1 :]), "dim"),
                Span(words, "" if view.fraction >= 1 else "new"),
                Span(keys, "dim"),
            ),
            width,
            glyphs.more,
        )

    def _at(self, x: int) -> None:
        if self.view.shown:
            start, room = self._rail
            self.post_message(self.Moved(max(0.0, min(1.0, (x - start) / max(1, room - 1)))))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        self._at(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button and self.app.mouse_captured is self:
            self._at(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()


@dataclass(frozen=True)
class Key:
    """A key to name at the bottom: how it is written, what it does, the action it runs.

    `always`: other keys make room for it.
    """

    label: str
    words: str
    action: str
    always: bool = False

    @property
    def width(self) -> int:
        """Cells, with the two that keep it apart from the next."""
        return cell_len(self.label) + 1 + cell_len(self.words) + 2


@dataclass(frozen=True)
class Keys:
    """Keys in order of importance, and a word at the left end."""

    keys: tuple[Key, ...] = ()
    lead: Spans = field(default=())


class KeyLine(Bar):
    """The last line: as many keys as fit, each can be clicked."""

    view: reactive[Keys] = reactive(Keys())

    class Pressed(Message):
        """A click on a key."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def _shown(self, width: int) -> list[tuple[Key, int]]:
        at = width_of(self.view.lead) + 1
        room = width - at + 2  # nothing stands after the last one
        room -= sum(key.width for key in self.view.keys if key.always)
        shown: list[tuple[Key, int]] = []
        for key in self.view.keys:
            if not key.always:
                if key.width > room:
                    continue
                room -= key.width
            shown.append((key, at))
            at += key.width
        return shown

    def spans(self, width: int) -> Spans:
        spans: list[Span] = [Span(" "), *self.view.lead]
        for key, _ in self._shown(width):
            spans.append(Span(key.label, "key"))
            spans.append(Span(f" {key.words}  "))
        return tuple(spans)

    def on_click(self, event: events.Click) -> None:
        for key, at in self._shown(self.size.width):
            if at <= event.x < at + cell_len(key.label) + 1 + cell_len(key.words):
                self.post_message(self.Pressed(key.action))
                return
