"""What names mean at each stop, and the gradients of leaves: tables that follow the time."""

from __future__ import annotations

from collections.abc import Iterator

from tutor.report.escape import escaped
from tutor.report.film import Film, Line, Piece, Slot
from tutor.report.html.code import Listing
from tutor.report.html.markup import slot, table, time
from tutor.report.html.reel import Reel
from tutor.report.values import (
    grad_text,
    main_file,
    place_text,
    shape_text,
    tensor_name,
    value_text,
)
from tutor.trace.state import AccumulateState, State, TensorState
from tutor.trace.trace import Trace

NAMES = 60
"""Rows of names at the most."""

LEAVES = 80
"""Rows of gradients at the most."""

ADDED = 6
"""Accumulations told of one leaf: the last ones."""

ROOM = 48


def names(trace: Trace, reel: Reel) -> str:
    """A row a name: what it means, its version, its value."""
    film = Film()
    order: dict[tuple[str, str], None] = {}
    columns = ("shape", "version", "value", "grad")
    for stop, state in enumerate(reel.states):
        present = dict(_present(state))
        for key in present:
            if len(order) < NAMES:
                order.setdefault(key)
        for key in order:
            tensor = present.get(key)
            lines = _lines(state, tensor) if tensor is not None else ((),) * len(columns)
            for column, line in zip(columns, lines, strict=True):
                film.say((key, column), stop, line)
    rows = []
    for name, function in order:
        cells = [film.slot(((name, function), column)) for column in columns]
        inner = f' <span class="dim">in {escaped(function)}</span>' if function else ""
        alive = _alive(cells[0])
        rows.append(
            f"<tr{time(*alive, reel.last)}>"
            f'<th scope="row"><span class="name">{escaped(name)}</span>{inner}</th>'
            + "".join(f"<td>{slot(cell, reel.last)}</td>" for cell in cells)
            + "</tr>"
        )
    if not rows:
        return ""
    return table(("name", "shape", "version", "value", ".grad"), rows, "What each name means")


def _alive(cell: Slot) -> tuple[int, int | None]:
    """From the first to the last stop at which a name meant a tensor."""
    return (cell[0].since, cell[-1].until) if cell else (0, 0)


def _present(state: State) -> Iterator[tuple[tuple[str, str], TensorState]]:
    frames = {frame.frame: frame for frame in state.stack}
    top = state.frames.get(0)
    if top is not None:
        frames[0] = top
    for number in sorted(frames):
        frame = frames[number]
        inner = "" if frame.function == "<module>" else frame.function
        for name, uid in frame.names.items():
            tensor = state.tensors.get(uid)
            if tensor is not None:
                yield (name, inner), tensor


def _lines(state: State, tensor: TensorState) -> tuple[Line, ...]:
    counter = state.counters.get(tensor.meta.counter)
    version = counter.version if counter is not None else tensor.meta.version
    wants = tensor.meta.requires_grad
    grad = grad_text(tensor, ROOM)
    value = value_text(tensor.value, ROOM)
    text = grad or ("None" if wants and tensor.meta.leaf else "")
    return (
        (Piece(shape_text(tensor.meta.shape), "dim"),),
        (Piece(f"v{version}", "code"),),
        (Piece(value or "not looked at", "code" if value else "dim"),),
        (Piece(text, "code" if grad else "dim"),) if text else (),
    )


def gradients(trace: Trace, reel: Reel, code: Listing) -> tuple[str, int]:
    """A row a leaf: its `.grad`, and which lines added to it; and how many leaves have none."""
    added: dict[int, list[AccumulateState]] = {}
    for run in trace.passes:
        for entry in run.accumulated:
            added.setdefault(entry.uid, []).append(entry)
    leaves = [
        tensor
        for tensor in trace.last.tensors.values()
        if tensor.grad_value is not None
        or tensor.meta.uid in added
        or (tensor.meta.requires_grad and tensor.meta.leaf and (tensor.names or tensor.meta.label))
    ]
    leaves.sort(key=lambda tensor: tensor.moment)
    film = Film()
    for stop, state in enumerate(reel.states):
        for tensor in leaves[:LEAVES]:
            now = state.tensors.get(tensor.uid)
            if now is not None:
                text = grad_text(now, ROOM)
                film.say(tensor.uid, stop, (Piece(text or "None", "code" if text else "dim"),))
    rows = []
    for tensor in leaves[:LEAVES]:
        entries = added.get(tensor.uid, [])
        born = reel.after(tensor.moment)
        name = escaped(tensor_name(tensor) or "without a name")
        rows.append(
            f"<tr{time(born, None, reel.last)}>"
            f'<th scope="row"><span class="name">{name}</span></th>'
            f'<td class="dim">{escaped(shape_text(tensor.meta.shape))}</td>'
            f"<td>{slot(film.slot(tensor.uid), reel.last)}</td>"
            f"<td>{_added(trace, entries, reel, code)}</td></tr>"
        )
    left = len(leaves) - len(rows)
    head = ("leaf", "shape", ".grad", "added by")
    return (table(head, rows, "Gradients of the leaves") if rows else ""), left


def _added(trace: Trace, entries: list[AccumulateState], reel: Reel, code: Listing) -> str:
    parts = []
    if len(entries) > ADDED:
        parts.append(f'<span class="dim">{len(entries) - ADDED} earlier passes</span>')
    for entry in entries[-ADDED:]:
        place = entry.site[-1] if entry.site else None
        where = place_text(place, main_file(trace)) if place is not None else "a backward"
        row = code.row(place.file, place.line) if place is not None else ""
        link = f'<a href="#{row}">{escaped(where)}</a>' if row else escaped(where)
        again = "" if entry.before is None else " (added to what was there)"
        parts.append(f"<span{time(reel.after(entry.moment), None, reel.last)}>{link}{again}</span>")
    return "<br>".join(parts)
