"""A paste as plain lines: without colours, quoting, time stamps and the marks of a launcher."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from itertools import pairwise

MOST = 2_000_000
"""Characters of a paste that are read: the last ones, where a log has its errors."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and which process of a group wrote it ("" where that is not said)."""

    text: str
    rank: str = ""


_COLOUR = re.compile(
    r"(?:\x1b|\\x1b|\\u001b|\\033|\^\[)(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))"
    r"|\[(?:\d{1,2})(?:;\d{1,3})*m"  # the escape character itself is often lost in a copy
)
_LETTERS = {"\u00a0": " ", "‘": "'", "’": "'", "“": '"', "”": '"', "\u200b": "", "\ufeff": ""}

_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"
_DATE = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"

_PREFIXES = tuple(
    re.compile(text)
    for text in (
        rf"\[?{_DATE}\]?(?: ?[-|:] ?)? ?",
        r"\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? ?",
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w./-]+(?:\[\d+\])?: ",
        rf"\[?{_LEVEL}\]?:[\w.]+:",
        rf"\[?{_LEVEL}\]?\s*[|:-]\s+(?:[\w.]+:[\w<>]+:\d+\s+-\s)?",
        rf"\[{_LEVEL}\]:? ?",
        rf"(?:- )?[\w.]+ - {_LEVEL} - ",
        r"##\[\w+\]",
        r"\[(?:[a-z]+(?::[a-z]+)?)\]: (?=Traceback|\w+Error)",
    )
)
_RANKS = tuple(
    re.compile(text)
    for text in (
        r"\[(?:[Rr]ank|RANK|default|trainer|worker|proc(?:ess)?|GPU|gpu)[ _:#]?(\d+)(?:/\d+)?\]"
        r"[:|]? ?",
        r"\[\d+,(\d+)\]<std(?:err|out)>: ?",
        r"(?:rank|Rank|RANK)[ _]?(\d+) ?[:|] ",
        r"\([\w.()]+ pid=(\d+)(?:, ip=[\d.]+)?\) ",
    )
)
# Marks that are clear only if most lines have them: a quotation, a task's number, a container.
_MARKS = (
    re.compile(r"[ ]{0,3}(?:>[ ]?)+"),
    re.compile(r"[ ]*(\d+): ?(?!\d\d:)"),
    re.compile(r"[\w.-]+\s*\| ?"),
    re.compile(r"(?://|#) ?"),
)
_FENCE = re.compile(r"\s*(?:```|~~~)\w*\s*$")
_ESCAPED = re.compile(r"last\):\\n|\\n\s*File \\?\"|\\n[\w.]*(?:Error|Exception|Warning)\b")


def decoded(data: bytes) -> str:
    """The text of what came on standard input: UTF-8, or UTF-16 as some shells write it."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace")


def lines(text: str) -> list[Line]:
    """The lines of a paste as they left the program."""
    text = _letters(text[-MOST:])
    rows = [part for row in text.split("\n") for part in _unescaped(row)]
    rows = [row.rstrip() for row in rows if not _FENCE.match(row)]
    rows = _single_spaced(rows)
    if any("Exception Group Traceback" in row for row in rows):
        rows = [_ungrouped(row) for row in rows]
    marked = _without_marks(rows)
    out = []
    for row, rank in marked:
        out.append(_without_prefix(row, rank))
    return out


def _letters(text: str) -> str:
    text = _COLOUR.sub("", text).replace("\0", "")
    for old, new in _LETTERS.items():
        text = text.replace(old, new)
    if "&lt;" in text or "&quot;" in text or "&#39;" in text:
        text = html.unescape(text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unescaped(row: str) -> list[str]:
    r"""A line of JSON or of a `repr` holds its line breaks as `\n`: one row for each."""
    if "\\n" not in row or not _ESCAPED.search(row):
        return [row]
    whole = row.replace("\\\\", "\0").replace("\\n", "\n")
    return whole.replace('\\"', '"').replace("\\'", "'").replace("\0", "\\").split("\n")


def _single_spaced(rows: list[str]) -> list[str]:
    """Drop the blank lines of a copy that has one after each line."""
    full = [i for i, row in enumerate(rows) if row.strip()]
    between = sum(1 for a, b in pairwise(full) if b - a > 1)
    if len(full) > 3 and between >= 0.8 * (len(full) - 1):
        return [rows[i] for i in full]
    return rows


def _ungrouped(row: str) -> str:
    """A line of an exception group without the bars of its tree."""
    if re.match(r"\s*\+-[+-]", row):
        return ""
    return re.sub(r"^\s*(?:[|+] ?\s?)+(?=\S|\s)", lambda found: " " * len(found[0]), row)


def _without_marks(rows: list[str]) -> list[tuple[str, str]]:
    ranked = [(row, "") for row in rows]
    for mark in _MARKS:
        full = [row for row, _ in ranked if row.strip()]
        hits = sum(1 for row in full if mark.match(row))
        if len(full) < 2 or hits < 0.8 * len(full):
            continue
        changed = []
        for row, rank in ranked:
            found = mark.match(row)
            if found and found.groups():
                rank = found[1]
            changed.append((row[found.end() :] if found else row, rank))
        ranked = changed
    if sum(1 for row, _ in ranked if row.strip()) == 1:
        ranked = [(re.sub(r"^\s*>\s+", "", row), rank) for row, rank in ranked]
    return ranked


def _without_prefix(row: str, rank: str) -> Line:
    for _ in range(6):
        bare = row.lstrip()
        for pattern in _RANKS:
            found = pattern.match(bare)
            if found is not None:
                rank, row = found[1], bare[found.end() :]
                break
        else:
            found = next((hit for one in _PREFIXES if (hit := one.match(bare))), None)
            if found is None or not found[0]:
                break
            row = bare[found.end() :]
    return Line(row, rank)
