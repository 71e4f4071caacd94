"""Earlier tries of a step, as rows: when, what came of them, and how their code differs."""

from __future__ import annotations

import difflib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.rows import BLANK, Role, Row, Span, wrap

if TYPE_CHECKING:
    from tutor.progress import Tried

SHOWN = 30
"""Tries listed: the latest ones, each code once."""


def distinct(tries: Sequence[Tried]) -> list[Tried]:
    """The latest try of each code, newest first."""
    seen: set[str] = set()
    found: list[Tried] = []
    for tried in reversed(tries):
        if tried.code and tried.code not in seen:
            seen.add(tried.code)
            found.append(tried)
    return found[:SHOWN]


def tries_rows(tries: Sequence[Tried], now: str, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """One block a try: its time and outcome, then what it has that the code now has not."""
    rows: list[Row] = []
    for number, tried in enumerate(distinct(tries)):
        if rows:
            rows.append(BLANK)
        done = tried.status in ("passed", "ran")
        sign = Span(f"{glyphs.ok} ", "good") if done else Span(f"{glyphs.bad} ", "warn")
        when = time.strftime("%d %b %H:%M", time.localtime(tried.at))
        action = f"restore {number}"
        head = (
            sign,
            Span(when, "strong"),
            Span(f"  {tried.status}", "dim"),
        )
        rows.append(Row(head, action=action, key=action))
        rows += _difference(tried.code, now, width, action)
    if not rows:
        rows = [Row((Span("Nothing was run in this step yet.", "dim"),))]
    return rows


def _difference(code: str, now: str, width: int, action: str) -> list[Row]:
    """The lines that going back would bring (+) and take away (-)."""
    rows: list[Row] = []
    for line in difflib.ndiff(now.splitlines(), code.rstrip("\n").splitlines()):
        sign, text = line[0], line[2:]
        if sign not in "+-" or not text.strip():
            continue
        role: Role = "add" if sign == "+" else "cut"
        parts = wrap((Span(f"  {sign} ", role), Span(text, role)), width, "      ")
        rows += [Row(part, action=action) for part in parts]
    return rows or [Row((Span("  the code as it is now", "dim"),), action=action)]
