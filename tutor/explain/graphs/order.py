"""The nodes below some roots, in an order in which every node comes after its inputs."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from tutor.trace.events import NONE
from tutor.trace.state import NodeState, State


def ordered(state: State, roots: Iterable[int]) -> list[NodeState]:
    """The nodes that the roots lead to, inputs first, otherwise in the order they were made.

    The order they were made in alone would not do: a view that is written in place gets a new
    node below older ones. Nodes that the state does not know are left out.
    """
    found: dict[int, NodeState] = {}
    pending = list(roots)
    while pending:
        number = pending.pop()
        if number in found:
            continue
        node = state.nodes.get(number)
        if node is None:
            continue
        found[number] = node
        pending.extend(target for target, _ in node.edges if target != NONE)
    waiting: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    for number, node in found.items():
        targets = {target for target, _ in node.edges if target in found and target != number}
        waiting[number] = len(targets)
        for target in targets:
            users.setdefault(target, []).append(number)
    ready = [_key(found[number]) for number, count in waiting.items() if not count]
    heapify(ready)
    order: list[NodeState] = []
    while ready:
        number = heappop(ready)[-1]
        order.append(found[number])
        for user in users.get(number, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, _key(found[user]))
    return order


def _key(node: NodeState) -> tuple[int, int, int]:
    """The call that made it, then a node's place in that call: of one call inputs come first."""
    return (node.event.op, node.moment, node.event.node)
