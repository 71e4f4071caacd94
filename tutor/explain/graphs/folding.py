"""A graph in few boxes: modules and repeated parts are one box each, the rest is counted.

What is folded is always a stretch of one order of the nodes in which inputs come first. So
boxes lead only to earlier boxes, and the folded graph has no circles either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tutor.explain.graphs.modules import Made, instances, makings
from tutor.explain.graphs.order import ordered
from tutor.explain.graphs.repeats import repeats
from tutor.trace.events import NONE
from tutor.trace.state import NodeState, State
from tutor.trace.trace import Trace

Kind = Literal["node", "module", "repeat", "rest"]

LIMIT = 48
"""Boxes up to which a graph is drawn as it is."""

READABLE = 8
"""Parts of a repetition that a person reads: of more, modules further out are folded."""

FEW = 3
"""Boxes that must be left when a graph is folded only to be easier to read."""

KEPT_BOXES = 24
"""Boxes left around each end where even the folded graph is too large."""


@dataclass(frozen=True, slots=True)
class Box:
    """One node, or a stretch of nodes told as one.

    `title` is the node's or module's name ("MulBackward0", "net.0 Linear"), or for what repeats
    the titles of its parts; `times` how often that repeats; `nodes` all nodes inside, inputs
    first. `leaves` are the AccumulateGrad nodes that only this box leads to.
    """

    kind: Kind
    title: str
    nodes: tuple[int, ...]
    times: int = 1
    parts: tuple[Box, ...] = ()
    leaves: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf with a box of its own: its AccumulateGrad node, and the boxes that lead to it."""

    node: int
    users: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """Boxes, inputs first; `edges` are (from, to) as the gradient flows, numbers of boxes."""

    boxes: tuple[Box, ...]
    edges: tuple[tuple[int, int], ...]
    leaves: tuple[Leaf, ...]
    count: int
    """Nodes in all boxes, leaves not counted."""


@dataclass(slots=True)
class _Item:
    """A box while folding; equal signatures are equal parts.

    `calls` are those it is all in, `rounds` the iterations of the loops that it began in.
    """

    kind: Kind
    title: str
    nodes: tuple[int, ...]
    signature: int
    calls: tuple[int, ...] = ()
    rounds: tuple[int, ...] = ()
    times: int = 1
    parts: tuple[_Item, ...] = ()


@dataclass(slots=True)
class _Signatures:
    """Numbers for what is the same: a table that grows."""

    known: dict[object, int] = field(default_factory=dict)
    single: int = -1

    def of(self, what: object) -> int:
        return self.known.setdefault(what, len(self.known))

    def unique(self) -> int:
        self.single -= 1
        return self.single


def folded(
    trace: Trace,
    state: State,
    roots: Iterable[int],
    kept: Collection[int] = (),
    limit: int = LIMIT,
) -> Folded:
    """The graph below some roots in at most about `limit` boxes (more only for `kept` nodes).

    A graph that fits is not folded. The nodes in `kept` always have a box of their own.
    """
    nodes = ordered(state, roots)
    inner = [node for node in nodes if node.event.leaf == NONE]
    leaves = [node.event.node for node in nodes if node.event.leaf != NONE]
    if len(inner) <= limit:
        items = [_Item("node", title_of(n), (n.event.node,), 0) for n in inner]
    else:
        items = _fold(trace, state, inner, set(kept), limit)
    return _put_together(state, items, leaves, len(inner), len(inner) > limit)


def title_of(node: NodeState) -> str:
    """The name that torch gives to the node, without the C++ name space."""
    return node.name.rsplit("::", 1)[-1]


def _fold(
    trace: Trace, state: State, nodes: list[NodeState], kept: set[int], limit: int
) -> list[_Item]:
    made = makings(trace, state, nodes)
    calls = instances(made)
    signatures = _Signatures()
    items = []
    for node, one, inside in zip(nodes, made, calls, strict=True):
        number = node.event.node
        place = node.site[-1] if node.site else None
        where = (place.file, place.line) if place is not None else None
        kinds = tuple(call.kind for call in one.calls)
        if number in kept:
            items.append(_Item("node", title_of(node), (number,), signatures.unique()))
        else:
            signature = signatures.of((node.name, where, kinds))
            rounds = tuple(n for spot in node.site for n in spot.iteration)
            items.append(_Item("node", title_of(node), (number,), signature, inside, rounds))
    names = _names(made, calls)
    deepest = max((len(inside) for inside in calls), default=0)
    outer = {number for inside in calls for number in inside[:-1]}
    items = _modules(items, NONE, names, signatures, outer)
    tried = _repeated(items, signatures)
    for depth in range(deepest, 0, -1):
        fits = len(tried) <= limit
        if fits and all(len(item.parts) <= READABLE for item in tried if item.kind == "repeat"):
            break
        items = _modules(items, depth, names, signatures)
        coarser = _repeated(items, signatures)
        if fits and len(coarser) < FEW:
            break  # the whole model as one box would say nothing
        tried = coarser
    return tried if len(tried) <= limit else _cut(tried, state, kept, limit)


def _names(made: Sequence[Made], calls: Sequence[tuple[int, ...]]) -> dict[int, tuple[str, str]]:
    """(name, class) of each call: the name is what the names inside it begin with, maybe ""."""
    names: dict[int, tuple[str, str]] = {}
    for one, inside in zip(made, calls, strict=True):
        for depth, number in enumerate(inside):
            known = names.get(number, ("", ""))[0]
            stem = one.stems[depth]
            name = _common(known, stem) if known and stem else known or stem
            names[number] = (name, one.calls[depth].kind)
    return names


def _common(one: str, other: str) -> str:
    """The dotted beginning of two names."""
    parts = []
    for mine, theirs in zip(one.split("."), other.split("."), strict=False):
        if mine != theirs:
            break
        parts.append(mine)
    return ".".join(parts)


def _modules(
    items: list[_Item],
    depth: int,
    names: dict[int, tuple[str, str]],
    signatures: _Signatures,
    outer: Collection[int] = (),
) -> list[_Item]:
    """Stretches made in one call, at this depth, as one item each.

    Depth NONE stands for innermost calls, those that are not `outer` to others.
    """
    result: list[_Item] = []
    index = 0
    while index < len(items):
        calls = items[index].calls
        level = len(calls) if depth == NONE else depth
        if not 0 < level <= len(calls) or calls[level - 1] in outer:
            result.append(items[index])
            index += 1
            continue
        end = index + 1
        while end < len(items) and items[end].calls[:level] == calls[:level]:
            end += 1
        name, kind = names[calls[level - 1]]
        parts = tuple(items[index:end])
        result.append(
            _Item(
                "module",
                f"{name} {kind}" if name else kind,
                tuple(n for part in parts for n in part.nodes),
                signatures.of((kind, tuple(part.signature for part in parts))),
                calls[: level - 1],
                parts[0].rounds,
                parts=parts,
            )
        )
        index = end
    return result


def _repeated(items: list[_Item], signatures: _Signatures) -> list[_Item]:
    """What comes three times and more in a row, as one item."""

    def join(copies: Sequence[Sequence[_Item]]) -> _Item:
        first = tuple(copies[0])
        inside = first[0].calls
        for part in (item for copy in copies for item in copy):
            inside = _shared(inside, part.calls)
        return _Item(
            "repeat",
            ", ".join(_range(*ends) for ends in zip(copies[0], copies[-1], strict=True)),
            tuple(n for copy in copies for item in copy for n in item.nodes),
            signatures.of((len(copies), tuple(item.signature for item in first))),
            inside,
            first[0].rounds,
            len(copies),
            first,
        )

    def nearness(before: _Item, after: _Item) -> int:
        calls, rounds = _shared(before.calls, after.calls), _shared(before.rounds, after.rounds)
        return len(calls) + len(rounds)

    return repeats(items, lambda item: item.signature, join, nearness)


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return one[:count]


def _range(first: _Item, last: _Item) -> str:
    """The title of a part that repeats: the first's, with the last's name where names differ."""
    if first.kind == "repeat":
        return f"({first.title} ×{first.times})"
    if first.title == last.title or " " not in first.title or " " not in last.title:
        return first.title
    begin, kind = first.title.rsplit(" ", 1)
    pairs = zip(begin.split("."), last.title.rsplit(" ", 1)[0].split("."), strict=False)
    return ".".join(a if a == b else f"{a}…{b}" for a, b in pairs) + f" {kind}"


def _cut(items: list[_Item], state: State, kept: set[int], limit: int) -> list[_Item]:
    """The first and the last items and those around kept ones; between them counts."""
    side = min(KEPT_BOXES, max(1, limit // 3))
    wanted = set(range(side)) | set(range(len(items) - side, len(items)))
    for index, item in enumerate(items):
        if len(item.nodes) == 1 and item.nodes[0] in kept:
            wanted |= set(range(max(0, index - 2), min(len(items), index + 3)))
    result: list[_Item] = []
    index = 0
    while index < len(items):
        end = index
        while end < len(items) and end not in wanted:
            end += 1
        if end - index > 1:
            nodes = tuple(n for item in items[index:end] for n in item.nodes)
            result.append(_Item("rest", _rest_title(state, nodes), nodes, 0))
            index = end
        else:
            result.append(items[index])
            index += 1
    return result


def _rest_title(state: State, nodes: Sequence[int]) -> str:
    """As in `512 nodes: 256 Mul, 256 Add`."""
    names = Counter(title_of(state.nodes[n]).replace("Backward0", "") for n in nodes)
    told = [f"{count} {name}" for name, count in names.most_common(3)]
    return f"{len(nodes)} nodes: {', '.join(told)}{', …' if len(names) > 3 else ''}"


def _put_together(
    state: State, items: list[_Item], leaves: list[int], count: int, large: bool
) -> Folded:
    home = {number: index for index, item in enumerate(items) for number in item.nodes}
    edges: dict[tuple[int, int], None] = {}
    users: dict[int, list[int]] = {leaf: [] for leaf in leaves}
    for index, item in enumerate(items):
        for number in item.nodes:
            for target, _ in state.nodes[number].edges:
                if target in users:
                    if not users[target] or users[target][-1] != index:
                        users[target].append(index)
                elif target in home and home[target] != index:
                    edges[index, home[target]] = None
    inside: dict[int, list[int]] = {}
    apart: list[Leaf] = []
    for leaf, boxes in users.items():
        if large and len(boxes) == 1:
            inside.setdefault(boxes[0], []).append(leaf)
        else:
            apart.append(Leaf(leaf, tuple(dict.fromkeys(boxes))))
    return Folded(
        tuple(_box(item, tuple(inside.get(index, ()))) for index, item in enumerate(items)),
        tuple(edges),
        tuple(apart),
        count,
    )


def _box(item: _Item, leaves: tuple[int, ...] = ()) -> Box:
    return Box(
        item.kind,
        item.title,
        item.nodes,
        item.times,
        tuple(_box(part) for part in item.parts) if item.kind != "node" else (),
        leaves,
    )
