"""The graphs of a run: one picture for each of the passes that matter, each with its time."""

from __future__ import annotations

from dataclasses import dataclass

from tutor.report import graph as rows
from tutor.report.draw import draw
from tutor.report.escape import escaped
from tutor.report.html.code import Listing
from tutor.report.html.markup import time
from tutor.report.html.reel import Reel
from tutor.report.picture import picture, shown_pass
from tutor.report.style import Style
from tutor.report.values import main_file, place_text
from tutor.trace.events import NONE
from tutor.trace.state import PassState
from tutor.trace.trace import Trace

PICTURES = 6
"""Graphs drawn at the most."""


@dataclass(frozen=True, slots=True)
class Graphs:
    """The markup, the passes that were drawn, and how many were not."""

    markup: str
    drawn: tuple[PassState, ...]
    left_out: int


def graphs(trace: Trace, reel: Reel, code: Listing, moments: set[int]) -> Graphs:
    """Pictures of the first and last passes, of failed ones, and those at these moments."""
    passes = [run for run in trace.passes if any(node != NONE for _, node in run.event.roots)]
    outer = [run for run in passes if not run.event.nested] or passes
    chosen = _chosen(trace, outer, moments)
    figures: list[str] = []
    begin = 0
    best = shown_pass(trace)
    for index, run in enumerate(chosen or [None]):
        final = index >= len(chosen) - 1
        end = reel.last + 1 if final or run is None else reel.after(_end(trace, run)) + 1
        if begin >= end:
            continue
        shown = picture(trace, run, reel.states[begin:end], begin)
        if shown is None:
            continue
        keep = "keep" if run is best else ""
        drawn = draw(shown, lambda f, n: _row(code, f, n), key=f"g{index}", last=reel.last)
        folded = f" {shown.nodes} nodes, folded." if shown.nodes > len(shown.shapes) else ""
        figures.append(
            f"<figure{time(begin, None if final else end, reel.last, keep)}>"
            f"<figcaption>{escaped(shown.title)}.{folded}</figcaption>"
            f'<div class="wide" tabindex="0" role="region" aria-label="graph">{drawn.text}</div>'
            f"{_as_text(trace, run)}</figure>"
        )
        begin = end
    return Graphs("".join(figures), tuple(chosen), len(outer) - len(chosen))


def _chosen(trace: Trace, passes: list[PassState], moments: set[int]) -> list[PassState]:
    if len(passes) <= PICTURES:
        return passes
    wanted = [run for run in passes if run.ended and not run.ok][-2:]
    wanted += [passes[-1], passes[0]]
    near = [run for run in passes if any(run.moment <= m <= _end(trace, run) + 1 for m in moments)]
    wanted += [*near, passes[1], passes[-2]]
    kept: dict[int, PassState] = {}
    for run in wanted:
        if len(kept) < PICTURES:
            kept.setdefault(run.run, run)
    return sorted(kept.values(), key=lambda run: run.moment)


def _end(trace: Trace, run: PassState) -> int:
    return run.end_moment if run.end_moment != NONE else len(trace)


def _row(code: Listing, file: str, line: int) -> str:
    row = code.row(file, line)
    return f"#{row}" if row else ""


def _as_text(trace: Trace, run: PassState | None) -> str:
    """The same graph in lines, for who cannot see the picture."""
    if run is None:
        return ""
    lines = rows.render(rows.graph(trace, run, 40), Style())
    place = run.site[-1] if run.site else None
    where = place_text(place, main_file(trace)) if place is not None else "a backward"
    return (
        f"<details><summary>The graph as text ({escaped(where)})</summary>"
        f"<pre>{escaped(chr(10).join(lines))}</pre></details>"
    )
