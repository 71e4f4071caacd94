"""Python code as spans of token kinds, by Pygments, for the editor."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

Piece = tuple[int, int, str]
"""(first column, column after the last, kind), in characters of one line."""

Lines = tuple[tuple[Piece, ...], ...]
"""The pieces of each line."""

KINDS = (
    "keyword",
    "string",
    "number",
    "comment",
    "function",
    "builtin",
    "operator",
    "decorator",
    "constant",
)


@lru_cache(maxsize=64)
def highlight(code: str) -> Lines:
    """For each line of the code, its coloured pieces in order.

    The import of Pygments waits for the first call: the app paints its first frame without it.
    """
    from pygments.lexers.python import PythonLexer

    lexer = PythonLexer(stripnl=False, stripall=False, ensurenl=False)
    lines: list[list[Piece]] = [[]]
    column = 0
    for token, text in lexer.get_tokens(code):
        kind = _kind(token)
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
                column = 0
            if part and kind:
                lines[-1].append((column, column + len(part), kind))
            column += len(part)
    return tuple(tuple(line) for line in lines)


def patched(old: list[str], pieces: Lines, new: list[str]) -> Lines:
    """The pieces of a text that was edited in one place, from those it had before.

    Only the lines that differ are read, each part by itself: right but for a string over
    several lines that the edit opened or closed, which a whole reading has to mend.
    """
    start = 0
    shortest = min(len(old), len(new))
    while start < shortest and old[start] == new[start]:
        start += 1
    end = 0
    while end < shortest - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle = highlight("\n".join(new[start : len(new) - end]))
    return (*pieces[:start], *middle[: len(new) - end - start], *pieces[len(old) - end :])


@lru_cache(maxsize=256)
def _kind(token: Any) -> str:
    """The kind of a Pygments token type ("" for what keeps the colour of text)."""
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    table = (
        (Comment, "comment"),
        (Keyword.Constant, "constant"),
        (Keyword, "keyword"),
        (Operator.Word, "keyword"),
        (String, "string"),
        (Number, "number"),
        (Name.Decorator, "decorator"),
        (Name.Function, "function"),
        (Name.Class, "function"),
        (Name.Builtin, "builtin"),
        (Name.Exception, "builtin"),
        (Operator, "operator"),
    )
    return next((name for kind, name in table if token in kind), "")
