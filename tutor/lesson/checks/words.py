"""How values, places and missing answers read in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SHOWN = 16
"""Numbers written out in a sentence at most."""

_REASONS = {
    "no-name": "there is no `{0}` when the program ends",
    "no-start": "the setup gives no `{0}`",
    "none": "`{0}` is None",
    "not-a-tensor": "`{0}` is not a tensor",
    "slow": "the value took longer than a second to compute",
    "too-large": "the value has too many elements to compare",
    "refused": "the check asks something it may not: {0}",
    "failed": "computing it failed: {0}",
    "not-callable": "`{0}` is not a function",
    "solution": "the solution cannot be called: {0}",
    "unknown-question": "the run does not know the question `{0}`",
}


def because(reason: str, detail: str) -> str:
    """The sentence for an answer that could not be given."""
    return _REASONS.get(reason, "it could not be found out").format(detail)


def number(value: object) -> str:
    """A number as short as it can be read: `2.`, `0.3333`, `nan`, `True`."""
    if isinstance(value, float):
        text = f"{value:.5g}"
        return text if any(c in text for c in ".en") else f"{text}."
    return str(value)


def shown(value: Mapping[str, Any]) -> str:
    """A described tensor: its numbers where there are few, else its shape and range."""
    shape: Sequence[int] = value.get("shape", ())
    flat = value.get("flat")
    if flat is None or len(flat) > SHOWN:
        low, high = value.get("low"), value.get("high")
        if flat:
            low, high = min(flat, default=low), max(flat, default=high)
        spread = "" if low is None else f", from {number(low)} to {number(high)}"
        return f"a tensor of shape {list(shape)}{spread}"
    return _nested([number(item) for item in flat], list(shape))


def _nested(items: list[str], shape: list[int]) -> str:
    if not shape:
        return items[0] if items else "nothing"
    if len(shape) == 1:
        return "[" + ", ".join(items) + "]"
    size = len(items) // shape[0] if shape[0] else 0
    parts = [_nested(items[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]
    return "[" + ", ".join(parts) + "]"


def listed(items: Sequence[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; "nothing" where there is nothing."""
    if not items:
        return "nothing"
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def yes(value: bool, positive: str, negative: str) -> str:
    """One of two words."""
    return positive if value else negative
