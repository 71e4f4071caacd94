"""Where boxes and edges go: by Graphviz's `dot` where it is installed, else by graphlay."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Engine = Literal["dot", "graphlay"]

PATIENCE = 10.0
"""Seconds that `dot` may take before the other one does it."""

_INCH = 72.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of the boxes and ways of the edges, in pixels from the top left.

    A curved way is a start and then three control points for each cubic curve; else its points
    are joined by straight lines.
    """

    width: float
    height: float
    centres: tuple[Point, ...]
    ways: tuple[tuple[Point, ...], ...]
    curved: bool


def engine() -> Engine:
    """What draws here."""
    return "dot" if shutil.which("dot") else "graphlay"


def arrange(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    chosen: Engine | None = None,
) -> Layout:
    """Layers from top to bottom; sizes are (width, height) in pixels, edges without circles."""
    if not sizes:
        return Layout(0.0, 0.0, (), (), False)
    if (chosen or engine()) == "dot":
        try:
            return _dot(sizes, edges)
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            pass  # broken, missing or too slow
    return _graphlay(sizes, edges)


def _dot(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    lines = [
        "digraph {",
        "nodesep=0.3; ranksep=0.4;",
        'node [shape=box, fixedsize=true, label=""]; edge [arrowhead=none];',
    ]
    for index, (width, height) in enumerate(sizes):
        lines.append(f"n{index} [width={width / _INCH:.4f}, height={height / _INCH:.4f}];")
    lines += [f"n{source} -> n{target};" for source, target in edges]
    lines.append("}")
    told = subprocess.run(
        ["dot", "-Tplain"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stdout
    width = height = 0.0
    centres: dict[int, Point] = {}
    ways: dict[tuple[int, int], tuple[Point, ...]] = {}
    for row in told.replace("\\\n", "").splitlines():
        words = row.split()
        if words[0] == "graph":
            width, height = float(words[2]) * _INCH, float(words[3]) * _INCH
        elif words[0] == "node":
            number = int(words[1].removeprefix("n"))
            centres[number] = (float(words[2]) * _INCH, height - float(words[3]) * _INCH)
        elif words[0] == "edge":
            ends = int(words[1].removeprefix("n")), int(words[2].removeprefix("n"))
            places = [float(word) * _INCH for word in words[4 : 4 + 2 * int(words[3])]]
            ways[ends] = tuple(
                (x, height - y) for x, y in zip(places[::2], places[1::2], strict=True)
            )
    if len(centres) != len(sizes):
        raise ValueError("dot left boxes out")
    return Layout(
        width,
        height,
        tuple(centres[index] for index in range(len(sizes))),
        tuple(ways.get(edge, ()) for edge in edges),
        True,
    )


def _graphlay(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    import graphlay

    graph = graphlay.Graph()
    for index, (width, height) in enumerate(sizes):
        graph.node(str(index), width=width, height=height)
    for source, target in edges:
        graph.edge(str(source), str(target))
    options = {
        "direction": "topbottom",
        "spacing": {"layer_gap": 34.0, "node_gap": 24.0},
        "routing": {"style": "diagonal"},
    }
    drawing = graphlay.layout(graph, options=options)
    placed = drawing.positions()
    centres = [(float(placed[str(i)][0]), float(placed[str(i)][1])) for i in range(len(sizes))]
    ways = [tuple((float(p["x"]), float(p["y"])) for p in edge["points"]) for edge in drawing.edges]
    spans = [(x, y, w / 2, h / 2) for (x, y), (w, h) in zip(centres, sizes, strict=True)]
    points = [point for way in ways for point in way]
    left = min([x - w for x, _, w, _ in spans] + [x for x, _ in points])
    top = min([y - h for _, y, _, h in spans] + [y for _, y in points])
    right = max([x + w for x, _, w, _ in spans] + [x for x, _ in points])
    bottom = max([y + h for _, y, _, h in spans] + [y for _, y in points])
    return Layout(
        right - left,
        bottom - top,
        tuple((x - left, y - top) for x, y in centres),
        tuple(tuple((x - left, y - top) for x, y in way) for way in ways),
        False,
    )
