"""The panes: which there are, what they are called, and what each shows.

View models of runs are imported with the first run (`tutor.app.views`): the first frame does
not wait for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from tutor.app.model.fixes import WordsOf
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.rows import Role, Row, Span, wrap
from tutor.app.model.shown import Shown
from tutor.app.widgets.bars import TimeView
from tutor.app.widgets.rows import Content

if TYPE_CHECKING:
    from tutor.app.model.mark import Mark

VIEWS = ("graph", "tensors", "versions", "output")
"""The observing panes, of which one is shown at a time."""

LIMIT = 400
"""Rows of the graph drawn before "more" is offered."""

TITLES: Mapping[str, str] = {
    "lesson": "Lesson",
    "code": "Code",
    "graph": "Graph",
    "tensors": "Tensors",
    "versions": "Versions",
    "output": "Output",
    "explanation": "Explanation",
}

_PROMISES: Mapping[str, str] = {
    "graph": "The graph that your code builds appears here, from each root down.",
    "tensors": "Each named tensor appears here, with its value, flags and gradient.",
    "versions": "Each version counter appears here, with every write and what it broke.",
    "output": "What your code prints appears here.",
    "explanation": "Run the code (r), and what happened is explained here.",
}


def contents(
    view: Shown, glyphs: Glyphs, words: WordsOf, graph_limit: int = LIMIT
) -> Mapping[str, Content]:
    """The content of each pane of rows, by its id."""
    if view.trace is None:
        return {pane: Content(partial(_promise, words)) for pane, words in _PROMISES.items()}
    from tutor.app.views import run_contents

    return run_contents(view, glyphs, words, graph_limit)


def _promise(words: str, width: int) -> list[Row]:
    """What a pane will show."""
    return [Row(line) for line in wrap((Span(words, "dim"),), width)]


def marks(view: Shown, glyphs: Glyphs) -> Mapping[int, Mark]:
    """The editor's marks."""
    if view.trace is None or view.live:
        return {}
    from tutor.app.views import run_marks

    return run_marks(view, glyphs)


def here(view: Shown) -> int:
    """The line that the moment stands at (0: none)."""
    return 0 if view.trace is None else view.here()


def time_view(view: Shown, before: str, *, running: bool, ready: bool) -> TimeView:
    """The time slider, or where there is none yet, what to do."""
    if running:
        waits = not ready and not view.live
        return TimeView(words="Loading torch; the run waits for it…" if waits else "Running…")
    if view.trace is None or view.live:
        return TimeView(words=before)
    from tutor.app.views import run_time

    return run_time(view)


def sentence(view: Shown, words: WordsOf) -> tuple[str, Role]:
    """The run in one line ("" where there is none)."""
    if view.trace is None or view.live:
        return "", "dim"
    from tutor.app.views import run_sentence

    return run_sentence(view, words)
