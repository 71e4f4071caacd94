"""Which writes of a version counter are kept, so that a long loop stays bounded.

Kept are the latest ones, and of the older ones each that was the first after a living save:
that is the write which a backward through the save would have to name.
"""

from __future__ import annotations

from bisect import bisect_left

from immutables import Map

from tutor.trace.events import NONE, Node
from tutor.trace.state import NodeState, WriteState

KEPT_WRITES = 64
"""Writes kept for one counter: the latest ones."""

KEPT_SAVED = 256
"""Older writes kept for one counter: each the first one after a living save."""

Writes = tuple[WriteState, ...]


def too_many(writes: Writes) -> bool:
    """Whether it is time to thin these out; there is some room, so that it is not always."""
    return len(writes) > KEPT_SAVED + 2 * KEPT_WRITES


def thinned(writes: Writes, saved: list[int]) -> tuple[Writes, int]:
    """The writes to keep, given the versions of living saves in order, and how many went."""
    old, recent = writes[:-KEPT_WRITES], writes[-KEPT_WRITES:]
    kept = tuple(w for w in old if _between(saved, w.before, w.after))[-KEPT_SAVED:]
    return (*kept, *recent), len(old) - len(kept)


def _between(versions: list[int], before: int, after: int) -> bool:
    """Whether one of these sorted versions is at least `before` and below `after`."""
    index = bisect_left(versions, before)
    return index < len(versions) and versions[index] < after


class Savers:
    """Which nodes hold a save of which counter, so that nobody walks over all nodes.

    Most runs never ask, so the index begins with the first question.
    """

    def __init__(self) -> None:
        self._nodes: dict[int, list[int]] | None = None

    def add(self, node: Node) -> None:
        """A new node."""
        if self._nodes is not None:
            for counter in {save.counter for save in node.saves}:
                self._nodes.setdefault(counter, []).append(node.node)

    def versions(self, counter: int, nodes: Map[int, NodeState]) -> list[int]:
        """The versions of a counter that living nodes have saved, in order."""
        if self._nodes is None:
            self._nodes = {}
            for known in nodes.values():
                self.add(known.event)
        living = [
            node
            for node in map(nodes.get, self._nodes.get(counter, ()))
            if node is not None and not node.dead and node.freed == NONE
        ]
        self._nodes[counter] = [node.event.node for node in living]
        saves = (save for node in living for save in node.saves)
        return sorted({save.version for save in saves if save.counter == counter})
