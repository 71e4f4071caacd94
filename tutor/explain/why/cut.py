"""Sentences that a text holds a part of: a message cut short at its start or its end."""

from __future__ import annotations

import re

from tutor.explain.patterns import Sentence, squash, table

LEAST = 16
"""Letters of a sentence, without white space, by which a message with an error's name is known."""

ALONE = 22
"""The same for a text that does not look like an error otherwise."""


def parts(text: str, *, alone: bool) -> list[Sentence]:
    """The sentences that share the longest part with a text, none where no part is long enough.

    The part begins a sentence and ends the text, or ends one and begins the text, or is a long
    piece from the middle.
    """
    squashed = re.sub(r"(?:\.{2,}|…)+$|^(?:\.{2,}|…)+", "", squash(text))
    best, found = (ALONE if alone else LEAST) - 1, list[Sentence]()
    for sentence in table():
        size = max(
            (_shared(squashed, run) for one in sentence.wordings for run in one.runs), default=0
        )
        if size > best:
            best, found = size, [sentence]
        elif size == best and found:
            found.append(sentence)
    return found


def _shared(text: str, run: str) -> int:
    if len(run) < LEAST:
        return 0
    for size in range(min(len(run), len(text)), LEAST - 1, -1):
        if text.endswith(run[:size]) or text.startswith(run[-size:]):
            return size
    middle = 2 * LEAST
    if any(run[i : i + middle] in text for i in range(0, len(run) - middle + 1, 4)):
        return middle
    return 0
