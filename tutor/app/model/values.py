"""What a tensor holds, as a learner reads it: numbers as torch prints them, shapes, summaries."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tutor.trace.events import Value


def number(value: float | int | bool | str) -> str:
    """One element: floats with at most four decimals and a point, as torch prints them."""
    if isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, int):
        return str(value)
    if math.isnan(value) or math.isinf(value):
        return str(value)
    if value == int(value) and abs(value) < 1e8:
        return f"{int(value)}." if value or math.copysign(1, value) > 0 else "-0."
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.4f}".rstrip("0")
    return f"{value:.3e}"


def nested(flat: Sequence[float | int | bool | str], shape: Sequence[int]) -> str:
    """Elements in row-major order, written with one pair of brackets a dimension."""
    if not shape:
        return number(flat[0]) if flat else "?"
    if len(shape) == 1:
        return "[" + ", ".join(number(value) for value in flat) + "]"
    step = len(flat) // shape[0] if shape[0] else 0
    parts = (nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))
    return "[" + ", ".join(parts) + "]"


def value_text(value: Value | None, room: int = 60, more: str = "…") -> str:
    """The elements where they fit into `room` cells, else shape and summary ("" if unknown)."""
    if value is None:
        return ""
    if value.flat is not None:
        whole = nested(value.flat, value.shape)
        if len(whole) <= room:
            return whole
        if len(value.shape) == 1 and len(value.flat) > 2:
            short = _first_and_last(value.flat, room, more)
            if short:
                return short
    return summary(value)


def _first_and_last(flat: Sequence[float | int | bool | str], room: int, more: str) -> str:
    """As many elements from the front as fit, and the last one ("" if not even one does)."""
    last = f", {more}, {number(flat[-1])}]"
    text = "["
    for index, value in enumerate(flat[:-1]):
        piece = (", " if index else "") + number(value)
        if len(text) + len(piece) + len(last) > room:
            break
        text += piece
    return text + last if len(text) > 1 else ""


def brief(value: Value | None, room: int, more: str = "…") -> str:
    """The elements where they fit, else the shape alone: for the end of a line."""
    if value is None or value.flat is None:
        return shape_text(value.shape) if value else "None"
    text = value_text(value, room, more)
    return text if len(text) <= room else shape_text(value.shape)


def summary(value: Value) -> str:
    """The shape, the mean and the range, and how many elements are not finite."""
    parts = [shape_text(value.shape)]
    if value.mean is not None:
        parts.append(f"mean {number(value.mean)}")
    if value.low is not None and value.high is not None:
        parts.append(f"{number(value.low)} to {number(value.high)}")
    if value.nonfinite:
        parts.append(f"{value.nonfinite} not finite")
    return "  ".join(parts)


def shape_text(shape: Sequence[int]) -> str:
    """A shape as torch writes it: [2, 3]; a scalar's is []."""
    return "[" + ", ".join(str(size) for size in shape) + "]"
