"""Painting: a result on all visible panes, against stock widgets of that text.

Both apps run without a terminal at 160 columns and 50 lines, where every pane is visible. The
clock starts when the result is there and stops with the last write that it led to.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.screen import Screen
from textual.widgets import Static, TextArea

from bench.measure import Compared
from tutor.app.app import TutorApp
from tutor.app.model.shown import Shown, shown
from tutor.app.panes import VIEWS
from tutor.app.real import RealServices
from tutor.app.screens.play import PlayScreen
from tutor.app.widgets.rows import RowsView
from tutor.explain import findings
from tutor.run import Runner
from tutor.trace import snippet

SIZE = (160, 50)

QUIET = 0.12
"""Seconds without a write after which a screen counts as painted."""

FAILS = """\
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, 0.5, 0.5], requires_grad=True)
y = (x * w).exp()
z = y.tanh() + y.sigmoid()
y.add_(1)
loss = (z * y).sum()
loss.backward()
print(x.grad)
"""
WORKS = FAILS.replace("y.add_(1)", "y = y + 1")

Texts = dict[str, str]
"""The text of each visible pane, by name."""


def results() -> tuple[Shown, ...]:
    """A run that fails and one that works, explained."""
    with Runner() as runner:
        traces = [(runner.run(snippet(code)), code) for code in (FAILS, WORKS)]
    states = tuple(shown(trace, tuple(findings(trace)), None, code) for trace, code in traces)
    if not states[0].findings:
        raise SystemExit("bench: the failing program was not explained, so there is no fair text")
    return states


class Timed(App[Any]):
    """Notes when it last wrote a change of the screen, and pays for writing it."""

    last_write = 0.0
    frames = 0

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        # Textual skips this without a terminal; the pinned version makes overriding it safe.
        if isinstance(renderable, CompositorUpdate):
            renderable.render_segments(self.console)
            self.last_write = time.perf_counter()
            self.frames += 1


class Stock(Timed):
    """The same panes of stock widgets: text areas and statics that scroll."""

    CSS: ClassVar[str] = """
    Grid { grid-size: 2 3; height: 1fr; }
    VerticalScroll, TextArea { border: round $border; }
    .line { height: 1; background: $panel; }
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self._names = names

    def compose(self) -> ComposeResult:
        yield Static(id="top", classes="line")
        with Grid():
            code = TextArea(id="code", show_line_numbers=True)
            code.cursor_blink = False  # else a blink may count as the last write
            yield code
            for name in self._names:
                with VerticalScroll():
                    yield Static(id=name)
        yield Static(id="time", classes="line")
        yield Static(id="keys", classes="line")

    def show(self, texts: Texts) -> None:
        """Put these texts on the panes."""
        for name, text in texts.items():
            if name == "code":
                self.query_one("#code", TextArea).load_text(text)
            else:
                self.query_one(f"#{name}", Static).update(text)


class Quiet(RealServices):
    """The real rooms, without the process for runs: it would start while we measure."""

    def start(self) -> None:
        pass


class Ours(Timed, TutorApp):
    """Our app, timed."""


async def painted(app: Timed, change: Callable[[], None]) -> float:
    """Seconds from a change until the last write of the screen that it led to."""
    await _settled(app)
    before = app.frames
    began = time.perf_counter()
    change()
    await _settled(app)
    if app.frames == before:
        raise SystemExit("bench: a new result changed nothing on the screen")
    return app.last_write - began


async def _settled(app: Timed) -> None:
    """Wait until nothing has been written for a while."""
    quiet_since, frames = time.perf_counter(), app.frames
    while time.perf_counter() - quiet_since < QUIET:
        await asyncio.sleep(0.01)
        if app.frames != frames:
            quiet_since, frames = time.perf_counter(), app.frames


async def ours(states: tuple[Shown, ...], rounds: int) -> tuple[list[float], list[Texts]]:
    """Times of our panes, and the text that they showed for each state."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AUTOGRAD_TUTOR_DATA"] = folder
        file = Path(folder) / "snippet.py"
        file.write_text(FAILS, encoding="utf-8")
        app = Ours(Quiet(), None, file)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, PlayScreen)
            screen.editor.cursor_blink = False
            states = tuple(replace(state, main=screen.main) for state in states)
            texts = [await _texts_of(app, screen, state) for state in states]
            times = []
            for number in range(rounds * 2):
                state = states[number % 2]
                times.append(await painted(app, partial(setattr, screen, "shown", state)))
    return times, texts


async def _texts_of(app: Timed, screen: PlayScreen, state: Shown) -> Texts:
    await painted(app, partial(setattr, screen, "shown", state))
    panes = {"explanation", screen.view} & {"explanation", *VIEWS}
    texts = {name: screen.query_one(f"#{name}", RowsView).text for name in sorted(panes)}
    notes = screen.editor.marks
    lines = state.code.split("\n")
    texts["code"] = "\n".join(
        f"{line}   {notes[number].note}" if number in notes else line
        for number, line in enumerate(lines, 1)
    )
    for name in ("top", "time", "keys"):
        bar = screen.query_one(f"#{name}")
        texts[name] = bar.render_line(0).text
    return texts


async def stock(texts: list[Texts], rounds: int) -> list[float]:
    """Times of stock widgets with the same texts."""
    panes = tuple(name for name in texts[0] if name not in ("code", "top", "time", "keys"))
    app = Stock(panes)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        times = []
        for number in range(rounds * 2):
            text = texts[number % 2]
            times.append(await painted(app, partial(app.show, text)))
    return times


async def _compare(rounds: int) -> Compared:
    states = results()
    mine: list[float] = []
    bare: list[float] = []
    for _ in range(3):  # in turns, as the other rows are
        times, texts = await ours(states, rounds)
        mine += times[2:]
        bare += (await stock(texts, rounds))[2:]
    return Compared(median(mine), median(bare), len(mine))


def compared_paint(rounds: int) -> Compared:
    """How soon a result is on the screen, ours against stock widgets."""
    return asyncio.run(_compare(rounds))
