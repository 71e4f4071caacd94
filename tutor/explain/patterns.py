"""The sentences of torch, and which kinds of trouble they belong to.

`catalogue/patterns.json` has one entry a sentence, with its wordings from torch 0.4 on. Wordings
are regular expressions that are read loosely: letter case, white space and backticks count for
nothing, so a message that was wrapped, indented or quoted is recognised like the original.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from itertools import pairwise

LONGEST = 4000
"""Characters of one message that are looked at."""

_GAP = r"[\s`]*"
_MANY = ("?", "*", "+", "{")


@dataclass(frozen=True)
class Wording:
    """One wording of a sentence; `runs` are its plain pieces, squashed, that must occur."""

    text: str
    runs: tuple[str, ...]

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when first needed: most wordings are ruled out by their runs."""
        return re.compile(self.text, re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """Something torch says. `kinds`: the most likely first; `known`: what an error of a run is."""

    id: str
    kinds: tuple[str, ...]
    warning: bool
    known: str | None
    wordings: tuple[Wording, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence in a text: where, with what facts; `size` is its length without white space."""

    sentence: Sentence
    start: int
    end: int
    size: int
    facts: dict[str, str]


@lru_cache(maxsize=1)
def table() -> tuple[Sentence, ...]:
    """All sentences, in the order in which they are tried."""
    file = resources.files("tutor.explain").joinpath("catalogue/patterns.json")
    return tuple(_sentence(row) for row in json.loads(file.read_text(encoding="utf-8")))


def _sentence(row: dict[str, object]) -> Sentence:
    kinds, patterns = row["kinds"], row["patterns"]
    assert isinstance(kinds, list)
    assert isinstance(patterns, list)
    known = row.get("known", kinds[0])
    return Sentence(
        str(row["id"]),
        tuple(kinds),
        bool(row.get("warning", False)),
        known if isinstance(known, str) else None,
        tuple(loose(part) for pattern in patterns for part in alternatives(pattern)),
    )


def search(text: str) -> Iterator[Found]:
    """Every sentence that a text contains, each at its best wording, in the table's order."""
    squashed = squash(text)
    for sentence in table():
        best: Found | None = None
        for wording in sentence.wordings:
            if not all(run in squashed for run in wording.runs):
                continue
            hit = wording.regex.search(text)
            if hit is None:
                continue
            size = len(squash(hit[0]))
            if best is None or size > best.size:
                facts = {name: value for name, value in hit.groupdict().items() if value}
                best = Found(sentence, hit.start(), hit.end(), size, facts)
        if best is not None:
            yield best


@lru_cache(maxsize=64)
def kind_of(message: str) -> str | None:
    """The kind of the sentence that covers most of a message, None where none is found in it."""
    found = [one for one in search(message[:LONGEST]) if one.sentence.known is not None]
    return max(found, key=lambda one: one.size).sentence.known if found else None


def fits(kind: str, message: str) -> bool:
    """Whether a message is of this kind, or of none that is known."""
    return kind_of(message) in (None, kind)


def squash(text: str) -> str:
    """What counts of a text: no white space, no backticks, no letter case."""
    return "".join(text.split()).replace("`", "").lower()


def alternatives(pattern: str) -> list[str]:
    """The parts of a pattern between its outermost `|`."""
    parts, depth = [""], 0
    for token in _tokens(pattern):
        depth += token.startswith("(") - (token == ")")
        if token == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def loose(pattern: str) -> Wording:
    """A wording without outermost `|`, made to match whatever the layout."""
    out: list[str] = []
    runs, depth = [""], 0
    tokens = [*_tokens(pattern), ""]
    for token, after in pairwise(tokens):
        depth += token.startswith("(") - (token == ")")
        letter = _letter(token)
        many = after[:1] in _MANY and after != ""
        if token[:1] in _MANY and out and out[-1] == _GAP:
            continue  # a gap may be of any length, so a quantifier of it says nothing
        if letter is None:
            runs.append("")
            out.append(token)
        elif letter in " \n`":
            if not out or out[-1] != _GAP:
                out.append(_GAP)
        elif many:
            runs.append("")
            out.append(f"(?:{re.escape(letter)}{_GAP})")
        else:
            if depth == 0:
                runs[-1] += letter.lower()
            out += [re.escape(letter), _GAP]
    return Wording("".join(out), tuple(run for run in runs if len(run) > 3))


def _tokens(pattern: str) -> Iterator[str]:
    r"""Letters, escapes, classes, group heads, and signs: `a`, `\d`, `[^']`, `(?P<x>`, `?`."""
    shape = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?:|\(|\{[\d,]+\}\??|[*+?]\??|."
    return (found[0] for found in re.finditer(shape, pattern, re.DOTALL))


def _letter(token: str) -> str | None:
    """The character that a token stands for, None where it is no plain one."""
    if len(token) == 2 and token[0] == "\\":
        return {"n": "\n", "s": None}.get(token[1], None if token[1].isalnum() else token[1])
    return token if len(token) == 1 and token not in ".|()^$*+?" else None
