"""The view models of a run bound to it; imported with the first run, not with the first frame."""

from __future__ import annotations

from tutor.app.model.explanation import explanation_rows, sentence
from tutor.app.model.fixes import WordsOf
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.graph import graph_rows
from tutor.app.model.mark import Mark
from tutor.app.model.marks import line_marks
from tutor.app.model.output import output_rows
from tutor.app.model.rows import Role, Row, Span
from tutor.app.model.shown import Shown
from tutor.app.model.tensors import tensor_rows
from tutor.app.model.timeline import moment_words
from tutor.app.model.versions import version_rows
from tutor.app.widgets.bars import TimeView
from tutor.app.widgets.rows import Content


def run_contents(
    view: Shown, glyphs: Glyphs, words: WordsOf, graph_limit: int
) -> dict[str, Content]:
    """What each pane of rows shows of a run."""
    trace, main = view.trace, view.main
    assert trace is not None
    about = (id(trace), view.live)
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


def run_marks(view: Shown, glyphs: Glyphs) -> dict[int, Mark]:
    """The editor's marks."""
    assert view.trace is not None
    return line_marks(view.trace, view.line, view.state, view.findings, view.main, glyphs)


def run_time(view: Shown) -> TimeView:
    """The slider at the view's moment."""
    assert view.trace is not None
    line = view.line
    gaps = tuple(line.fraction(moment) for moment in line.gaps)
    words = moment_words(view.trace, line, view.moment)
    return TimeView(line.fraction(view.moment), words, gaps, shown=True)


def run_sentence(view: Shown, words: WordsOf) -> tuple[str, Role]:
    """The run in one line."""
    return sentence(view.trace, view.findings, view.verdict, words)
