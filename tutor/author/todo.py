"""What a skeleton left to be written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tutor.lesson import Fault
from tutor.lesson.document import Document, Node

RULES = {"E230": "todo"}
"""The rule on unwritten text: code to name."""

_TODO = re.compile(r"(?:^|#)\s*TODO\b:?\s*(.*)", re.MULTILINE)


def todos(document: Document) -> Iterator[Fault]:
    """Every text or code that begins with TODO, or has a comment that does."""
    for node in _texts(document.root):
        assert isinstance(node.value, str)
        for found in _TODO.finditer(node.value):
            line = node.line + node.value[: found.start()].count("\n") + node.block
            source = document.text.lines[line] if line < len(document.text.lines) else ""
            column = max(source.find("TODO"), 0)
            yield document.text.fault(
                line,
                column,
                ("E230", RULES["E230"]),
                f"still to be written: {found[1].strip() or 'this'}",
                width=max(len(source.rstrip()) - column, 1),
            )


def _texts(node: Node | None) -> Iterator[Node]:
    if node is None:
        return
    if isinstance(node.value, str):
        yield node
    elif isinstance(node.value, list):
        for item in node.value:
            yield from _texts(item)
    else:
        for _, value in node.value.values():
            yield from _texts(value)
