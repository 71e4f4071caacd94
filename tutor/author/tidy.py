"""Lesson files in one shape: keys in a stable order, code in blocks, no stray spaces.

The text is rearranged line by line, so comments, quotes and blank lines stay as their author
wrote them, and a comment above a key goes with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tutor.author.order import CODE, order_at
from tutor.lesson.document import Document, Loc, Node, parse


class NotTidied(ValueError):
    """The file has faults that keep it from being rearranged without loss."""


def tidied(text: str, shown: str = "") -> str:
    """The text of a file in its one shape. Raises `NotTidied`.

    What the file means stays the same; only code may gain the line end of a block.
    """
    document = parse(text.replace("\r\n", "\n").removeprefix("\ufeff"), shown)
    if document.faults:
        raise NotTidied(str(document.faults[0]))
    root = document.root
    if root is None or not isinstance(root.value, dict) or _is_flow(document, root):
        raise NotTidied(f"{shown}: this is no file of a pack")
    made = "\n".join(_clean(_Tidier(document).whole(root))) + "\n"
    again = parse(made, shown)
    if again.faults or again.root is None or _meaning(again.root) != _meaning(root):
        raise NotTidied(f"{shown}: rearranging it would change what it says")
    return made


def _meaning(node: Node, under: str = "") -> object:
    if isinstance(node.value, str):
        return node.value.rstrip("\n") if under in CODE else node.value
    if isinstance(node.value, list):
        return [_meaning(each, under) for each in node.value]
    return {key: _meaning(value, key) for key, (_, value) in node.value.items()}


def _is_flow(document: Document, node: Node) -> bool:
    line = document.text.lines[node.line] if node.line < len(document.text.lines) else ""
    return line[node.column : node.column + 1] in ("{", "[")


@dataclass(frozen=True)
class _Line:
    """A line of the result; `fixed` belongs to a block of text and is left as it is."""

    text: str
    fixed: bool = False
    item: bool = False


class _Tidier:
    """Rearranges the lines of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines = document.text.lines

    def whole(self, root: Node) -> list[_Line]:
        """All lines of the file."""
        first = min(key.line for key, _ in _entries(root))
        head = [_Line(line) for line in self._lines[:first]]
        return head + self._mapping(root, (), first, len(self._lines), root.column)

    # -- collections --------------------------------------------------------------------

    def _mapping(self, node: Node, loc: Loc, start: int, end: int, column: int) -> list[_Line]:
        """The lines from `start` to `end` that hold a block mapping, in order.

        The first may hold the dash of an item before the key: it stays first.
        """
        entries = sorted(_entries(node), key=lambda entry: entry[0].line)
        tail = self._above(end, entries[-1][0].line + 1, column)
        while tail > entries[-1][0].line + 1 and not self._lines[tail - 1].strip():
            tail -= 1  # blank lines close the mapping, whichever key comes last
        starts = [self._above(key.line, start, column) for key, _ in entries]
        starts[0] = start
        parts: dict[str, list[_Line]] = {}
        for index, (key, value) in enumerate(entries):
            stop = starts[index + 1] if index + 1 < len(entries) else tail
            parts[str(key.value)] = self._entry(key, value, loc, starts[index], stop, column)
        first = str(entries[0][0].value)
        wanted = order_at(loc, parts) or ()
        known = {name: place for place, name in enumerate(wanted)}
        names = sorted(parts, key=lambda name: known.get(name, len(known)))
        if names[0] != first and column:
            self._swap_dash(parts, first, names[0], column)
        made = [line for name in names for line in parts[name]]
        return made + [_Line(line) for line in self._lines[tail:end]]

    def _swap_dash(self, parts: dict[str, list[_Line]], old: str, new: str, column: int) -> None:
        """Move what stands before the first key (the dash of an item) to another key."""
        at = next(i for i, line in enumerate(parts[old]) if line.item)
        lead = parts[old][at].text[:column]
        parts[old][at] = _Line(" " * column + parts[old][at].text[column:])
        put = next(
            i for i, line in enumerate(parts[new]) if line.text.strip() and not _is_comment(line)
        )
        parts[new][put] = _Line(lead + parts[new][put].text[column:], item=True)

    def _entry(
        self, key: Node, value: Node, loc: Loc, start: int, stop: int, column: int
    ) -> list[_Line]:
        name = str(key.value)
        item = bool(self._lines[key.line][: key.column].strip())
        above = [_Line(line) for line in self._lines[start : key.line]]
        line = _Line(self._lines[key.line], item=item)
        if not isinstance(value.value, str) and value.value and not self._flow(value):
            inner = self._above(value.line, key.line + 1, value.column)
            between = [_Line(text) for text in self._lines[key.line + 1 : inner]]
            return [*above, line, *between, *self._collection(value, (*loc, name), inner, stop)]
        if isinstance(value.value, str) and name in CODE and not value.block:
            block = self._as_block(value, column) if value.line <= key.line + 1 else None
            if block is not None:
                here = value.column if value.line == key.line else None
                lead = self._lines[key.line][:here].rstrip()
                rest = [_Line(text) for text in self._lines[value.end[0] + 1 : stop]]
                return [*above, _Line(f"{lead} |", item=item), *block, *rest]
        fixed = isinstance(value.value, str) and (value.block or stop > key.line + 1)
        body = [_Line(text, fixed=fixed) for text in self._lines[key.line + 1 : stop]]
        return [*above, line, *body]

    def _collection(self, node: Node, loc: Loc, start: int, stop: int) -> list[_Line]:
        if isinstance(node.value, dict):
            return self._mapping(node, loc, start, stop, node.column)
        assert isinstance(node.value, list)
        dash = node.column
        items = node.value
        at = [self._dash(item, dash) for item in items]
        tail = self._above(stop, at[-1] + 1, dash)
        starts = [start] + [self._above(line, start, dash) for line in at[1:]]
        made: list[_Line] = []
        for index, item in enumerate(items):
            end = starts[index + 1] if index + 1 < len(items) else tail
            made += [_Line(line) for line in self._lines[starts[index] : at[index]]]
            made += self._item(item, (*loc, index), at[index], end, dash)
        return made + [_Line(line) for line in self._lines[tail:stop]]

    def _item(self, item: Node, loc: Loc, start: int, end: int, dash: int) -> list[_Line]:
        if isinstance(item.value, dict) and item.value and not self._flow(item):
            if item.line == start:
                return self._mapping(item, loc, start, end, item.column)
            lead = [_Line(text) for text in self._lines[start : item.line]]
            return lead + self._mapping(item, loc, item.line, end, item.column)
        name = next((part for part in reversed(loc) if isinstance(part, str)), "")
        if isinstance(item.value, str) and name in CODE and not item.block and item.line == start:
            block = self._as_block(item, dash)
            if block is not None:
                rest = [_Line(text) for text in self._lines[item.end[0] + 1 : end]]
                return [_Line(" " * dash + "- |", item=True), *block, *rest]
        first = _Line(self._lines[start], item=True)
        fixed = isinstance(item.value, str)
        return [first, *(_Line(text, fixed=fixed) for text in self._lines[start + 1 : end])]

    # -- scalars ------------------------------------------------------------------------

    def _as_block(self, value: Node, column: int) -> list[_Line] | None:
        """The lines of a block that says the same, None where no block can."""
        text = value.value
        assert isinstance(text, str)
        lines = text.rstrip("\n").split("\n")
        plain = all(c.isprintable() or c == "\t" for line in lines for c in line)
        if not text.strip() or lines[0][:1] in (" ", "\t", "") or not plain:
            return None
        last, behind = value.end
        if self._lines[last][behind:].strip():
            return None  # a comment stands behind it
        indent = " " * (column + 2)
        return [_Line(f"{indent}{line}" if line else "", fixed=True) for line in lines]

    # -- where things lie ---------------------------------------------------------------

    def _dash(self, item: Node, column: int) -> int:
        """The line of the dash that an item of a block sequence begins with."""
        line = item.line
        while self._lines[line][column : column + 1] != "-":
            line -= 1
        return line

    def _above(self, line: int, least: int, column: int) -> int:
        """The first of the comment and blank lines right above a line, not below `least`."""
        at = line
        while at > least:
            text = self._lines[at - 1]
            indent = len(text) - len(text.lstrip())
            if text.strip() and not (text.lstrip().startswith("#") and indent <= column):
                break
            at -= 1
        # Blank lines before the comment close what came before.
        while at < line and not self._lines[at].strip():
            at += 1
        return at

    def _flow(self, node: Node) -> bool:
        return _is_flow(self._document, node)


def _entries(node: Node) -> list[tuple[Node, Node]]:
    assert isinstance(node.value, dict)
    return list(node.value.values())


def _is_comment(line: _Line) -> bool:
    return line.text.lstrip().startswith("#") and not line.fixed


def _clean(lines: Sequence[_Line]) -> Iterator[str]:
    """Without spaces at line ends and doubled blank lines outside of blocks of text."""
    blank = True
    waiting: list[str] = []
    for line in lines:
        text = line.text if line.fixed else line.text.rstrip()
        if not text.strip():
            waiting.append(text if line.fixed else "")
            continue
        if waiting and not blank:
            yield from waiting if line.fixed else waiting[:1]
        waiting = []
        blank = False
        yield text
