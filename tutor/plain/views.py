"""What happened, as lines: the graph, the tensors, the versions, at one moment of a run."""

from __future__ import annotations

from collections.abc import Iterator

from tutor.lesson.checks.words import listed, shown
from tutor.trace import NONE, Place, Save, State, Value
from tutor.trace.state import NodeState, TensorState

MOST = 60
"""Nodes, tensors or writes told at most."""

_ROLES = {
    "copy": "a copy of its own",
    "constant": "a constant",
    "internal": "something of its own",
}


def value(what: Value | None) -> str:
    """What a tensor holds, in words."""
    if what is None:
        return "not looked at"
    return shown({"shape": what.shape, "flat": what.flat, "low": what.low, "high": what.high})


def place(where: Place | None) -> str:
    """Line 7, or line 7 round 3; the rounds of the outer loops come first."""
    if where is None:
        return "an unknown line"
    rounds = "".join(f" round {count}" for count in where.iteration)
    return f"line {where.line}{rounds}"


def name(state: State, uid: int) -> str:
    """A name of a tensor: one it has, one it had, or a description."""
    present = state.names_of(uid)
    if present:
        return present[0]
    tensor = state.tensors.get(uid)
    if tensor is None:
        return "a tensor"
    if tensor.meta.label:
        return tensor.meta.label
    if tensor.names:
        last = tensor.names[-1]
        inner = "" if last.function == "<module>" else f" in {last.function}"
        return f"the former {last.name}{inner}"
    return f"an unnamed tensor of shape {list(tensor.meta.shape)}"


def _made(node: NodeState) -> str:
    return place(node.site[-1] if node.site else None)


# -- the graph -----------------------------------------------------------------------------


def graph(state: State, of: str | None = None) -> list[str]:
    """The graph below a name, or below every result: a numbered line for each node."""
    if of is not None:
        tensor = find(state, of)
        if tensor is None:
            return [no_such(state, of)]
        if tensor.meta.node == NONE:
            kind = "a leaf" if tensor.meta.requires_grad else "outside every graph"
            return [f"{of} is {kind}: no recorded operation made it."]
        roots: tuple[int, ...] = (tensor.meta.node,)
    else:
        roots = _roots(state)
    if not roots:
        return ["There is no graph: nothing that requires grad was computed."]
    lines: list[str] = []
    numbers = _numbers(state, roots)
    for node, number in list(numbers.items())[:MOST]:
        lines += _node(state, state.nodes[node], number, numbers, node in roots)
    if len(numbers) > MOST:
        lines.append(f"and {len(numbers) - MOST} nodes more")
    return lines


def _roots(state: State) -> tuple[int, ...]:
    """The roots of the latest pass, then living results that those do not lead to."""
    latest = max(state.passes.values(), key=lambda run: run.moment, default=None)
    first = [node for _, node in latest.event.roots if node in state.nodes] if latest else []
    below = {node.event.node for root in first for node in state.walk(root)}
    return (*first, *(root for root in state.roots() if root not in below))


def _numbers(state: State, roots: tuple[int, ...]) -> dict[int, int]:
    """Nodes that are no leaf, in the order they are told, numbered from 1."""
    numbers: dict[int, int] = {}
    for root in roots:
        for node in state.walk(root):
            if node.event.leaf == NONE and node.event.node not in numbers:
                numbers[node.event.node] = len(numbers) + 1
    return numbers


def _node(
    state: State, node: NodeState, number: int, numbers: dict[int, int], root: bool
) -> list[str]:
    targets = []
    for target, _ in node.edges:
        below = state.nodes.get(target)
        if below is None:
            continue
        leaf = below.event.leaf
        targets.append(f"leaf {name(state, leaf)}" if leaf != NONE else f"{numbers[target]}")
    start = "result, " if root else ""
    lines = [f"{number}: {node.name}, {start}{_made(node)}, leads to {listed(targets)}"]
    lines += [f"     keeps {save(state, node, one)}" for one in node.saves]
    for run in node.visited[-1:]:
        arrived = state.passes[run].arrived.get(node.event.node) if run in state.passes else None
        if arrived:
            told = [value(grad) for grad in arrived if grad is not None]
            lines.append(f"     gradient that came: {listed(told)}")
    for target, _ in node.edges:
        below = state.nodes.get(target)
        if below is not None and below.event.leaf != NONE:
            tensor = state.tensors.get(below.event.leaf)
            if tensor is not None:
                grad = "None" if tensor.grad == NONE else value(tensor.grad_value)
                lines.append(f"     leaf {name(state, tensor.uid)}: grad {grad}")
    return lines


def save(state: State, node: NodeState, one: Save) -> str:
    """One saved tensor: which, at which version, and whether it still holds."""
    what = _ROLES.get(one.role) or (name(state, one.uid) if one.uid != NONE else "a tensor")
    condition = state.save_state(node, one)
    if condition == "live" and state.altered(node, one):
        condition = "altered"
    counter = state.counters.get(one.counter)
    told = {
        "live": "still as saved",
        "stale": f"changed since, now version {counter.version if counter else '?'}",
        "freed": "freed",
        "altered": "changed since, at the same version",
        "packed": "packed by a hook",
    }[condition]
    version = "" if one.role in ("constant", "internal") else f" at version {one.version}"
    return f"{one.name}: {what}{version}, {told}"


# -- tensors and versions ------------------------------------------------------------------


def find(state: State, wanted: str) -> TensorState | None:
    """The tensor of a name: one that is meant now, else the latest that was ever meant."""
    plain, _, function = wanted.replace("(", "").replace(")", "").partition(" in ")
    plain, function = plain.strip(), function.strip()
    if not function:
        now = state.named(plain)
        if now is not None:
            return now
    known = [
        (named.since, tensor)
        for tensor in state.tensors.values()
        for named in tensor.names
        if named.name == plain and function in ("", named.function)
    ]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def no_such(state: State, wanted: str) -> str:
    """What to say of a name that means no tensor."""
    names = sorted({n.name for t in state.tensors.values() for n in t.names})
    return f"No tensor is called {wanted} here. There are: {listed(names)}."


def tensors(state: State) -> list[str]:
    """A line for each tensor that has a name now."""
    lines = []
    for tensor in sorted(state.tensors.values(), key=lambda t: t.moment):
        names = state.names_of(tensor.uid)
        if not names:
            continue
        meta = tensor.meta
        parts = [f"shape {list(meta.shape)}", meta.dtype.removeprefix("torch.")]
        parts.append("requires grad" if meta.requires_grad else "no grad")
        if meta.requires_grad:
            parts.append("leaf" if meta.leaf else "not a leaf")
        if tensor.grad != NONE:
            parts.append(f"grad {value(tensor.grad_value)}")
        elif meta.requires_grad and meta.leaf:
            parts.append("grad None")
        lines.append(f"{listed(names)}: {value(tensor.value)}; {', '.join(parts)}")
    if len(lines) > MOST:
        lines[MOST:] = [f"and {len(lines) - MOST} tensors more"]
    return lines or ["No name means a tensor here."]


def versions(state: State, of: str | None = None) -> list[str]:
    """The version counter of a name, or all that moved or are kept by a node."""
    if of is not None:
        tensor = find(state, of)
        if tensor is None:
            return [no_such(state, of)]
        return list(_counter(state, tensor.meta.counter))
    saved = {
        one.counter
        for node in state.nodes.values()
        for one in node.saves
        if one.counter != NONE and one.role not in ("constant", "internal", "copy")
    }
    told = [c for c in state.counters.values() if c.writes or c.counter in saved]
    lines: list[str] = []
    for counter in told[:MOST]:
        lines += _counter(state, counter.counter)
    return lines or ["No counter has moved, and no node keeps a tensor."]


def _counter(state: State, number: int) -> Iterator[str]:
    counter = state.counters.get(number)
    if counter is None:
        return
    owners = [name(state, t.uid) for t in state.sharing(number)]
    yield f"The counter of {listed(list(dict.fromkeys(owners)))} reads {counter.version}."
    if counter.missed:
        yield f"     {counter.missed} older writes are not kept"
    for write in counter.writes[-MOST:]:
        where = place(write.site[-1] if write.site else None)
        yield f"     version {write.before} to {write.after}: written at {where}"
    for node in state.nodes.values():
        for one in node.saves:
            if one.counter == number and one.role not in ("constant", "internal"):
                yield f"     {node.name} of {_made(node)} keeps {save(state, node, one)}"
