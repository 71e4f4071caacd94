"""The graph alone, as one SVG file: nodes, what they saved and its state, leaves, gradients."""

from __future__ import annotations

from tutor.report import draw, palette
from tutor.report.escape import escaped
from tutor.report.layout import Engine
from tutor.report.picture import picture, shown_pass
from tutor.report.style import width as cells
from tutor.report.subject import Diagnosed

LEGEND = "✓ kept   ✗ changed since it was saved   ✂ freed   arrows: the way of the gradient"

_TOP = 46.0


def render(diagnosis: Diagnosed, chosen: Engine | None = None) -> str:
    """The document. A failed pass is shown if there is one, else the last; else what is alive."""
    trace = diagnosis.trace
    shown = picture(trace, shown_pass(trace), (trace.last,))
    if shown is None:
        title = "No graph: no backward ran, and nothing at the end has a grad_fn."
        return _document(title, draw.Drawn("", 0.0, 0.0))
    title = shown.title
    if shown.nodes > len(shown.shapes):
        title += f" ({shown.nodes} nodes, folded)"
    return _document(title, draw.draw(shown, chosen=chosen))


def _document(title: str, drawn: draw.Drawn) -> str:
    legend = LEGEND if drawn.text else ""
    wide = max(drawn.width, (max(cells(title), cells(legend)) + 4) * draw.LETTER)
    high = drawn.height + (_TOP if legend else 30.0)
    left = (wide - drawn.width) / 2
    inner = drawn.text.replace("<svg ", f'<svg x="{left:.0f}" y="{_TOP:.0f}" ', 1)
    return (
        f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} '
        f'{high:.0f}" width="{wide:.0f}" height="{high:.0f}" role="img" '
        f'aria-labelledby="title"><title id="title">{escaped(title)}</title>'
        f"<style>{palette.variables()}:root{{--mono:{palette.FONT}}}{draw.STYLE}"
        ".off{display:none}.graph .ground{fill:var(--bg);stroke:none}</style>"
        '<rect class="ground" width="100%" height="100%"/>'
        f'<text class="strong" x="12" y="20">{escaped(title)}</text>'
        f'<text class="dim" x="12" y="38">{escaped(legend)}</text>{inner}</svg>'
    )
