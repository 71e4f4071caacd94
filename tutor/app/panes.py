"""What each pane shows of a run: view models bound to their data, waiting for a width."""

from __future__ import annotations

from collections.abc import Mapping

from tutor.app.model.explanation import WordsOf, explanation_rows
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.graph import LIMIT, graph_rows
from tutor.app.model.marks import Mark, line_marks
from tutor.app.model.output import output_rows
from tutor.app.model.rows import Row, Span, wrap
from tutor.app.model.shown import Shown
from tutor.app.model.tensors import tensor_rows
from tutor.app.model.versions import version_rows
from tutor.app.widgets.rows import Content

VIEWS = ("graph", "tensors", "versions", "output")
"""The observing panes, of which one is shown at a time."""

TITLES: Mapping[str, str] = {
    "lesson": "Lesson",
    "code": "Code",
    "graph": "Graph",
    "tensors": "Tensors",
    "versions": "Versions",
    "output": "Output",
    "explanation": "Explanation",
}


def contents(
    view: Shown, glyphs: Glyphs, words: WordsOf, graph_limit: int = LIMIT
) -> dict[str, Content]:
    """The content of each pane of rows, by its id."""
    trace, main = view.trace, view.main
    about = (id(trace), view.live)
    if trace is None:
        empty = {pane: Content(_before_run(pane)) for pane in VIEWS}
        return {
            **empty,
            "explanation": Content(lambda width: explained(view, words, width, glyphs)),
        }
    return {
        "graph": Content(
            lambda width: graph_rows(view.state, width, glyphs, graph_limit, main), about
        ),
        "tensors": Content(
            lambda width: tensor_rows(view.state, view.before, width, glyphs), about
        ),
        "versions": Content(
            lambda width: version_rows(trace, view.state, width, glyphs, main), about
        ),
        "output": Content(lambda width: output_rows(trace, view.state, width, main), about),
        "explanation": Content(lambda width: explained(view, words, width, glyphs), about),
    }


def explained(view: Shown, words: WordsOf, width: int, glyphs: Glyphs) -> list[Row]:
    """The explanation pane; while the code runs, that it does."""
    if view.live:
        return [Row((Span("Running…  r stops it.", "dim"),))]
    return explanation_rows(
        view.trace, view.findings, view.verdict, words, width, view.main, glyphs, view.code
    )


def marks(view: Shown, glyphs: Glyphs) -> dict[int, Mark]:
    """The editor's marks."""
    if view.trace is None or view.live:
        return {}
    return line_marks(view.trace, view.line, view.state, view.findings, view.main, glyphs)


_PROMISES: Mapping[str, str] = {
    "graph": "The graph that your code builds appears here, from each root down.",
    "tensors": "Each named tensor appears here, with its value, flags and gradient.",
    "versions": "Each version counter appears here, with every write and what it broke.",
    "output": "What your code prints appears here.",
}


def _before_run(pane: str):  # type: ignore[no-untyped-def]
    """A sentence about what a pane will show."""
    words = _PROMISES[pane]
    return lambda width: [Row(line) for line in wrap((Span(words, "dim"),), width)]
