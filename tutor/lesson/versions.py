"""Ranges of torch versions: `>=2.13`, `>=2.13,<3`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

_PART = re.compile(r"^(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+){0,3})$")

Version = tuple[int, ...]

_COMPARE: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


class BadRange(ValueError):
    """The text is no range of versions."""


def parse_range(text: str) -> tuple[tuple[str, Version], ...]:
    """(comparison, version) of each part. Raises `BadRange`."""
    parts = []
    for part in text.split(","):
        found = _PART.match(part.strip())
        if found is None:
            raise BadRange(f'"{text}" is not a range of versions')
        parts.append((found[1], tuple(int(number) for number in found[2].split("."))))
    return tuple(parts)


def numbers(text: str) -> Version:
    """`2.13.0+cpu` as (2, 13, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(number) for number in found[0].split(".")) if found else ()


def installed_torch() -> str:
    """The version of the torch that is installed, found without importing it ("" for none)."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


def misfit(text: str, have: str) -> str | None:
    """Why a lesson for this range cannot be taken with this torch; None where it can."""
    if not have or fits(text, have):
        return None
    return f"it is for torch {text}, and torch {have} is installed"


def fits(text: str, installed: str) -> bool:
    """Whether a version lies in a range. Raises `BadRange`."""
    have = numbers(installed)
    for sign, wanted in parse_range(text):
        size = max(len(have), len(wanted))
        padded = (*have, *(0,) * (size - len(have))), (*wanted, *(0,) * (size - len(wanted)))
        if not _COMPARE[sign](*padded):
            return False
    return True
