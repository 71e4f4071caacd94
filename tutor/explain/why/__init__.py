"""`why`: a pasted message or traceback, explained without running anything.

Pure: text goes in, an answer comes out. `clean` takes the layout away, `paste` finds errors,
warnings and their tracebacks, `meaning` looks up what torch's sentences mean.
"""

from __future__ import annotations

import dataclasses
import re

from tutor.explain.why import clean, paste
from tutor.explain.why.answer import Answer, Meaning, Other
from tutor.explain.why.frames import Frame
from tutor.explain.why.meaning import of_error, of_text

__all__ = ["Answer", "Frame", "Meaning", "Other", "why"]

_WRAPPERS = ("worker-wrapper", "elastic", "error:ExceptionGroup")
"""Reports of reports: the cause stands elsewhere in the paste."""

_ASIDES = ("anomaly-on", "anomaly-forward", "anomaly-previous", "anomaly-blind")
"""What belongs to the error that comes with it."""


def why(text: str, installed: frozenset[str] = frozenset()) -> Answer:
    """What the errors and warnings in a text mean; `installed`: ids of the lessons that exist."""
    found: list[Meaning] = []
    stray: list[Frame] = []
    for report in paste.reports(clean.lines(text)):
        if report.type:
            found.append(of_error(report, installed))
        elif report.message:
            found += of_text(report, installed)
        else:
            stray = [frame for frame in report.frames if not frame.foreign]
    merged = _merged(found)
    if any(one.severity == "error" and one.sentence not in _ASIDES for one in merged):
        merged = [one for one in merged if one.sentence not in _ASIDES]
    merged.sort(key=lambda one: (one.severity != "error", one.sentence in _WRAPPERS))
    hint = "" if merged else _hint(text, stray)
    return Answer(tuple(merged), hint, () if merged else tuple(stray))


def _merged(found: list[Meaning]) -> list[Meaning]:
    """One of each: logs repeat an error in a summary, and each process of a group has its own."""
    kept: list[Meaning] = []
    for one in found:
        for i, other in enumerate(kept):
            if _same(one, other):
                fuller = other if other.surfaced or not one.surfaced else one
                kept[i] = dataclasses.replace(
                    fuller,
                    ranks=tuple(sorted({*other.ranks, *one.ranks}, key=_number)),
                    alike=other.alike + bool(one.surfaced or not other.surfaced),
                )
                break
        else:
            kept.append(one)
    return kept


def _number(rank: str) -> int:
    return int(rank) if rank.isdigit() else 0


def _same(one: Meaning, other: Meaning) -> bool:
    if (one.sentence, one.severity) != (other.sentence, other.severity):
        return one.cut and not one.surfaced and one.kind == other.kind
    if one.sentence.startswith("error:") and one.message[:60] != other.message[:60]:
        return False
    if one.surfaced and other.surfaced:
        return one.surfaced == other.surfaced
    return True


def _hint(text: str, stray: list[Frame]) -> str:
    """What to paste instead."""
    if not text.strip():
        return "Nothing was pasted."
    if stray or "Traceback (most recent call last)" in text:
        return (
            "This traceback ends before its last line, which names the error. "
            "Paste that line too: it looks like RuntimeError: and a sentence."
        )
    named = re.search(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b", text)
    if named:
        return (
            f"A {named[0]} is mentioned here, but not what it says. "
            f"Paste the line that begins with {named[0]}: or the whole traceback."
        )
    return (
        "No error message was recognised in this text. Paste the last line of a traceback, "
        "or better all of it, from the word Traceback on."
    )
