"""Graphs in which a gradient cancels, or flows where a constant was meant: seen by their form.

The forms are those of well-known formulas that need a `detach`: the straight-through estimate
`x + (q - x)`, a value divided by itself, the ratio of two equal probabilities, a bootstrapped
target, an advantage that weighs a log-probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tutor.explain.history import History, op_name, word_set
from tutor.trace import NONE
from tutor.trace.state import NodeState, OpState, PassState

FLAT = word_set(
    """round floor ceil trunc sign sgn heaviside normal bernoulli poisson argmax scatter
    not_implemented NotImplemented index_put"""
)
"""Ops through which no gradient comes to what they took."""

_RESHAPES = word_set(
    """squeeze view unsqueeze expand gather index select slice reshape clone neg sum mean stack cat
    t transpose permute alias to_copy unsafe_view flatten max amax min amin index_select"""
)

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Form:
    """A form that was found: which, the nodes of it (the telling one first), and the pass."""

    variant: str
    nodes: tuple[NodeState, ...]
    run: PassState


def forms(history: History) -> Iterator[Form]:
    """The forms in the graphs that backwards went through, of each line the first few times."""
    looks = (_straight_through, _by_itself, _ratio, _bootstrap, _advantage)
    seen: dict[tuple[str, int, str], int] = {}
    for run in history.passes:
        if not run.ok:
            continue
        above: dict[int, list[NodeState]] | None = None
        for number in run.order:
            node = history.nodes.get(number)
            if node is None or not node.site or node.name not in _TELLING:
                continue
            key = (node.site[-1].file, node.site[-1].line, node.name)
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > _OF_ONE_LINE:
                continue
            if above is None:
                above = _above(history, run)
            graph = _Graph(history, run, above)
            for look in looks:
                found = look(graph, node)
                if found is not None:
                    yield found


_TELLING = frozenset(
    ["AddBackward0", "SubBackward0", "DivBackward0", "ExpBackward0", "MulBackward0",
     "MseLossBackward0", "SmoothL1LossBackward0", "HuberLossBackward0"]
)  # fmt: skip

_OF_ONE_LINE = 8
"""Nodes of one line and name that are looked at: of a long loop the first iterations."""


def _above(history: History, run: PassState) -> dict[int, list[NodeState]]:
    found: dict[int, list[NodeState]] = {}
    for number in run.order:
        node = history.nodes.get(number)
        for target, _ in node.edges if node is not None else ():
            if node is not None:
                found.setdefault(target, []).append(node)
    return found


@dataclass(frozen=True, slots=True)
class _Graph:
    """The graph of one pass."""

    history: History
    run: PassState
    above: dict[int, list[NodeState]]

    def node(self, edge: Edge) -> NodeState | None:
        """The node at the end of an edge."""
        return self.history.nodes.get(edge[0]) if edge[0] != NONE else None

    def op(self, node: NodeState) -> OpState | None:
        """The call that made a node."""
        return self.history.trace.op(node.event.op)

    def scaled(self, node: NodeState) -> bool:
        """Whether a sum or difference was given a factor (`alpha=2`)."""
        op = self.op(node)
        return op is not None and "alpha" in op.event.detail

    def reaches(self, start: Edge, target: int, stop: Callable[[NodeState], bool]) -> bool:
        """Whether a node is reached from an edge by a way that leads through no stop."""
        pending, seen = [start[0]], {start[0]}
        while pending and len(seen) < 3000:
            number = pending.pop()
            if number == target:
                return True
            node = self.history.nodes.get(number)
            if node is None or stop(node):
                continue
            for following, _ in node.edges:
                if following != NONE and following not in seen:
                    seen.add(following)
                    pending.append(following)
        return False

    def leaves(self, edge: Edge) -> set[int]:
        """The parameters behind an edge."""
        if edge[0] == NONE:
            return set()
        return {n.event.leaf for n in self.history.walk(edge[0]) if n.event.leaf != NONE}


def _is_flat(node: NodeState) -> bool:
    return op_name(node.name) in FLAT


def _live(node: NodeState) -> list[Edge]:
    return [edge for edge in node.edges if edge[0] != NONE]


# -- the forms ------------------------------------------------------------------------------


def _straight_through(graph: _Graph, node: NodeState) -> Form | None:
    """`x + (q - x)` or `x - (x - q)`, where nothing else leads from q to x."""
    if node.name not in ("AddBackward0", "SubBackward0") or len(node.edges) != 2:
        return None
    if graph.scaled(node):
        return None
    turns = [node.edges, node.edges[::-1]] if node.name == "AddBackward0" else [node.edges]
    for plain, difference in turns:
        inner = graph.node(difference)
        if inner is None or inner.name != "SubBackward0" or graph.scaled(inner):
            continue
        kept, same = inner.edges if node.name == "AddBackward0" else inner.edges[::-1]
        if plain[0] == NONE or same != plain or kept == plain:
            continue
        if kept[0] != NONE and graph.reaches(kept, plain[0], _is_flat):
            continue
        return Form("straight-through", (inner, node), graph.run)
    return None


def _by_itself(graph: _Graph, node: NodeState) -> Form | None:
    """`x / x`: one, whatever x is."""
    if node.name != "DivBackward0" or len(node.edges) != 2 or node.edges[0][0] == NONE:
        return None
    op = graph.op(node)
    if op is None or len(op.event.args) != 2 or op.event.args[0] != op.event.args[1]:
        return None
    return Form("by-itself", (node,), graph.run) if node.edges[0] == node.edges[1] else None


def _ratio(graph: _Graph, node: NodeState) -> Form | None:
    """`exp(new - old)` where both are recorded and equal, each time."""
    if node.name != "ExpBackward0":
        return None
    inner = graph.node(node.edges[0])
    if inner is None or inner.name != "SubBackward0" or len(_live(inner)) != 2:
        return None
    here = inner.site[-1]
    values = [
        graph.history.value_after(op.event.outs[0], op.moment)
        for op in graph.history.ops
        if op.event.outs
        and op.func == "Tensor.sub"
        and op.site
        and (op.site[-1].file, op.site[-1].line) == (here.file, here.line)
    ]
    if not values or any(
        value is None or value.nonfinite or value.low != 0 or value.high != 0 for value in values
    ):
        return None
    old = graph.node(inner.edges[1])
    nodes = (inner, old, node) if old is not None and old.event.leaf == NONE else (inner, node)
    return Form("ratio", nodes, graph.run)


def _bootstrap(graph: _Graph, node: NodeState) -> Form | None:
    """A loss of `q` against `r + gamma * q'`, both from the same parameters."""
    if len(node.edges) != 2 or len(_live(node)) != 2:
        return None
    if node.name == "SubBackward0":
        after = {op_name(n.name) for n in graph.above.get(node.event.node, ())}
        if not after & {"pow", "abs", "mul", "smooth_l1_loss", "huber_loss", "square"}:
            return None
    elif not node.name.endswith("LossBackward0"):
        return None
    for value, target in (node.edges, node.edges[::-1]):
        made = _discounted(graph, target)
        if made is None:
            continue
        if graph.leaves(value) & graph.leaves(target):
            return Form("bootstrap", (made, node), graph.run)
    return None


def _discounted(graph: _Graph, edge: Edge) -> NodeState | None:
    """The sum of a tensor without a graph and a discounted value with one."""
    node = _through(graph, edge, _RESHAPES)
    if node is None or node.name != "AddBackward0" or len(_live(node)) != 1:
        return None
    op = graph.op(node)
    if op is None or len(op.event.args) != 2:
        return None
    inner = graph.node(_live(node)[0])
    discounted = False
    while inner is not None and inner.name == "MulBackward0" and len(_live(inner)) == 1:
        factor = graph.op(inner)
        discounted = discounted or (factor is not None and _discounts(graph, factor))
        inner = graph.node(_live(inner)[0])
    return node if discounted and inner is not None else None


def _discounts(graph: _Graph, op: OpState) -> bool:
    """Whether a factor is a number below 1, or a tensor of such numbers and zeros."""
    try:
        return 0.5 <= float(op.event.detail) < 1.0
    except ValueError:
        pass
    for uid in op.event.args:
        value = graph.history.value_before(uid, op.moment)
        if graph.history.requires_grad(uid, op.moment) or value is None or value.low is None:
            continue
        if value.high is not None and value.low >= 0 and 0.5 <= value.high < 1:
            return True
    return False


def _advantage(graph: _Graph, node: NodeState) -> Form | None:
    """A log-probability times a difference that has a graph of its own."""
    if node.name != "MulBackward0" or len(node.edges) != 2 or len(_live(node)) != 2:
        return None
    for weighed, weight in (node.edges, node.edges[::-1]):
        end = _log_probability(graph, weighed)
        if end is None:
            continue
        made = _difference(graph, weight)
        if made is None:
            continue
        inputs = [target for target, _ in _live(end)]
        if any(graph.reaches(weight, target, _is_leaf) for target in inputs):
            continue
        return Form("advantage", (made, node), graph.run)
    return None


def _is_leaf(node: NodeState) -> bool:
    return node.event.leaf != NONE


def _log_probability(graph: _Graph, edge: Edge) -> NodeState | None:
    """The node that made a log-probability, behind reshapes and the exp of a ratio."""
    node = graph.node(edge)
    for _ in range(12):
        if node is None:
            return None
        if op_name(node.name) in ("log_softmax", "log") or graph.history.through(
            graph.op(node), ".log_prob"
        ):
            return node
        live = _live(node)
        name = op_name(node.name)
        passes = name in _RESHAPES or name in ("exp", "sub", "clamp")
        if not passes or not live or (len(live) > 1 and name not in ("stack", "cat")):
            return None
        node = graph.node(live[0])
    return None


def _difference(graph: _Graph, edge: Edge) -> NodeState | None:
    """A sum or difference of data and something with a graph, near the end of an edge."""
    pending = [(edge, 0)]
    while pending:
        current, depth = pending.pop(0)
        node = graph.node(current)
        if node is None or depth > 4:
            continue
        name = op_name(node.name)
        op = graph.op(node)
        two = op is not None and len(op.event.args) == 2
        if two and name in ("sub", "add") and len(_live(node)) == 1:
            return node
        if name in ("sub", "add", "div", "mul") or name in _RESHAPES:
            pending += [(following, depth + 1) for following in _live(node)]
    return None


def _through(graph: _Graph, edge: Edge, names: frozenset[str]) -> NodeState | None:
    """The first node behind an edge that is not one of these with a single input."""
    node = graph.node(edge)
    while node is not None and op_name(node.name) in names and len(_live(node)) == 1:
        node = graph.node(_live(node)[0])
    return node
