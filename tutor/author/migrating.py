"""Files of an older format, rewritten for a newer one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping

from tutor.lesson.lesson import FORMAT

Migration = Callable[[str], str]

MIGRATIONS: Mapping[int, Migration] = {}
"""From each older format to the next: what rewrites the text of a file. There is one format yet."""

_FORMAT = re.compile(r"^format:[ \t]*(\d+)[ \t]*$", re.MULTILINE)


class NotMigrated(ValueError):
    """A file cannot be brought to the format asked for; the text says why."""


def migrated(text: str, to: int, steps: Mapping[int, Migration] | None = None) -> str:
    """The text of a file in format `to`; its own text where it is there already.

    Files without a format (the glossary, translations) are left alone. Raises `NotMigrated`.
    """
    known = MIGRATIONS if steps is None else steps
    newest = max([FORMAT, *(number + 1 for number in known)])
    if not 1 <= to <= newest:
        raise NotMigrated(f"there is no format {to}; this program knows formats up to {newest}")
    found = _FORMAT.search(text)
    if found is None:
        return text
    have = int(found[1])
    if have > to:
        raise NotMigrated(f"it has format {have}, and there is no way back to {to}")
    for number in range(have, to):
        if number not in known:
            raise NotMigrated(f"there is no way from format {number} to {number + 1}")
        text = known[number](text)
        text = _FORMAT.sub(f"format: {number + 1}", text, count=1)
    return text


def difference(old: str, new: str, name: str) -> str:
    """What would change, as a unified diff ("" for nothing)."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), name, name
    )
    return "".join(lines)
