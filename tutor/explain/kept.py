"""Graphs that outlive their use: nodes of one line that are alive, iteration after iteration."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from tutor.explain import edits, source
from tutor.explain.history import History
from tutor.trace import NONE, Place
from tutor.trace.state import NodeState, TensorState

GROWN = 3
"""Earlier nodes of a line that must be alive at once: a loop that keeps the last two is none."""

_STORES = frozenset(["append", "extend", "add", "insert", "update", "put", "setdefault"])


@dataclass(frozen=True, slots=True)
class Kept:
    """A line whose graphs are kept: its nodes that are alive while the newest one is made.

    `chained` says that each holds the one before (`total += loss`), `over` that backwards had
    gone through them (else none ever does).
    """

    nodes: tuple[NodeState, ...]
    newest: NodeState
    chained: bool
    over: bool


def kept_graphs(history: History) -> list[Kept]:
    """The lines whose graphs pile up, those at the end of a graph first."""
    death = {n: node.died for n, node in history.last.nodes.items() if node.dead}
    groups: dict[tuple[str, int, str], list[NodeState]] = defaultdict(list)
    for node in history.last.nodes.values():
        if node.event.leaf == NONE and node.site:
            groups[node.site[-1].file, node.site[-1].line, node.name].append(node)
    end = len(history.trace) + 1
    found: list[Kept] = []
    for members in groups.values():
        if len(members) <= GROWN:
            continue
        members.sort(key=lambda node: node.moment)
        last = members[-1].moment
        alive = [n for n in members[:-1] if death.get(n.event.node, end) > last]
        alive = _one_of_each_run(alive)
        if len(alive) < GROWN or members[-1].runs == alive[-1].runs:
            continue
        if not _rising(_one_of_each_run(members), death):
            continue
        chained = _chained(history, alive)
        below = history.walk(alive[-1].event.node) if chained else iter(alive)
        passes = {node.visited[-1] for node in below if node.visited and node.event.leaf == NONE}
        # A pass of the newest node's own iteration does not tell that an old graph is kept.
        earlier = [run for run in passes if history.last.passes[run].moment < last]
        over = len(earlier) >= GROWN
        if passes and not over:
            continue
        found.append(Kept(tuple(alive), members[-1], chained, over))
    return _ends(history, found)


def _rising(members: list[NodeState], death: dict[int, int]) -> bool:
    """Whether ever more of them are alive at once, to the last: a window of fixed size is not.

    Either more in the last third of the times that the line ran than in the middle one, or one
    more each time since all were let go (a list that each epoch begins anew).
    """
    deaths = sorted(death[n.event.node] for n in members if n.event.node in death)
    at_once = [i - bisect_right(deaths, node.moment) for i, node in enumerate(members)]
    third = max(1, len(members) // 3)
    if max(at_once[-third:]) > max(at_once[third:-third] or [0]):
        return True
    climb = 0
    for before, after in pairwise(at_once):
        climb = climb + 1 if after == before + 1 else 0
    return climb >= GROWN and at_once[-1] == max(at_once) and at_once[-1] == climb


def _one_of_each_run(nodes: list[NodeState]) -> list[NodeState]:
    """One node for each time that the line ran: a sum or a layer may make several in one."""
    return list({node.runs: node for node in nodes}.values())


def _chained(history: History, nodes: list[NodeState]) -> bool:
    """Whether the last node leads to the first one."""
    first = nodes[0].event.node
    return any(node.event.node == first for node in history.walk(nodes[-1].event.node))


def _ends(history: History, found: list[Kept]) -> list[Kept]:
    """Those that no node of another line which is kept leads to."""
    reached: dict[int, set[int]] = {}
    for index, one in enumerate(found):
        below = {n.event.node for n in history.walk(one.nodes[-1].event.node)}
        reached[index] = below
    ends = []
    for index, one in enumerate(found):
        mine = one.nodes[-1].event.node
        if not any(mine in below for other, below in reached.items() if other != index):
            ends.append(one)
    if ends:
        return ends
    return [one for one in found if one.chained][:1] or found[:1]


@dataclass(frozen=True, slots=True)
class Storing:
    """The place that keeps a graph, and the name of what it is kept in."""

    place: Place
    moment: int
    name: str


def storing(history: History, kept: Kept) -> Storing | None:
    """The statement that put the results of a line away: an append, an attribute, an item."""
    node = kept.nodes[-1]
    for place in reversed(node.site):
        name = _stored_in(history, place, None)
        if name:
            return Storing(place, node.moment, name)
    tensors = [t for t in history.tensors.values() if t.meta.node == node.event.node]
    for (file, line), runs in sorted(history.line_runs.items()):
        later = next((moment for moment in runs if moment > node.moment), None)
        if later is None:
            continue
        for tensor in tensors:
            place = Place(file, line, "")
            name = _stored_in(history, place, _names_at(tensor, later))
            if name:
                site = history.site_at(later + 1)
                return Storing(site[-1] if site else place, later, name)
    return None


def _names_at(tensor: TensorState, moment: int) -> set[str]:
    return {
        n.name.split("[")[0]
        for n in tensor.names
        if n.since <= moment + 8 and (n.until is None or n.until >= moment)
    }


def _stored_in(history: History, place: Place, names: set[str] | None) -> str:
    """What a statement stores in, "" where it stores nothing (that has one of these names)."""
    text = history.text(place.file)
    node = source.statement(text, place.line)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if source.called(call) not in _STORES or not isinstance(call.func, ast.Attribute):
            return ""
        given = [*call.args, *(k.value for k in call.keywords)]
        if names is not None and not any(_hands_on(one, names) for one in given):
            return ""
        if any(_reads_number(one) for one in given):
            return ""
        return edits.segment(text, call.func.value)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript | ast.Attribute):
        if names is not None and not _hands_on(node.value, names):
            return ""
        if names is None or _reads_number(node.value):
            return ""
        return edits.segment(text, node.targets[0])
    return ""


def _hands_on(value: ast.expr, names: set[str]) -> bool:
    """Whether an expression is one of these names, or a tuple, list or dict that holds it."""
    match value:
        case ast.Name(id=name):
            return name in names
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_hands_on(part, names) for part in parts)
        case ast.Dict(values=parts):
            return any(_hands_on(part, names) for part in parts)
        case ast.BinOp(left=left, right=right):
            return _hands_on(left, names) or _hands_on(right, names)
        case _:
            return False


def _reads_number(value: ast.expr) -> bool:
    """Whether an expression takes the number, or a detached tensor, before it hands it on."""
    return isinstance(value, ast.Call) and source.called(value) in (
        "item", "detach", "float", "tolist", "numpy", "cpu_item",
    )  # fmt: skip
