"""The graph of a backward pass in a few lines: nodes, what they kept, where it came from."""

from __future__ import annotations

from dataclasses import dataclass

from tutor.explain.build import shown
from tutor.report.style import Style, pad
from tutor.trace import NONE, Save, State, Trace
from tutor.trace.state import NodeState, PassState, TensorState

NODES = 12
"""Nodes shown at the most."""

_SIGNS = {"live": "✓", "stale": "✗", "freed": "✂", "packed": "?"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a graph: `mark` is "" for a node, else the state of a kept tensor."""

    label: str
    words: str
    mark: str = ""
    depth: int = 0


def graph(trace: Trace, run: PassState, limit: int = NODES) -> list[Row]:
    """The rows of the graph that a pass went through, as it was when the pass began."""
    state = trace.at(run.moment)
    rows: list[Row] = []
    seen: set[int] = set()
    nodes = 0
    pending: list[tuple[int, int]] = [(root, 0) for _, root in reversed(run.event.roots)]
    while pending:
        number, depth = pending.pop()
        node = state.nodes.get(number)
        if node is None or number in seen:
            continue
        seen.add(number)
        nodes += 1
        if nodes > limit:
            rest = _rest(state, [number, *(n for n, _ in pending)], seen)
            rows.append(Row("…", f"{rest} more", depth=0))
            break
        if node.event.leaf != NONE:
            rows.append(_leaf(trace, node.event.leaf, run, depth))
            continue
        rows.append(Row(node.name, _where(node), depth=depth))
        rows += [_save(state, node, save, depth, run) for save in node.saves if _telling(save)]
        targets = [target for target, _ in node.edges if target != NONE]
        deeper = depth + (1 if len(targets) > 1 else 0)
        pending.extend((target, deeper) for target in reversed(targets))
    return rows


def node_rows(trace: Trace, run: PassState, number: int) -> list[Row]:
    """One node and what it kept, as the failing pass found it."""
    state = trace.at(run.moment)
    node = state.nodes.get(number)
    if node is None:
        return []
    saves = [_save(state, node, save, 0, run) for save in node.saves if _telling(save)]
    return [Row(node.name, _where(node)), *saves]


def render(rows: list[Row], style: Style) -> list[str]:
    """The rows as lines."""
    heads = ["  " * row.depth + (f"  {row.mark} {row.label}" if row.mark else row.label)
             for row in rows]  # fmt: skip
    column = max((len(head) for head in heads), default=0)
    column = min(column, 40)
    lines = []
    for row, head in zip(rows, heads, strict=True):
        name = {"✓": "good", "✗": "bad", "✂": "dim", "?": "dim"}.get(row.mark, "bold")
        text = style.paint(pad(head, column), name)
        lines.append(f"{text}   {row.words}".rstrip())
    return lines


def _rest(state: State, starts: list[int], seen: set[int]) -> int:
    found: set[int] = set()
    for start in starts:
        found |= {n.event.node for n in state.walk(start)}
    return len(found - seen) + 1


def _where(node: NodeState) -> str:
    if not node.site:
        return ""
    place = node.site[-1]
    words = f"line {place.line}"
    if place.function != "<module>":
        words += f" in {place.function}"
    if place.iteration:
        words += f", iteration {'·'.join(str(n) for n in place.iteration)}"
    return words


def _telling(save: Save) -> bool:
    return save.role != "internal" or save.packed


def _save(state: State, node: NodeState, save: Save, depth: int, run: PassState) -> Row:
    how = state.save_state(node, save)
    altered = how == "live" and any(
        (number, kept) == (node.event.node, save.name) for number, kept, _ in run.altered
    )
    sign = _SIGNS["stale" if altered else how]
    known = state.tensors.get(save.uid)
    name = _name(known, node.moment) if known is not None else ""
    words = [{"copy": "a copy", "constant": "a number"}.get(save.role, name or "a tensor")]
    value = shown(save.value)
    if save.packed:
        words = ["packed by a hook"]
    elif value and how != "freed" and not altered and not _overwritten(state, node, save):
        words.append(f"= {value}")
    if altered:
        words.append("changed since, at the same version")
    elif how == "stale":
        counter = state.counters.get(save.counter)
        now = counter.version if counter is not None else save.version
        words.append(f"kept at v{save.version}, now v{now}")
    elif how == "freed":
        words.append("freed")
    left = _left_by(known, run)
    if left and how != "freed":
        words.append(f"kept after {left} returned")
    return Row(save.name, "  ".join(words), sign, depth)


def _overwritten(state: State, node: NodeState, save: Save) -> bool:
    """Whether the call that kept the tensor wrote over it, so that its old value was not seen."""
    counter = state.counters.get(save.counter)
    writes = counter.writes if counter is not None else ()
    return any(w.op == node.event.op and w.after > save.version for w in writes)


def _name(tensor: TensorState, moment: int) -> str:
    """The name of a tensor at a moment, `b (in fn)` for one of a function."""
    names = [n for n in tensor.names if n.since <= moment and (n.until or moment + 1) > moment]
    chosen = names or list(tensor.names)
    if not chosen:
        return tensor.meta.label
    best = min(chosen, key=lambda n: (n.function != "<module>", "." in n.name, n.since))
    return best.name if best.function == "<module>" else f"{best.name} (in {best.function})"


def _left_by(tensor: TensorState | None, run: PassState) -> str:
    """The function whose local this was, if it has returned and no other name means it."""
    if tensor is None or not tensor.names:
        return ""
    if any(n.until is None or n.until > run.moment for n in tensor.names):
        return ""
    last = tensor.names[-1]
    return last.function if last.function != "<module>" else ""


def _leaf(trace: Trace, uid: int, run: PassState, depth: int) -> Row:
    tensor = trace.last.tensors.get(uid)
    if tensor is None:
        return Row("leaf", "", depth=depth)
    name = _name(tensor, run.moment) or "leaf"
    entry = next((e for e in run.accumulated if e.uid == uid), None)
    value = shown(tensor.value)
    words = ["leaf"]
    if value:
        words.append(f"= {value}")
    if entry is not None and entry.after is not None:
        words.append(f".grad {shown(entry.after)}")
    return Row(name, "  ".join(words), depth=depth)
