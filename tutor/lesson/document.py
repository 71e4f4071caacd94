"""A YAML file as a tree in which every scalar is a string and every node knows its place.

YAML loses an author's words in several silent ways: a comment after a plain value, tags,
anchors and aliases, duplicate keys, a second document. Each of them is a fault here, with its
position, and none stops the search for the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tutor.lesson.faults import Fault, Text, rule

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_BYTES = 1_000_000
MAX_DEPTH = 40

TEXT_KEYS = frozenset(
    [
        "after",
        "also",
        "answer",
        "ask",
        "code",
        "equals",
        "example",
        "extra",
        "hints",
        "lines",
        "loss",
        "meaning",
        "of",
        "say",
        "setup",
        "solution",
        "starter",
        "text",
        "title",
        "why",
    ]
)
"""Keys whose value is somebody's words or code: a comment behind it would cut them."""

_COMMENT = re.compile(r"\s+#")


@dataclass(slots=True)
class Node:
    """A scalar, a sequence or a mapping, from (line, column) on, both from 0.

    `value` is a string, a list of nodes, or a dict of key text to (key node, value node).
    `width` is what the caret underlines, `end` the line and column behind a scalar.
    """

    line: int
    column: int
    value: str | list[Node] | dict[str, tuple[Node, Node]]
    width: int = 1
    block: bool = False
    end: tuple[int, int] = (0, 0)

    def plain(self) -> Any:
        """The tree without places: strings, lists and dicts."""
        if isinstance(self.value, str):
            return self.value
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return {key: node.plain() for key, (_, node) in self.value.items()}


Loc = Sequence[str | int]


@dataclass(frozen=True)
class Document:
    """A file that was read: its text, its tree (None where it is no YAML), its faults."""

    text: Text
    root: Node | None
    faults: tuple[Fault, ...]

    @property
    def path(self) -> str:
        return self.text.path

    def node(self, loc: Loc, *, key: bool = False) -> Node | None:
        """The node at a place in the data; parts that name nothing are skipped.

        With `key`, the node of the last part's key, where it has one.
        """
        here = self.root
        last_key: Node | None = None
        for part in loc:
            if here is None:
                return None
            if isinstance(here.value, dict) and str(part) in here.value:
                last_key, here = here.value[str(part)]
            elif isinstance(here.value, list) and isinstance(part, int) and part < len(here.value):
                last_key, here = None, here.value[part]
        return last_key if key and last_key is not None else here

    def fault(
        self, loc: Loc, code: str, message: str, *, help: str = "", key: bool = False
    ) -> Fault:
        """A fault at a place in the data."""
        node = self.node(loc, key=key)
        line, column, width = (node.line, node.column, node.width) if node else (0, 0, 1)
        return self.text.fault(line, column, rule(code), message, help=help, width=width)

    def line_inside(self, loc: Loc, line: int) -> int:
        """The line of the file, from 0, of line `line` (from 1) of a block of text."""
        node = self.node(loc)
        if node is None:
            return 0
        return node.line + (line if node.block else line - 1)


def read(path: Path, shown: str) -> Document:
    """Read a file; `shown` is the name that its faults carry."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return _unreadable(shown, f"the file cannot be read: {error.strerror or error}")
    if len(data) > MAX_BYTES:
        return _unreadable(shown, f"the file has {len(data)} bytes, the most is {MAX_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return _unreadable(shown, f"line {line} is not UTF-8", "save the file as UTF-8")
    return parse(text, shown)


def _unreadable(shown: str, message: str, help: str = "") -> Document:
    text = Text(shown, ())
    return Document(text, None, (text.fault(0, 0, rule("E001"), message, help=help),))


def parse(source: str, shown: str) -> Document:
    """Read YAML text."""
    lines = Text(shown, source.splitlines())
    builder = _Builder(lines)
    try:
        builder.build(yaml.parse(source, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        message = " ".join(filter(None, [error.context, error.problem]))
        builder.fault("E100", line, column, f"this is not YAML: {message}", help=_QUOTE)
        builder.root = None
    except yaml.YAMLError as error:
        builder.fault("E100", 0, 0, f"this is not YAML: {' '.join(str(error).split())}")
        builder.root = None
    if builder.root is None and not builder.faults:
        builder.fault("E107", 0, 0, "the file is empty")
    return Document(lines, builder.root, tuple(builder.faults))


_QUOTE = 'quote the value, or use a block: a line that ends in "|", the text under it'


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet."""

    node: Node
    under: str
    key: Node | None = None


@dataclass(slots=True)
class _Builder:
    """Turns parser events into nodes, noting faults on the way."""

    text: Text
    root: Node | None = None
    faults: list[Fault] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)
    _documents: int = 0
    _ignoring: int = 0

    def fault(
        self, code: str, line: int, column: int, message: str, *, help: str = "", width: int = 1
    ) -> None:
        self.faults.append(
            self.text.fault(line, column, rule(code), message, help=help, width=width)
        )

    def build(self, events: Iterator[Any]) -> None:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._documents += 1
                if self._documents == 2:
                    self._at(event, "E105", "a second document begins here; only one is read")
            if self._documents > 1:
                continue
            if isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                if self._ignoring:
                    self._ignoring -= 1
                else:
                    self._open.pop()
            elif isinstance(event, yaml.NodeEvent):
                self._node(event)

    def _at(self, event: Any, code: str, message: str, help: str = "", width: int = 1) -> None:
        mark = event.start_mark
        self.fault(code, mark.line, mark.column, message, help=help, width=width)

    def _node(self, event: Any) -> None:
        if self._ignoring:
            self._ignoring += isinstance(event, yaml.CollectionStartEvent)
            return
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            self._at(event, "E104", f'"*{event.anchor}" repeats another value', _WRITE_OUT)
            self._place(Node(mark.line, mark.column, ""))
            return
        if event.anchor is not None:
            self._at(event, "E103", f'"&{event.anchor}" names a value; YAML drops it', _WRITE_OUT)
        if event.tag is not None:
            self._at(
                event,
                "E101",
                f'a value that starts with "{event.tag}" is read as a YAML tag',
                'quote it:  "!x is not Python"',
            )
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        else:
            self._collection(event)

    def _scalar(self, event: Any) -> None:
        mark, end = event.start_mark, event.end_mark
        block = event.style in ("|", ">")
        width = end.column - mark.column if end.line == mark.line else 1
        plain = not event.style
        if plain and self._in_value() and self._key() in TEXT_KEYS:
            self._trailing_comment(event)
        place = (end.line, end.column)
        self._place(Node(mark.line, mark.column, event.value, max(width, 1), block, place))

    def _trailing_comment(self, event: Any) -> None:
        end = event.end_mark
        if end.line >= len(self.text.lines):
            return
        rest = self.text.lines[end.line][end.column :]
        if _COMMENT.match(rest):
            mark = event.start_mark
            self._at(
                event,
                "E102",
                'everything after " #" is dropped by YAML here',
                _QUOTE,
                width=end.column - mark.column if end.line == mark.line else 1,
            )

    def _collection(self, event: Any) -> None:
        mark = event.start_mark
        mapping = isinstance(event, yaml.MappingStartEvent)
        if len(self._open) >= MAX_DEPTH:
            self._at(event, "E203", f"values nest deeper than {MAX_DEPTH} here")
            self._place(Node(mark.line, mark.column, ""))
            self._ignoring = 1
            return
        if mapping and self._open and self._wants_key():
            self._at(event, "E106", "a key must be a word here")
        node = Node(mark.line, mark.column, {} if mapping else [])
        under = self._key()
        self._place(node)
        self._open.append(_Open(node, under))

    # where we are

    def _wants_key(self) -> bool:
        top = self._open[-1] if self._open else None
        return top is not None and isinstance(top.node.value, dict) and top.key is None

    def _in_value(self) -> bool:
        return bool(self._open) and not self._wants_key()

    def _key(self) -> str:
        """The key under which the next value stands; items of a list stand under the list's."""
        if not self._open:
            return ""
        top = self._open[-1]
        return str(top.key.value) if top.key is not None else top.under

    def _place(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        top = self._open[-1]
        if isinstance(top.node.value, list):
            top.node.value.append(node)
        elif isinstance(top.node.value, dict):
            if top.key is None:
                top.key = node
                return
            self._entry(top.node.value, top.key, node)
            top.key = None

    def _entry(self, entries: dict[str, tuple[Node, Node]], key: Node, node: Node) -> None:
        if not isinstance(key.value, str):
            if not isinstance(key.value, dict):
                self.fault("E106", key.line, key.column, "a key must be a word here")
            return
        known = entries.get(key.value)
        if known is not None:
            self.fault(
                "E110",
                key.line,
                key.column,
                f'"{key.value}" was already given at line {known[0].line + 1};'
                " YAML would keep only this one",
                width=key.width,
            )
        entries[key.value] = (key, node)


_WRITE_OUT = "write the value out where it is needed"
