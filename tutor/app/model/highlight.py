"""Python code as spans of token kinds, by Pygments, for the editor."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

Piece = tuple[int, int, str]
"""(first column, column after the last, kind), in characters of one line."""

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
def highlight(code: str) -> tuple[tuple[Piece, ...], ...]:
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
