"""A fault of a lesson file: where it is, which rule it breaks, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal
from unicodedata import combining, east_asian_width


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault; line and column count from 1, `width` is what the caret underlines."""

    path: str
    line: int
    column: int
    code: str
    rule: str
    message: str
    help: str = ""
    width: int = 1
    source: str = ""

    @property
    def severity(self) -> Literal["error", "warning"]:
        """An error keeps a lesson from being what it promises; a warning asks for a look."""
        return "warning" if self.code.startswith("W") else "error"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.rule}: {self.message}"

    def shown(self) -> str:
        """The fault with its source line, a caret, and the help."""
        parts = [str(self)]
        if self.source.strip():
            line = "".join(
                c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in self.source
            )
            column = self.column - 1
            if column > MAX_SHOWN // 2:  # keep the caret within sight on a very long line
                line, column = "…" + line[column - MAX_SHOWN // 2 :], MAX_SHOWN // 2 + 1
            line = line if len(line) <= MAX_SHOWN else line[:MAX_SHOWN] + "…"
            before, under = line[:column], line[column : column + self.width]
            caret = "^" + "~" * (max(cells(under), 1) - 1)
            parts.append(f"{self.line:>5} | {line}")
            parts.append(f"      | {' ' * cells(before)}{caret}")
        if self.help:
            parts.append(f"   help: {self.help}")
        return "\n".join(parts)


UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"

MAX_SHOWN = 160
"""Characters of a source line shown at most."""


def cells(text: str) -> int:
    """The columns of a terminal that a text takes: wide characters take two."""
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def ordered(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Faults by place, each once."""
    return tuple(sorted(dict.fromkeys(faults)))


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word that this one is a slip of, if there is one."""
    return next(iter(get_close_matches(word.lower(), known, n=1, cutoff=0.6)), None)


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A help line: the nearest known word, and the words there are."""
    near = nearest(word, known)
    start = f'did you mean "{near}"?  ' if near else ""
    return f"{start}known here: {', '.join(known)}"


@dataclass(frozen=True)
class Text:
    """A file's text by lines, for the source lines of its faults."""

    path: str
    lines: Sequence[str]

    def fault(
        self,
        line: int,
        column: int,
        rule: tuple[str, str],
        message: str,
        *,
        help: str = "",
        width: int = 1,
    ) -> Fault:
        """A fault at a line and column that count from 0."""
        source = self.lines[line] if 0 <= line < len(self.lines) else ""
        code, name = rule
        return Fault(
            self.path, line + 1, column + 1, code, name, message, help, max(width, 1), source
        )


RULES: Mapping[str, str] = {
    "E001": "unreadable",
    "E100": "not-yaml",
    "E101": "yaml-tag",
    "E102": "trailing-comment",
    "E103": "anchor",
    "E104": "alias",
    "E105": "several-documents",
    "E106": "complex-key",
    "E107": "empty-file",
    "E110": "duplicate-key",
    "E201": "missing-key",
    "E202": "wrong-type",
    "E203": "not-allowed",
    "E204": "unknown-key",
    "E205": "bad-expression",
    "E206": "unknown-kind",
    "E207": "newer-format",
    "E210": "id-and-place",
    "E211": "duplicate-id",
    "E212": "unknown-id",
    "E213": "incomplete",
    "E214": "bad-python",
    "E215": "torch-range",
    "E216": "not-in-setup",
    "E217": "earlier-id-in-use",
    "E218": "no-such-line",
    "E219": "line-twice",
    "E220": "missing-file",
    "E221": "unlisted-file",
    "E222": "listed-twice",
    "E223": "file-name",
    "E401": "prerequisite-later",
    "E402": "prerequisite-cycle",
    "E403": "unknown-concept",
}
"""Every rule of loading: code to name."""


def rule(code: str) -> tuple[str, str]:
    """(code, name) of a rule."""
    return code, RULES[code]
