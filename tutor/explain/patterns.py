"""Which kind a message of torch belongs to, by its words.

For errors that the state of a run cannot tell apart: calls refused before anything happened.
The patterns were matched against messages that torch 2.13 raised.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def table() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """(kind, pattern) in the order in which they are tried."""
    file = resources.files("tutor.explain").joinpath("catalogue/patterns.json")
    rows = json.loads(file.read_text(encoding="utf-8"))
    return tuple((kind, re.compile(pattern, re.DOTALL)) for kind, pattern in rows)


@lru_cache(maxsize=64)
def kind_of(message: str) -> str | None:
    """The kind of the pattern that covers most of a message, None where none is found in it."""
    best: tuple[int, str] | None = None
    for kind, pattern in table():
        found = pattern.search(message[:4000])
        if found is not None and (best is None or len(found[0]) > best[0]):
            best = (len(found[0]), kind)
    return best[1] if best is not None else None


def fits(kind: str, message: str) -> bool:
    """Whether a message is of this kind, or of none that is known."""
    return kind_of(message) in (None, kind)
