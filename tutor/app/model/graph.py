"""The graph as rows: the tree from each root down, shared nodes drawn once.

A chain of nodes with one input each stays flat, so the indent grows at branches only; the walk
keeps its own stack, so depth costs nothing. A node of the latest pass is shown even if it has
died since: what a backward went through is what the learner asks about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.cells import cell_len

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.names import (
    all_names,
    node_title,
    numbers,
    outputs,
    place_text,
    save_words,
    tensor_name,
    tensor_words,
)
from tutor.app.model.rows import BLANK, Row, Span, Spans, Target, split, width_of, wrap
from tutor.app.model.values import value_text
from tutor.trace.events import NONE, Save
from tutor.trace.state import NodeState, PassState, State

WALKED = 20_000
"""Nodes that are counted: a graph beyond that is told to be larger."""

SIDE = 3
"""Nodes that a branch may have to be drawn beside the main way: a weight's transpose, a view."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A node on its way to be drawn: `first` starts its first row, `rest` the others."""

    node: int
    first: str
    rest: str


@dataclass(slots=True)
class Drawing:
    """What the rows of one graph are made from."""

    state: State
    width: int
    glyphs: Glyphs
    main: str
    numbers: dict[int, int]
    outputs: dict[int, list[int]]
    latest: PassState | None
    users: dict[int, int]
    home: set[int] = field(default_factory=set)
    leaves: set[int] = field(default_factory=set)


def graph_rows(
    state: State, width: int, glyphs: Glyphs = UNICODE, limit: int = 400, main: str = ""
) -> list[Row]:
    """The rows of every graph that is alive, and of the one the latest backward went through."""
    roots = shown_roots(state)
    if not roots:
        return _empty(state, width)
    drawing = Drawing(
        state,
        width,
        glyphs,
        main,
        numbers(state),
        outputs(state),
        latest_pass(state),
        _users(state, roots),
    )
    rows: list[Row] = []
    for position, root in enumerate(roots):
        if position:
            rows.append(BLANK)
        for row in _tree(drawing, root):
            rows.append(row)
            if len(rows) >= limit:
                left = len(drawing.users) - len(drawing.home)
                many = "more than " if len(drawing.users) >= WALKED else ""
                text = (
                    f"{glyphs.more} {many}{left} more nodes" if left > 0 else f"{glyphs.more} more"
                )
                rows.append(Row((Span(text, "link"),), action="more", key="more"))
                return rows
    return rows


def latest_pass(state: State) -> PassState | None:
    """The pass that began last, not counting those inside another."""
    passes = [p for p in state.passes.values() if not p.event.nested]
    return max(passes, key=lambda p: p.moment, default=None)


def shown_roots(state: State) -> tuple[int, ...]:
    """The roots of the latest pass, then the living ones that those do not lead to."""
    latest = latest_pass(state)
    first = [node for _, node in latest.event.roots if node in state.nodes] if latest else []
    seen: set[int] = set()
    for root in first:
        if root not in seen:
            seen.update(node.event.node for node in state.walk(root))
    return (*dict.fromkeys(first), *(root for root in state.roots() if root not in seen))


def _users(state: State, roots: tuple[int, ...]) -> dict[int, int]:
    """For each node below the roots, how many nodes take its output."""
    counts: dict[int, int] = {}
    seen: set[int] = set()
    for root in roots:
        counts.setdefault(root, 0)
        for node in _walk_new(state, root, seen):
            if len(seen) > WALKED:
                break
            for target in _targets(state, node):
                counts[target] = counts.get(target, 0) + 1
    return {node: count for node, count in counts.items() if not _is_leaf(state, node)}


def _walk_new(state: State, root: int, seen: set[int]) -> Iterator[NodeState]:
    pending = [root]
    while pending:
        node = state.nodes.get(pending.pop())
        if node is None or node.event.node in seen:
            continue
        seen.add(node.event.node)
        yield node
        pending.extend(target for target, _ in node.edges if target != NONE)


def _targets(state: State, node: NodeState) -> tuple[int, ...]:
    """The nodes this one hands gradients to, each once, in order."""
    return tuple(dict.fromkeys(t for t, _ in node.edges if t != NONE and t in state.nodes))


def _is_leaf(state: State, node: int) -> bool:
    known = state.nodes.get(node)
    return known is not None and known.event.leaf != NONE


def _tree(drawing: Drawing, root: int) -> Iterator[Row]:
    """The rows of one root, depth first."""
    state, glyphs = drawing.state, drawing.glyphs
    pending = [Visit(root, "", "")]
    while pending:
        visit = pending.pop()
        node = state.nodes[visit.node]
        if visit.node in drawing.home:
            yield _again(drawing, node, visit)
            continue
        drawing.home.add(visit.node)
        targets = _targets(state, node)
        inner = [t for t in targets if not _is_leaf(state, t)]
        yield from _node_rows(drawing, node, visit)
        for target in targets:
            if _is_leaf(state, target):
                yield from _leaf_rows(drawing, state.nodes[target], visit.rest + "  ")
        branch, last, pipe = glyphs.branch + " ", glyphs.last + " ", glyphs.pipe + " "
        rest = _capped(visit.rest, drawing.width, glyphs)
        main = [target for target in inner if not _is_side(drawing, target)]
        if len(main) == 1 or len(inner) == 1:
            # What leads straight to a leaf stands beside the way on, which stays flat.
            onward = (main or inner)[0]
            pending.append(Visit(onward, visit.rest, visit.rest))
            sides = [target for target in inner if target != onward]
            pending += [Visit(side, rest + branch, rest + pipe) for side in reversed(sides)]
            continue
        for target in reversed(inner):
            end = target == inner[-1]
            pending.append(
                Visit(target, rest + (last if end else branch), rest + ("  " if end else pipe))
            )


def _is_side(drawing: Drawing, node: int) -> bool:
    """Whether a node leads straight to a leaf in a few steps, and is nobody else's input."""
    for _ in range(SIDE):
        if drawing.users.get(node, 0) > 1:
            return False
        targets = _targets(drawing.state, drawing.state.nodes[node])
        if not targets or (len(targets) == 1 and _is_leaf(drawing.state, targets[0])):
            return True
        if len(targets) > 1:
            return False
        node = targets[0]
    return False


def _capped(prefix: str, width: int, glyphs: Glyphs) -> str:
    """A prefix that leaves room for the text: beyond a third of the pane it stops growing."""
    most = max(8, width // 3)
    if cell_len(prefix) <= most:
        return prefix
    return glyphs.more + " " + prefix[-(most - 4) :]


def _again(drawing: Drawing, node: NodeState, visit: Visit) -> Row:
    number = drawing.numbers.get(visit.node, visit.node)
    text = f"{drawing.glyphs.again} see {node_title(node)} #{number}"
    spans: Spans = (Span(visit.first, "dim"), Span(text, "link"))
    return Row(
        split(spans, (), drawing.width, drawing.glyphs.more),
        action=f"key node {visit.node}",
        key=f"again {visit.first} {visit.node}",
    )


def _node_rows(drawing: Drawing, node: NodeState, visit: Visit) -> Iterator[Row]:
    """The node, the gradient that reached it, and its saved tensors."""
    glyphs, latest = drawing.glyphs, drawing.latest
    number = drawing.numbers.get(visit.node, visit.node)
    place = node.site[-1] if node.site else None
    target = Target(place.file, place.line, node.moment + 1) if place else None
    failing = latest is not None and latest.failing == visit.node
    left: list[Span] = [Span(visit.first, "dim")]
    if failing:
        left.append(Span(glyphs.bad + " ", "bad"))
    left.append(Span(node_title(node), "op"))
    left.append(Span(f" #{number}", "dim"))
    if drawing.users.get(visit.node, 0) > 1:
        left.append(Span(f" {glyphs.shared} shared", "dim"))
    made = drawing.outputs.get(visit.node)
    if made:
        names = ", ".join(tensor_name(drawing.state, uid) for uid in made[:3])
        left += [Span(" = ", "dim"), Span(names, "name")]
    right: Spans = (Span(place_text(place, drawing.main), "dim"),) if place else ()
    grad = _gradient(drawing, visit.node)
    below: Spans = ()
    if grad:
        room = drawing.width - width_of(left) - width_of(right) - 3
        if width_of(grad) <= room:
            left += [Span("  "), *grad]
        else:
            below = grad
    key = f"node {visit.node}"
    yield Row(split(tuple(left), right, drawing.width, glyphs.more), target, key=key)
    inset = visit.rest + "  "
    if below:
        yield from _wrapped(drawing, inset, below, key + " grad", target)
    if failing:
        words = (Span("the backward pass stopped here", "bad"),)
        yield from _wrapped(drawing, inset, words, key + " stop", target)
    for row in _save_rows(drawing, node):
        yield from _wrapped(drawing, inset, row.spans, row.key, row.target)


def _wrapped(
    drawing: Drawing, inset: str, spans: Spans, key: str, target: Target | None
) -> Iterator[Row]:
    """A detail of a node, broken into as many rows as it needs."""
    for part, line in enumerate(wrap(spans, drawing.width - cell_len(inset), "  ")):
        yield Row((Span(inset, "dim"), *line), target, key=f"{key} {part}")


def _gradient(drawing: Drawing, node: int) -> Spans:
    """The gradients that the latest pass brought to a node."""
    latest = drawing.latest
    if latest is None:
        return ()
    grads = latest.arrived.get(node)
    if grads is None:
        known = latest.event.roots and any(root == node for _, root in latest.event.roots)
        return (Span("not reached", "dim"),) if latest.ended and not latest.ok and not known else ()
    texts = [value_text(g, drawing.width // 2, drawing.glyphs.more) or "none" for g in grads]
    return (Span("grad ", "dim"), Span(", ".join(texts), "code")) if texts else ()


def _save_rows(drawing: Drawing, node: NodeState) -> Iterator[Row]:
    """One row a saved tensor, with what has become of it; one for all once they are freed."""
    glyphs, state = drawing.glyphs, drawing.state
    if not node.saves:
        return
    key = f"saves {node.event.node}"
    if node.freed != NONE:
        names = ", ".join(save.name for save in node.saves)
        yield Row((Span(f"{glyphs.freed} {names}: freed", "dim"),), key=key)
        return
    for save in node.saves:
        words = f"{save.name}: {save_words(state, save)}"
        yield Row(save_spans(state, node, save, words, glyphs), key=f"{key} {save.name}")


def save_spans(state: State, node: NodeState, save: Save, words: str, glyphs: Glyphs) -> Spans:
    """What a save holds, its version, and whether it still holds."""
    kind = state.save_state(node, save)
    if kind == "packed":
        return (Span(f"{glyphs.packed} {words}", ""), Span("  packed by a hook", "dim"))
    if kind == "live" and state.altered(node, save):
        return (
            Span(f"{glyphs.bad} ", "bad"),
            Span(words),
            Span(f" v{save.version}", "code"),
            Span(", changed since, unseen", "bad"),
        )
    if save.counter == NONE or save.role == "constant":
        return (Span(f"{glyphs.ok} ", "good"), Span(words))
    if kind == "stale":
        now = state.counters[save.counter].version
        return (
            Span(f"{glyphs.bad} ", "bad"),
            Span(words),
            Span(f" v{save.version}", "code"),
            Span(f", now v{now}", "bad"),
        )
    return (Span(f"{glyphs.ok} ", "good"), Span(words), Span(f" v{save.version}", "code"))


def _leaf_rows(drawing: Drawing, node: NodeState, inset: str) -> Iterator[Row]:
    """A leaf and its `.grad`; later uses only name it."""
    state, uid = drawing.state, node.event.leaf
    tensor = state.tensors.get(uid)
    name = tensor_words(state, uid)
    key = f"leaf {node.event.node}"
    if node.event.node in drawing.leaves:
        spans: Spans = (
            Span(f"{drawing.glyphs.again} ", "dim"),
            Span(name, "name"),
            Span("  leaf", "dim"),
        )
        yield from _wrapped(drawing, inset, spans, key + " again " + inset, None)
        return
    drawing.leaves.add(node.event.node)
    target = None
    if tensor is not None and tensor.born:
        place = tensor.born[-1]
        target = Target(place.file, place.line, tensor.moment)
    room = max(16, drawing.width - cell_len(inset) - cell_len(name) - 14)
    if tensor is None or tensor.grad_value is None:
        grad = Span("None", "dim")
    else:
        grad = Span(value_text(tensor.grad_value, room, drawing.glyphs.more), "code")
    spans = (Span(name, "name"), Span("  leaf  .grad ", "dim"), grad)
    yield from _wrapped(drawing, inset, spans, key, target)


def _empty(state: State, width: int) -> list[Row]:
    """What to say where there is no graph."""
    tracked = [t for t in state.tensors.values() if t.meta.requires_grad]
    if not state.tensors:
        words = "No tensors yet. Run the code, and the graph that it builds appears here."
    elif not tracked:
        words = "No tensor here requires a gradient, so nothing was recorded."
    else:
        names = ", ".join(name for t in tracked[:3] for name in all_names(t, 1))
        words = f"No graph is alive here. Tensors that require a gradient: {names or 'unnamed'}."
    return [Row(line) for line in wrap((Span(words, "dim"),), width)]
