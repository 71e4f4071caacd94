"""Tensors in a few characters, and where something was."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tutor.trace.events import NONE, Save, Value
from tutor.trace.state import Place, State, TensorState
from tutor.trace.trace import Trace


def number(value: float | int | bool | str) -> str:
    """One element: floats with at most four digits after a point, as torch prints them."""
    if isinstance(value, (bool, str, int)):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e8:
        return f"{value:.0f}."
    return f"{value:.4f}".rstrip("0") if 1e-3 <= abs(value) < 1e6 else f"{value:.3e}"


def shape_text(shape: Sequence[int]) -> str:
    """A shape as torch writes it: [2, 3]; a scalar's is []."""
    return "[" + ", ".join(str(size) for size in shape) + "]"


def value_text(value: Value | None, room: int = 40) -> str:
    """The elements where they fit into `room` letters, else shape and summary; "" if unknown."""
    if value is None:
        return ""
    if value.flat is not None:
        text = _nested(value.flat, value.shape)
        if len(text) <= room:
            return text
    parts = [shape_text(value.shape)]
    if value.mean is not None:
        parts.append(f"mean {number(value.mean)}")
    if value.nonfinite:
        parts.append(f"{value.nonfinite} not finite")
    elif value.low is not None and value.high is not None:
        full = [*parts, f"{number(value.low)} to {number(value.high)}"]
        if len("  ".join(full)) <= room:
            parts = full
    return "  ".join(parts)


def grad_text(tensor: TensorState, room: int = 40) -> str:
    """The value of its `.grad`; "" where it has none."""
    unread = "not looked at" if tensor.grad != NONE else ""
    return value_text(tensor.grad_value, room) or unread


def _nested(flat: Sequence[float | int | bool | str], shape: Sequence[int]) -> str:
    if not shape:
        return number(flat[0]) if flat else "?"
    if len(shape) == 1:
        return "[" + ", ".join(number(value) for value in flat) + "]"
    step = len(flat) // shape[0] if shape[0] else 0
    rows = (_nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))
    return "[" + ", ".join(rows) + "]"


def tensor_name(tensor: TensorState | None, moment: int | None = None) -> str:
    """The best name it has, or had at a moment: `b (in fn)` for a function's; "" if none."""
    if tensor is None:
        return ""
    names = tensor.names
    if moment is not None:
        names = tuple(n for n in names if n.since <= moment and (n.until or moment + 1) > moment)
    chosen = names or tensor.names
    best = min(
        chosen, key=lambda n: (n.function != "<module>", "." in n.name, n.since), default=None
    )
    plain = best is not None and best.function == "<module>" and "." not in best.name
    if best is None or (tensor.meta.label and not plain):
        return tensor.meta.label
    return best.name if best.function == "<module>" else f"{best.name} (in {best.function})"


def save_words(state: State, save: Save, moment: int) -> str:
    """Which tensor a save holds."""
    if save.role == "constant":
        flat = save.value.flat if save.value else None
        return number(flat[0]) if flat and len(flat) == 1 else "a constant"
    if save.role == "copy":
        return f"a copy {shape_text(save.shape)}"
    name = tensor_name(state.tensors.get(save.uid), moment) if save.uid != NONE else ""
    return name or f"a tensor {shape_text(save.shape)}"


def place_text(place: Place, main: str) -> str:
    """As in `line 7·3`: with the rounds of its loops, and the file where it is another."""
    rounds = "".join(f"·{n}" for n in place.iteration)
    file = "" if place.file == main else place.file.replace("\\", "/").rsplit("/", 1)[-1] + " "
    return f"{file}line {place.line}{rounds}"


def main_file(trace: Trace) -> str:
    """The file that a person ran: places in it need no file name."""
    program = trace.program
    if program is not None and program.sources:
        return program.sources[-1].file
    return next(iter(trace.texts), "")
