"""The version counters as rows: each write with its line, and under it the saves it broke."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.graph import latest_pass
from tutor.app.model.names import all_names, op_name, place_text
from tutor.app.model.rows import BLANK, Row, Span, Spans, Target, wrap
from tutor.trace.events import NONE, Save
from tutor.trace.state import CounterState, NodeState, OpState, Place, State, TensorState
from tutor.trace.trace import Trace

SHOWN = 40
"""Counters shown: those that moved and those that a node keeps."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a node saved at one version of a counter: often the same tensor under two names."""

    node: NodeState
    saves: tuple[Save, ...]

    @property
    def save(self) -> Save:
        return self.saves[0]


@dataclass(frozen=True, slots=True)
class Cell:
    """One version: what made it, and the saves that sit there."""

    head: Spans
    below: tuple[Spans, ...]
    target: Target | None

    @property
    def width(self) -> int:
        return max(sum(cell_len(s.text) for s in line) for line in (self.head, *self.below))


def version_rows(
    trace: Trace, state: State, width: int, glyphs: Glyphs = UNICODE, main: str = ""
) -> list[Row]:
    """One block a counter: the names that share it, then its versions from left to right."""
    sharers = _sharers(state)
    known = {
        counter.counter
        for counter in state.counters.values()
        if counter.writes
        or counter.missed
        or any(t.names or t.meta.label for t in sharers.get(counter.counter, ()))
    }
    saves = _saves(state, known)
    counters = [
        counter
        for counter in state.counters.values()
        if counter.writes or counter.missed or counter.counter in saves
    ]
    counters.sort(key=lambda c: (not c.writes, _first_moment(sharers.get(c.counter, ()))))
    if not counters:
        here = "" if state.moment >= len(trace) else "Up to here "
        none = "no counter has moved and no node keeps a tensor. "
        every = "Each tensor has a version counter; every in-place write adds one."
        words = (here + none if here else none.capitalize()) + every
        return [Row(line) for line in wrap((Span(words, "dim"),), width)]
    rows: list[Row] = []
    for number, counter in enumerate(counters[:SHOWN], 1):
        if rows:
            rows.append(BLANK)
        shared = sharers.get(counter.counter, ())
        held = saves.get(counter.counter, [])
        rows += _block(trace, state, counter, shared, held, width, glyphs, main)
        if number == SHOWN and len(counters) > SHOWN:
            left = len(counters) - SHOWN
            rows += [BLANK, Row((Span(f"{glyphs.more} {left} more counters", "dim"),))]
    return rows


def _saves(state: State, known: set[int]) -> dict[int, list[Held]]:
    """The saves of living nodes, and those the latest pass went through, by counter.

    Of counters that are not known by a name or a move, as many as are shown, and only while
    what was saved is kept: a large graph saves far more than anybody reads.
    """
    latest = latest_pass(state)
    table: dict[int, list[Held]] = {}
    unknown = 0
    for node in state.nodes.values():
        if not node.saves or (
            node.dead and (latest is None or node.event.node not in latest.arrived)
        ):
            continue
        together: dict[tuple[int, int], list[Save]] = {}
        for save in node.saves:
            if save.counter == NONE or save.role in ("constant", "internal"):
                continue
            if save.counter not in known and save.counter not in table:
                if node.freed != NONE or unknown >= SHOWN:
                    continue
                unknown += 1
            together.setdefault((save.counter, save.version), []).append(save)
        for (counter, _), saves in together.items():
            table.setdefault(counter, []).append(Held(node, tuple(saves)))
    for held in table.values():
        held.sort(key=lambda h: (h.node.moment, h.node.event.node))
    return table


def _sharers(state: State) -> dict[int, tuple[TensorState, ...]]:
    """The tensors of each counter, oldest first."""
    table: dict[int, list[TensorState]] = {}
    for tensor in state.tensors.values():
        table.setdefault(tensor.meta.counter, []).append(tensor)
    return {key: tuple(sorted(found, key=lambda t: t.moment)) for key, found in table.items()}


def _first_moment(shared: Sequence[TensorState]) -> int:
    return shared[0].moment if shared else 0


def _block(
    trace: Trace,
    state: State,
    counter: CounterState,
    shared: Sequence[TensorState],
    held: list[Held],
    width: int,
    glyphs: Glyphs,
    main: str,
) -> list[Row]:
    names = list(dict.fromkeys(n for t in shared for n in all_names(t)))
    labels = [t.meta.label for t in shared if t.meta.label]
    title = ", ".join((names or labels)[:5]) or _unnamed(trace, shared)
    moves = "move" if counter.version == 1 else "moves"
    head: Spans = (
        Span(title, "name"),
        Span(f"   now v{counter.version}", "strong"),
        Span(f"  ({counter.version} {moves})" if counter.version else "  (never moved)", "dim"),
    )
    key = f"counter {counter.counter}"
    rows = [Row(line, key=f"{key} head {i}") for i, line in enumerate(wrap(head, width, "  "))]
    cells = list(_cells(trace, state, counter, shared, held, glyphs, main))
    return rows + list(_flow(cells, width, glyphs, key))


def _unnamed(trace: Trace, shared: Sequence[TensorState]) -> str:
    """What to call tensors without a name: the call that made the first of them."""
    op = trace.op(shared[0].op) if shared and shared[0].op != NONE else None
    return f"the result of {op_name(op.func)}" if op else "a tensor without a name"


def _cells(
    trace: Trace,
    state: State,
    counter: CounterState,
    shared: Sequence[TensorState],
    held: list[Held],
    glyphs: Glyphs,
    main: str,
) -> Iterator[Cell]:
    """Version 0 and then each kept write; a save of a version that has no cell gets one."""
    by_version: dict[int, list[Held]] = {}
    for item in held:
        by_version.setdefault(item.save.version, []).append(item)
    first = counter.writes[0].before if counter.writes else counter.version
    born = shared[0] if shared else None
    if first == 0 or not counter.missed:
        place = born.born[-1] if born and born.born else None
        op = trace.op(born.op) if born and born.op != NONE else None
        moment = born.moment if born else None
        yield _cell(state, first, place, op, moment, by_version.pop(first, []), glyphs, main)
    else:
        words = (Span(f"{glyphs.more} {counter.missed} earlier writes", "dim"),)
        yield Cell(words, (), None)
    for write in counter.writes:
        place = write.site[-1] if write.site else None
        op = trace.op(write.op)
        kept = by_version.pop(write.after, [])
        yield _cell(state, write.after, place, op, write.moment, kept, glyphs, main)


def _cell(
    state: State,
    version: int,
    place: Place | None,
    op: OpState | None,
    moment: int | None,
    held: list[Held],
    glyphs: Glyphs,
    main: str,
) -> Cell:
    head = [Span(f"v{version}", "strong")]
    if place is not None:
        head.append(Span(" " + place_text(place, main), "dim"))
    if op is not None:
        head.append(Span(" " + op_name(op.func), "op"))
    below = tuple(_held(state, item, glyphs, main) for item in held[:4])
    if len(held) > 4:
        below = (*below, (Span(f"{glyphs.more} {len(held) - 4} more saves", "dim"),))
    target = (
        Target(place.file, place.line, None if moment is None else moment + 1) if place else None
    )
    return Cell(tuple(head), below, target)


def _held(state: State, item: Held, glyphs: Glyphs, main: str) -> Spans:
    """As in ✗ kept by Mul 7·1: what a node saved, whether it holds, and the node's line."""
    node = item.node
    kind = state.save_state(node, item.save)
    name = node.name.rsplit("::", 1)[-1].replace("Backward0", "").replace("Backward1", "")
    place = node.site[-1] if node.site else None
    where = " " + place_text(place, main).removeprefix("line ") if place else ""
    latest = latest_pass(state)
    asked: Spans = ()
    if latest and latest.stale and latest.stale[0] == node.event.node:
        names = {save.name for save in item.saves}
        if latest.stale[1] in names:
            asked = (Span(f" {glyphs.from_} backward asked for this", "bad"),)
    if kind == "freed" and not asked:
        return (Span(f"{glyphs.freed} {name}{where} freed", "dim"),)
    if kind == "packed":
        return (Span(f"{glyphs.packed} {name}{where} packed", "dim"),)
    if kind == "stale" or asked:
        return (Span(f"{glyphs.bad} kept by {name}{where}", "bad"), *asked)
    return (Span(f"{glyphs.ok} ", "good"), Span(f"kept by {name}{where}"))


def _flow(cells: list[Cell], width: int, glyphs: Glyphs, key: str) -> Iterator[Row]:
    """The cells from left to right, in as many bands as the width asks for."""
    arrow = f"  {glyphs.arrow}  "
    bands: list[list[Cell]] = []
    used = 0
    for cell in cells:
        need = cell.width + cell_len(arrow)
        if not bands or used + need > width:
            bands.append([])
            used = 2
        bands[-1].append(cell)
        used += need
    for number, band in enumerate(bands):
        yield from _band(band, number > 0, width, arrow, f"{key} {number}")


def _band(band: list[Cell], continued: bool, width: int, arrow: str, key: str) -> Iterator[Row]:
    depth = max(len(cell.below) for cell in band)
    lead = arrow.strip() + " " if continued else ""
    lead = lead + " " * max(0, 2 - cell_len(lead)) if lead else "  "
    if len(band) == 1 and band[0].width + cell_len(lead) > width:
        yield from _tall(band[0], lead, width, key)
        return
    for level in range(depth + 1):
        spans: list[Span] = [Span(lead if level == 0 else " " * cell_len(lead), "dim")]
        for position, cell in enumerate(band):
            lines = (cell.head, *cell.below)
            line = lines[level] if level < len(lines) else ()
            spans += line
            if position < len(band) - 1:
                pad = cell.width - sum(cell_len(s.text) for s in line)
                spans.append(Span(" " * pad))
                spans.append(Span(arrow if level == 0 else " " * cell_len(arrow), "dim"))
        target = band[0].target if len(band) == 1 else band[-1].target
        yield Row(tuple(spans), target, key=f"{key} {level}")


def _tall(cell: Cell, lead: str, width: int, key: str) -> Iterator[Row]:
    """A cell wider than the pane, broken into lines."""
    for level, line in enumerate((cell.head, *cell.below)):
        start = lead if level == 0 else " " * cell_len(lead)
        for part, piece in enumerate(wrap(line, width - cell_len(start), "  ")):
            front = start if part == 0 else " " * cell_len(start)
            yield Row((Span(front, "dim"), *piece), cell.target, key=f"{key} {level} {part}")
