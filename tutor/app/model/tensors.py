"""The tensors that have names, as rows: shape, value, flags, gradient, and what just changed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.names import node_title, short_name
from tutor.app.model.rows import BLANK, Row, Span, Spans, Target, split, wrap
from tutor.app.model.values import shape_text, value_text
from tutor.trace.events import NONE
from tutor.trace.state import State, TensorState

SHOWN = 200
"""Tensors shown: more names than this are counted, not listed."""


def tensor_rows(
    state: State, before: State | None, width: int, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """Two or three rows a named tensor, in the order in which the names were given.

    `before` is the state one step earlier: what differs from it is marked as new.
    """
    listed = listed_tensors(state)
    if not listed:
        words = "No name means a tensor here. Step forward in time, or run the code."
        return [Row(line) for line in wrap((Span(words, "dim"),), width)]
    rows: list[Row] = []
    for uid, names in listed[:SHOWN]:
        if rows:
            rows.append(BLANK)
        old = before.tensors.get(uid) if before else None
        rows += _tensor(state, state.tensors[uid], old, before is not None, names, width, glyphs)
    if len(listed) > SHOWN:
        rows += [BLANK, Row((Span(f"{glyphs.more} {len(listed) - SHOWN} more", "dim"),))]
    return rows


def listed_tensors(state: State) -> list[tuple[int, tuple[str, ...]]]:
    """(uid, names) of each tensor that a name or a module's label means now."""
    first: dict[int, int] = {}
    names: dict[int, list[str]] = {}
    for uid, tensor in state.tensors.items():
        present = [n for n in tensor.names if n.until is None]
        if present:
            first[uid] = min(n.since for n in present)
            names[uid] = list(dict.fromkeys(short_name(n) for n in present))
        elif tensor.meta.label:
            first[uid] = tensor.moment
            names[uid] = [tensor.meta.label]
    return [(uid, tuple(names[uid])) for uid in sorted(first, key=first.__getitem__)]


def _tensor(
    state: State,
    tensor: TensorState,
    old: TensorState | None,
    compared: bool,
    names: tuple[str, ...],
    width: int,
    glyphs: Glyphs,
) -> Iterator[Row]:
    meta = tensor.meta
    fresh = compared and old is None
    place = tensor.born[-1] if tensor.born else None
    target = Target(place.file, place.line, tensor.moment + 1) if place else None
    key = f"tensor {meta.uid}"
    left: list[Span] = [
        Span(", ".join(names), "name"),
        Span(f"  {shape_text(meta.shape)} {meta.dtype.removeprefix('torch.')}", "dim"),
    ]
    if meta.kind not in ("Tensor", ""):
        left.append(Span(f"  {meta.kind}", "dim"))
    if fresh:
        left.append(Span(f"  {glyphs.note} new", "new"))
    right: Spans = (Span(f"v{state_version(state, tensor)}", "dim"),)
    yield Row(split(tuple(left), right, width, glyphs.more), target, key=key)
    yield from _flags(state, tensor, width, target, key)
    room = max(12, width - 10)
    value = value_text(tensor.value, room, glyphs.more)
    changed = compared and old is not None and old.value != tensor.value
    yield from _field("value", value or "not looked at", changed, width, glyphs, target, key)
    if meta.requires_grad or tensor.grad_value is not None:
        yield from _grad(tensor, old, compared, width, glyphs, target, key)


def state_version(state: State, tensor: TensorState) -> int:
    """The value of the tensor's counter now."""
    counter = state.counters.get(tensor.meta.counter)
    return counter.version if counter else tensor.meta.version


def _flags(
    state: State, tensor: TensorState, width: int, target: Target | None, key: str
) -> Iterator[Row]:
    """Leaf or the node that made it, requires_grad, and what it is a view of."""
    meta = tensor.meta
    words = ["leaf" if meta.leaf else "not a leaf"]
    words.append("requires grad" if meta.requires_grad else "no grad needed")
    if meta.node != NONE and meta.node in state.nodes:
        words.append(f"made by {node_title(state.nodes[meta.node])}")
    if meta.base != NONE:
        names = state.names_of(meta.base)
        words.append(f"view of {names[0]}" if names else "a view")
    if meta.device not in ("cpu", ""):
        words.append(f"on {meta.device}")
    spans = (Span("  " + ", ".join(words), "dim"),)
    for part, line in enumerate(wrap(spans, width, "    ")):
        yield Row(line, target, key=f"{key} flags {part}")


def _grad(
    tensor: TensorState,
    old: TensorState | None,
    compared: bool,
    width: int,
    glyphs: Glyphs,
    target: Target | None,
    key: str,
) -> Iterator[Row]:
    if not tensor.meta.leaf and tensor.grad_value is None:
        return
    grad = value_text(tensor.grad_value, max(12, width - 10), glyphs.more)
    before = old.grad_value if old else None
    changed = compared and old is not None and before != tensor.grad_value
    yield from _field(".grad", grad or "None", changed, width, glyphs, target, key)


def _field(
    label: str,
    text: str,
    changed: bool,
    width: int,
    glyphs: Glyphs,
    target: Target | None,
    key: str,
) -> Iterator[Row]:
    """A labelled value, on as many rows as it needs; what changed says so."""
    known = text not in ("None", "not looked at")
    lead = "  " + label + " " * (6 - cell_len(label))
    spans: Spans = (Span(lead, "dim"), Span(text, ("code" if known else "dim")))
    if changed:
        spans = (*spans, Span(f"  {glyphs.note} changed", "new"))
    for part, line in enumerate(wrap(spans, width, " " * 8)):
        yield Row(line, target, key=f"{key} {label} {part}")
