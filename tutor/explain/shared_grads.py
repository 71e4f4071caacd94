"""Gradients that an op hands to several inputs as one tensor, and that somebody writes into."""

from __future__ import annotations

import ast

from tutor.explain import source
from tutor.explain.history import History
from tutor.trace import NONE, Value
from tutor.trace.state import NodeState, PassState

_HANDS_ON = ("AddBackward0", "SubBackward0")
"""Nodes that send what they got, the same tensor, to their first input (and their second)."""


def writes_parameter(text: str, function: source.Function, name: str) -> int | None:
    """The line at which a function writes into the tensor that it was given under this name."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            value = {t.id for t in node.targets if isinstance(t, ast.Name)}
            if name in value:
                return None  # it means another tensor from here on
        if isinstance(node, ast.stmt) and name in _written(text, node):
            return node.lineno
    return None


def _written(text: str, node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = source.called(node.value)
        if not called.endswith("_") or called.endswith("__"):
            return set()
        owner = node.value.func
        while isinstance(owner, ast.Attribute | ast.Subscript):
            owner = owner.value
        return {owner.id} if isinstance(owner, ast.Name) else set()
    if isinstance(node, ast.Assign | ast.AugAssign):
        return source.names_written(text, node.lineno)
    return set()


def corrupted(
    history: History, run: PassState, target: int
) -> tuple[NodeState, tuple[int, ...]] | None:
    """(the node that sent one gradient to two, the leaves of the other branch), where it changed.

    The other branch must have been sent something else than what the node had got.
    """
    givers = [
        node
        for number in run.order
        if (node := history.nodes.get(number)) is not None
        and node.name in _HANDS_ON
        and any(child == target for child, _ in node.edges)
    ]
    for giver in givers:
        got = run.arrived.get(giver.event.node, ())
        if not got or got[0] is None:
            continue
        for place, (child, index) in enumerate(giver.edges):
            if child in (NONE, target) or (giver.name == "SubBackward0" and place == 1):
                continue
            if _parents(history, run, child) != 1:
                continue
            sent = run.arrived.get(child, ())
            value = sent[index] if index < len(sent) else None
            if value is not None and value.shape == got[0].shape and not _equal(value, got[0]):
                leaves = tuple(n.event.leaf for n in history.walk(child) if n.event.leaf != NONE)
                return giver, leaves
    return None


def _parents(history: History, run: PassState, child: int) -> int:
    return sum(
        1
        for number in run.order
        if (node := history.nodes.get(number)) is not None
        for target, _ in node.edges
        if target == child
    )


def _equal(a: Value, b: Value) -> bool:
    return (a.flat, a.low, a.high, a.mean) == (b.flat, b.low, b.high, b.mean)
