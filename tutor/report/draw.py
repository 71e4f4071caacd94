"""A picture as SVG: boxes of text and arrows, the gradient's way from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tutor.report.escape import escaped
from tutor.report.film import Slot, Variant
from tutor.report.layout import Engine, Layout, Point, arrange
from tutor.report.picture import Picture, Shape
from tutor.report.style import width as cells

LETTER = 7.3
"""Pixels of one letter at 12 pixels: in most monospace fonts 0.6 of the height, or a bit more."""

SMALLEST = 0.65
"""How far a page may shrink a picture before it scrolls instead."""

ROW = 17.0
PAD = 9.0
MARGIN = 12.0

STYLE = """
svg.graph{font:12px/1 var(--mono)}
.graph text{fill:var(--fg);white-space:pre}
.graph rect{fill:var(--panel);stroke:var(--line)}
.graph .module rect,.graph .repeat rect,.graph .rest rect{stroke:var(--dim);stroke-width:1.5}
.graph .repeat rect{stroke-dasharray:6 3}
.graph .rest rect{stroke-dasharray:2 3}
.graph .leaf rect,.graph .leaves rect{fill:var(--bg);stroke:var(--name)}
.graph .failed rect{stroke:var(--bad);stroke-width:2.5}
.graph path{fill:none;stroke:var(--dim);stroke-width:1.2}
.graph marker path{fill:var(--dim);stroke:none}
.graph .dim{fill:var(--dim)}.graph .strong{font-weight:700}
.graph .name{fill:var(--name)}.graph .code{fill:var(--code)}
.graph .good{fill:var(--good)}.graph .bad{fill:var(--bad)}.graph .warn{fill:var(--warn)}
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An `<svg>` element and its size in pixels."""

    text: str
    width: float
    height: float


Link = Callable[[str, int], str]
"""From (file, line) to the address of that line in the document, "" if it has none."""


def draw(
    picture: Picture,
    link: Link = lambda file, line: "",
    chosen: Engine | None = None,
    key: str = "graph",
    last: int = 0,
) -> Drawn:
    """The picture as an element. `key` tells its ids from others'; `last` is the last stop."""
    sizes = [size(shape) for shape in picture.shapes]
    layout = arrange(sizes, picture.edges, chosen)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    since = [shape.since for shape in picture.shapes]
    parts = [
        f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} '
        f'{height:.0f}" width="{width:.0f}" height="{height:.0f}" role="group" '
        f'style="min-width:{width * SMALLEST:.0f}px" '
        f'aria-label="{escaped(picture.title)}">',
        f'<defs><marker id="{key}-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
        f'<g transform="translate({MARGIN:.0f} {MARGIN:.0f})">',
    ]
    for (source, target), way in zip(picture.edges, layout.ways, strict=True):
        time = _time(max(since[source], since[target]), None)
        parts.append(
            f'<path d="{_way(way, layout)}" marker-end="url(#{key}-arrow)"{time}/>' if way else ""
        )
    for shape, centre, (wide, high) in zip(picture.shapes, layout.centres, sizes, strict=True):
        parts.append(_shape(shape, centre, wide, high, link, last))
    parts.append("</g></svg>")
    return Drawn("".join(parts), width, height)


def size(shape: Shape) -> tuple[float, float]:
    """Width and height of a box in pixels: room for each variant of each row."""
    letters = max((cells(v.text) for slot in shape.rows for v in slot), default=8)
    return letters * LETTER + 2 * PAD, len(shape.rows) * ROW + PAD


def _shape(shape: Shape, centre: Point, wide: float, high: float, link: Link, last: int) -> str:
    left, top = centre[0] - wide / 2, centre[1] - high / 2
    failed = " failed" if shape.bad else ""
    body = [
        f'<g class="{shape.kind}{failed}"{_time(shape.since, None)}>'
        f"<title>{escaped(shape.tip)}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="6"/>'
    ]
    for number, slot in enumerate(shape.rows):
        y = top + PAD / 2 + ROW * (number + 1) - 5
        body += _row(slot, left + PAD, y, last)
    body.append("</g>")
    address = link(*shape.place) if shape.place is not None else ""
    text = "".join(body)
    return f'<a href="{escaped(address)}">{text}</a>' if address else text


def _row(slot: Slot, x: float, y: float, last: int) -> Iterable[str]:
    for variant in slot:
        spans = "".join(
            f'<tspan class="{piece.style}">{escaped(piece.text)}</tspan>'
            if piece.style
            else f"<tspan>{escaped(piece.text)}</tspan>"
            for piece in variant.line
        )
        yield f'<text x="{x:.1f}" y="{y:.1f}"{time_of(variant, last)}>{spans}</text>'


def time_of(variant: Variant, last: int) -> str:
    """The attributes that say when an element is shown; it is hidden now if that is not `last`."""
    over = variant.until is not None and variant.until <= last
    return _time(variant.since, variant.until) + (' class="off"' if over else "")


def _time(since: int, until: int | None) -> str:
    begin = f' data-a="{since}"' if since or until is not None else ""
    return begin + (f' data-z="{until}"' if until is not None else "")


def _way(way: tuple[Point, ...], layout: Layout) -> str:
    start = f"M{way[0][0]:.1f} {way[0][1]:.1f}"
    sign = "C" if layout.curved else "L"
    return start + sign + " ".join(f"{x:.1f} {y:.1f}" for x, y in way[1:])
