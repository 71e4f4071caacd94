"""A graph that was carried into a later backward: which value brought it, and how to cut it."""

from __future__ import annotations

import ast
from collections import deque
from dataclasses import dataclass

from tutor.explain import edits, source
from tutor.explain.build import fix
from tutor.explain.finding import Edit, Fact, Fix
from tutor.explain.history import ACCUMULATE, History
from tutor.trace import NONE, Place, Site
from tutor.trace.state import Named, NodeState, PassState, TensorState


@dataclass(frozen=True, slots=True)
class Border:
    """The last node of an older graph, and the new one that uses it (None: it is a root)."""

    old: NodeState
    new: NodeState | None


def border(history: History, run: PassState, failing: int) -> list[Border]:
    """Where a pass goes over into the graph of an earlier pass.

    Going down from the roots, that is where the first node stands that an earlier pass went
    through. A value that this pass did not use may stand above it (the hidden state beside the
    prediction), so the border moves up to the first node that was made after that pass.
    The borders from which the failing node can be reached come first.
    """
    nodes = history.nodes
    above: dict[int, int] = {}
    pending: deque[tuple[int, int]] = deque((root, NONE) for _, root in run.event.roots)
    found: dict[int, Border] = {}
    while pending:
        number, parent = pending.popleft()
        node = nodes.get(number)
        if node is None or number in above or node.name.endswith(ACCUMULATE):
            continue
        above[number] = parent
        earlier = _earlier(history, node, run)
        if earlier is None:
            pending.extend((target, number) for target, _ in node.edges if target != NONE)
            continue
        current, over = number, parent
        while over != NONE and nodes[over].moment < earlier.moment:
            current, over = over, above[over]
        if over == NONE and parent != NONE:
            current, over = number, parent  # all of it is older: two losses of one forward
        found.setdefault(current, Border(nodes[current], nodes.get(over)))
    edges = list(found.values())
    return sorted(edges, key=lambda b: not reaches(history, b.old.event.node, failing))


def _earlier(history: History, node: NodeState, run: PassState) -> PassState | None:
    """The latest earlier pass that went through a node, None where none did."""
    numbers = [v for v in (*node.visited, node.freed) if NONE < v < run.run]
    return history.last.passes.get(max(numbers)) if numbers else None


def reaches(history: History, start: int, target: int) -> bool:
    """Whether a node leads to another along the edges (or is it)."""
    return start == target or any(n.event.node == target for n in history.walk(start))


def shared_frame(site: Site, other: Site) -> Place | None:
    """The innermost place of a site in a frame that the other site is in too."""
    frames = {place.frame for place in other}
    for place in reversed(site):
        if place.frame in frames:
            return place
    return None


def detach_fixes(
    history: History, run: PassState, failing: int, also: Edit | None = None
) -> list[Fix | None]:
    """Cuts of the old graph where the new one takes a value from it.

    `also` is a second edit to make with each (dropping a retain_graph, say).
    """
    found: list[Fix | None] = []
    for edge in border(history, run, failing)[:2]:
        if edge.new is None or _untrains(history, run, edge):
            continue
        carried = [
            tensor for tensor in history.tensors.values() if tensor.meta.node == edge.old.event.node
        ]
        for tensor in carried:
            used = _used_before(history, tensor, run)
            for named in tensor.names:
                found += _cuts(history, named, edge, run, also, used)
    return found


def _untrains(history: History, run: PassState, edge: Border) -> bool:
    """Whether a cut would keep the gradient from a parameter that is being trained.

    Being trained are the parameters of the optimizer that was last stepped or cleared.
    """
    recent = [
        op
        for op in history.ops
        if op.moment < run.moment and op.func in ("Optimizer.zero_grad", "Optimizer.step")
    ]
    if not recent:
        return False
    others: set[int] = set()
    pending, seen = [root for _, root in run.event.roots], {edge.old.event.node}
    while pending:
        number = pending.pop()
        node = history.nodes.get(number)
        if node is None or number in seen:
            continue
        seen.add(number)
        others.add(node.event.leaf)
        pending.extend(target for target, _ in node.edges if target != NONE)
    behind = {n.event.leaf for n in history.walk(edge.old.event.node)} - others
    return bool(behind & set(recent[-1].event.args))


def _used_before(history: History, tensor: TensorState, run: PassState) -> bool:
    """Whether the graph of an earlier pass was built on this value: then it must keep its own."""
    earlier = [p for p in history.passes if p.run < run.run]
    if not earlier:
        return False
    return any(op.moment < earlier[-1].moment for op in history.users.get(tensor.uid, ()))


def _cuts(
    history: History,
    named: Named,
    edge: Border,
    run: PassState,
    also: Edit | None,
    used: bool,
) -> list[Fix | None]:
    """Lines that replace a name by its detached value: before its use, or after the backward."""
    assert edge.new is not None
    name, frame = named.name, named.frame
    whole = name.split("[")[0]
    code = f"{whole} = {whole}.detach()"
    if whole != name:
        code = f"{whole} = tuple(part.detach() for part in {whole})"
    spots: list[tuple[Place, bool]] = []
    spots += [(place, True) for place in run.site if place.frame == frame]
    # An attribute outlives the frame in which it was set: the next call of the method reads it.
    method = named.function if name.startswith("self.") else ""
    spots += [
        (place, False)
        for place in edge.new.site
        if place.frame == frame or (method and place.function == method)
    ]
    if not used:
        spots += [(place, True) for place in edge.old.site if place.frame == frame]
    found: list[Fix | None] = []
    for place, after in spots:
        text = history.text(place.file)
        if after:
            edit = edits.insert_after(text, place.file, place.line, code)
        else:
            edit = edits.insert_before(text, place.file, place.line, code)
        facts: dict[str, Fact] = {"name": whole, "line": place.line}
        both = [edit] if also is None else [edit, also]
        found.append(fix("detach-after" if after else "detach-before", facts, *both))
    return found


def recompute_fix(history: History, edge: Border, run: PassState) -> Fix | None:
    """Repeat the lines that made an old value right before its use, or before the backward.

    The use stands in a loop, or in a function that is called again, and the lines outside.
    """
    whole = edge.new is None
    use_site = run.site if edge.new is None else edge.new.site
    for made in reversed(edge.old.site):
        use = next((p for p in use_site if p.frame == made.frame), None)
        if use is not None and len(use.iteration) > len(made.iteration):
            return _repeated(history, edge.old, made, use)
    if not whole or not use_site:
        return None
    use = use_site[-1]
    frame = edge.old.site[-1].frame if edge.old.site else use.frame
    inside = source.function_at(history.text(use.file), use.line)
    if inside is None or frame == use.frame:
        return None
    text = history.text(use.file)
    for place in edge.old.site:
        if place.file == use.file and inside in _functions_beside(text, place.line):
            return _repeated(history, edge.old, place, use)
    return None


def _functions_beside(text: str, number: int) -> list[source.Function]:
    """The functions that are defined in the block of a line: they see its names."""
    node = source.statement(text, number)
    block = edits.block_of(text, node) if node is not None else []
    return [one for one in block if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


def _repeated(history: History, old: NodeState, made: Place, use: Place) -> Fix | None:
    """The assignments of one frame that led to an old node, written again before a line."""
    text = history.text(made.file)
    numbers = {made.line}
    for node in history.walk(old.event.node):
        numbers |= {
            p.line for p in node.site if p.frame == made.frame and p.iteration == made.iteration
        }
    used: list[ast.stmt] = []
    for number in sorted(numbers):
        found = source.simple_statement(text, number)
        if isinstance(found, ast.Assign) and found not in used:
            used.append(found)
    if not used:
        return None
    space = source.indent(text, use.line)
    rows: list[str] = []
    for one in used:
        code = "\n".join(source.lines(text)[one.lineno - 1 : one.end_lineno]).strip()
        rows.append(code if not rows else space + code)
    edit = edits.insert_before(text, made.file, use.line, "\n".join(rows))
    return fix("recompute", {"line": used[0].lineno, "target": use.line}, edit)
