"""A loss that compares each value with every target, because (N, 1) met (N,)."""

from __future__ import annotations

from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, Fix
from tutor.explain.history import History, bare, op_name
from tutor.explain.kinds.nonscalar_backward import shape
from tutor.explain.repairs import stood_up
from tutor.explain.shown import shown_places
from tutor.trace import NONE
from tutor.trace.state import NodeState, OpState, PassState

KIND = "shape-broadcast"

_LOSSES = frozenset(
    ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "kl_div",
     "gaussian_nll_loss", "soft_margin_loss"]
)  # fmt: skip
_ELEMENTWISE = frozenset(
    ["sub", "__sub__", "__rsub__", "mul", "__mul__", "__rmul__", "add", "__add__", "div", "sub_"]
)
_STANDS_UP = frozenset(["unsqueeze", "__getitem__", "view", "reshape", "expand", "T", "t"])
"""Calls by which somebody gives a tensor a dimension, mostly in order to broadcast."""

_ON_THE_WAY = frozenset(
    ["pow", "abs", "mul", "add", "neg", "sub", "div", "square", "clamp", "where", "rsub"]
)
"""What a loss does to its elements before it sums them up."""


def ran(history: History) -> list[Finding]:
    """A loss, or a formula of prediction and data, of shapes (N, 1) and (N,)."""
    for op in history.ops:
        name = bare(op.func)
        if name not in _LOSSES and name not in _ELEMENTWISE:
            continue
        if len(op.event.args) < 2:
            continue
        metas = [history.meta(uid, op.moment) for uid in op.event.args[:2]]
        first, second = (meta.shape if meta is not None else () for meta in metas)
        if not crossed(first, second):
            continue
        if name in _ELEMENTWISE and not _prediction_and_data(history, op):
            continue
        run = _summed_up(history, op, name in _LOSSES)
        if run is None:
            continue
        size = max(*first, *second)
        facts: dict[str, Fact] = {
            "func": name,
            "first": shape(first),
            "second": shape(second),
            "size": size,
        }
        place = history.place("cause", op.site, op.moment, note("broadcasts", size=size))
        return [
            finding(
                KIND,
                "warning",
                "plain",
                facts,
                cause=[place],
                surfaced=[
                    history.place("surfaced", op.site, op.moment),
                    *shown_places(history, (), op.moment, wrong=op.event.outs),
                ],
                fixes=[_same_shape(history, op, first, second)],
            )
        ]
    return []


def _same_shape(
    history: History, op: OpState, first: tuple[int, ...], second: tuple[int, ...]
) -> Fix | None:
    """The shorter one with a last dimension of its own."""
    place = op.site[-1]
    shorter = 0 if len(first) < len(second) else 1
    edit = stood_up(history.text(place.file), place.file, place.line, shorter)
    return fix("unsqueeze", {"line": place.line}, edit)


def crossed(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether two shapes hold the same sizes, and broadcast to more elements than either has."""
    if first == second or _without_ones(first) != _without_ones(second):
        return False
    length = max(len(first), len(second))
    a = (1,) * (length - len(first)) + first
    b = (1,) * (length - len(second)) + second
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        return False
    count = _product(tuple(max(x, y) for x, y in zip(a, b, strict=True)))
    return count > max(_product(first), _product(second))


def _without_ones(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in sizes if size != 1)


def _product(sizes: tuple[int, ...]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def _prediction_and_data(history: History, op: OpState) -> bool:
    """One side is computed, the other is data, and neither was stood up for this very call."""
    grads = [history.requires_grad(uid, op.moment) for uid in op.event.args[:2]]
    if sum(grads) != 1:
        return False
    shapes = [meta.shape for uid in op.event.args[:2] if (meta := history.meta(uid, op.moment))]
    if len(shapes) == 2 and len(shapes[0]) == len(shapes[1]):
        return False  # (N, 1) and (1, N): somebody wanted each with each
    longer = max(len(one) for one in shapes)
    for uid in op.event.args[:2]:
        maker, meta = history.maker(uid), history.meta(uid, op.moment)
        if meta is None or len(meta.shape) < longer:
            continue
        if maker is None or bare(maker.func) not in _STANDS_UP or not maker.site or not op.site:
            continue
        near = [(p.file, p.line) for p in maker.site] == [(p.file, p.line) for p in op.site]
        if near or history.requires_grad(uid, op.moment):
            return False
    return True


def _summed_up(history: History, op: OpState, loss: bool) -> PassState | None:
    """The pass in which what a call made is summed up to the root, each element alike."""
    made = {node.event.node for node in history.nodes_of_op.get(op.op, ())}
    for run in history.passes:
        start = next((number for number in made if number in run.arrived), NONE)
        if start == NONE:
            continue
        if loss or _elements_to_sum(history, run, start):
            return run
    return None


def _elements_to_sum(history: History, run: PassState, start: int) -> bool:
    above: dict[int, list[NodeState]] = {}
    for number in run.order:
        node = history.nodes.get(number)
        for target, _ in node.edges if node is not None else ():
            if node is not None:
                above.setdefault(target, []).append(node)
    current = start
    for _ in range(8):
        following = above.get(current, [])
        if not following:
            return False
        if all(node.name in ("MeanBackward0", "SumBackward0") for node in following):
            return True
        if not all(op_name(node.name) in _ON_THE_WAY for node in following):
            return False
        current = following[0].event.node
    return False
