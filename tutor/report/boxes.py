"""The words of a box that do not change with time: what is folded in it, and from where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tutor.explain.graphs import Box, Folded, Leaf
from tutor.report.film import Line, Piece
from tutor.trace.state import NodeState

PARTS = 8
"""Parts of a repeated stretch that have a row."""

LEAVES = 24
"""Leaves up to which each has a box; of more, those with the same users share one."""

ROOM = 42
"""Letters in a row at the most."""


def leaf_groups(graph: Folded) -> tuple[list[list[Leaf]], list[Leaf]]:
    """(groups that share a box, leaves with one of their own)."""
    if len(graph.leaves) <= LEAVES:
        return [], list(graph.leaves)
    groups: dict[tuple[int, ...], list[Leaf]] = {}
    for leaf in graph.leaves:
        groups.setdefault(leaf.users, []).append(leaf)
    shared = [group for group in groups.values() if len(group) > 2]
    apart = [leaf for group in groups.values() if len(group) <= 2 for leaf in group]
    return shared, apart


def heading(box: Box) -> Iterator[Line]:
    """The first rows of a folded box: what it is, how often, and what is in it."""
    if box.kind != "repeat":
        yield (Piece(clip(box.title, ROOM), "strong"),)
        yield from _inside(box)
        return
    parts = box.title.split(", ")
    yield (Piece(f"×{box.times}", "strong"), Piece(" times in a row", "dim"))
    for part in parts[:PARTS]:
        yield (Piece("  " + clip(part, ROOM - 2), "strong"),)
    if len(parts) > PARTS:
        yield (Piece(f"  … {len(parts) - PARTS} more", "dim"),)
    if len(box.parts) == 1:
        yield from _inside(box.parts[0])


def _inside(box: Box) -> Iterator[Line]:
    """The parts of a module that holds modules, named as it names them."""
    if all(part.kind == "node" for part in box.parts):
        return
    own = box.title.rpartition(" ")[0] + "."
    for part in box.parts[:PARTS]:
        yield (Piece("    " + clip(part.title.removeprefix(own), ROOM - 4), "dim"),)
    if len(box.parts) > PARTS:
        yield (Piece(f"    … {len(box.parts) - PARTS} more", "dim"),)


def span(nodes: Sequence[NodeState], main: str) -> str:
    """As in `120 nodes, lines 7 to 9`."""
    count = f"{len(nodes)} node{'s' if len(nodes) > 1 else ''}"
    lines = [node.site[-1].line for node in nodes if node.site and node.site[-1].file == main]
    if not lines:
        return count
    first, last = min(lines), max(lines)
    return f"{count}, line {first}" if first == last else f"{count}, lines {first} to {last}"


def clip(text: str, room: int) -> str:
    """The text in at most this many letters, with a sign where it was cut."""
    return text if len(text) <= room else text[: room - 1] + "…"
