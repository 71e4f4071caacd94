"""Which writes of a version counter are kept, so that a long loop stays bounded.

Kept are the latest ones, and of the older ones each that was the first after a living save:
that is the write which a backward through the save would have to name. Of too many of those the
earliest and the latest are kept.
"""

from __future__ import annotations

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


def thinned(writes: Writes, savers: Savers, nodes: Map[int, NodeState]) -> tuple[Writes, int]:
    """The writes to keep, given who holds saves among these nodes, and how many went."""
    old, recent = writes[:-KEPT_WRITES], writes[-KEPT_WRITES:]
    kept = tuple(w for w in old if savers.between(w.counter, w.before, w.after, nodes))
    if len(kept) > KEPT_SAVED:
        half = KEPT_SAVED // 2
        kept = (*kept[: KEPT_SAVED - half], *kept[len(kept) - half :])
    return (*kept, *recent), len(old) - len(kept)


class Savers:
    """Which nodes saved which version of a counter, so that nobody walks over all nodes.

    Most runs never ask, so the index begins with the first question.
    """

    def __init__(self) -> None:
        self._nodes: dict[int, dict[int, list[int]]] | None = None

    def add(self, node: Node) -> None:
        """A new node."""
        if self._nodes is not None:
            for save in node.saves:
                self._nodes.setdefault(save.counter, {}).setdefault(save.version, []).append(
                    node.node
                )

    def between(self, counter: int, before: int, after: int, nodes: Map[int, NodeState]) -> bool:
        """Whether a living node has saved a version from `before` up to, not including, `after`."""
        if self._nodes is None:
            self._nodes = {}
            for known in nodes.values():
                self.add(known.event)
        saved = self._nodes.get(counter)
        if not saved:
            return False
        if after - before <= len(saved):
            versions = [version for version in range(before, after) if version in saved]
        else:
            versions = [version for version in saved if before <= version < after]
        for version in versions:
            if any(_holds(nodes.get(number), counter, version) for number in saved[version]):
                return True
            del saved[version]  # its nodes do not come back to life
        return False


def _holds(node: NodeState | None, counter: int, version: int) -> bool:
    if node is None or node.dead or node.freed != NONE:
        return False
    return any(save.counter == counter and save.version == version for save in node.saves)
