"""A leaf that silently gets no gradient: a cut before it, a new leaf as root, or no backward."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import (
    SINKS,
    Cut,
    cut_between,
    grad_source,
    turned_off,
)
from tutor.explain.history import History, bare
from tutor.explain.kinds import idle_backward
from tutor.explain.kinds.idle_backward import cut_places
from tutor.explain.kinds.no_grad_fn import recorded
from tutor.explain.optimizers import optimizers, written_by_hand
from tutor.explain.reads import assigned, surfaced_at
from tutor.explain.repairs import stacked
from tutor.explain.shown import shown_places
from tutor.trace import NONE, Site
from tutor.trace.state import OpState, PassState

KIND = "grad-none-disconnected"

_MEANT = ("detach", "off", "data")
"""Cuts that somebody wrote down as a cut: often meant."""

_ROOTS = 6
"""Passes whose data flow is walked: the first ones of each line that starts one."""

_LEAVES = 24


@dataclass(frozen=True, slots=True)
class _Lack:
    """A leaf without a gradient, and why that matters.

    `moment` and `site` are those of the line that read None (site is empty where none did);
    `held` says that an optimizer stepped with the leaf in its care.
    """

    uid: int
    moment: int
    site: Site
    held: bool


def ran(history: History) -> list[Finding]:
    """A backward that ends where it begins, none at all, or one that a cut keeps from a leaf."""
    return idle_backward.ran(history) or _cut_off(history)


# -- a cut between leaf and root ------------------------------------------------------------


def _cut_off(history: History) -> list[Finding]:
    roots = _some_roots(history)
    for lack in _lacking(history)[:_LEAVES]:
        cut = _cut_from(history, lack, roots)
        if cut is None or (cut.reason in _MEANT and _may_be_meant(history, lack, cut)):
            continue
        words = note("is-none")
        seen = surfaced_at(history, lack.site, lack.moment, words) if lack.site else []
        if not lack.site:
            first = history.passes[0]
            seen = shown_places(history, [lack.uid], first.moment, values=True)
            step = next(op for op in history.ops if op.func == "Optimizer.step")
            seen.append(history.place("surfaced", step.site, step.moment, note("finds-none")))
        return [disconnected(history, lack.uid, lack.moment, cut, "warning", seen)]
    return []


def _lacking(history: History) -> list[_Lack]:
    """Leaves that never got a gradient though it was read, or though an optimizer has them."""
    given = {entry.uid for run in history.passes for entry in run.accumulated}
    given |= {event.uid for _, event in history.grad_events if event.grad != NONE}
    first = next((run.moment for run in history.passes if run.ok), None)
    if first is None:
        return []
    held = {uid for one in optimizers(history) if one.last > first for uid in one.held}
    found: dict[int, _Lack] = {}
    for event, moment, site in history.trace.grad_reads:
        if event.grad != NONE or event.uid in given or moment < first:
            continue
        if history.is_grad_leaf(event.uid, moment):
            found.setdefault(event.uid, _Lack(event.uid, moment, site, event.uid in held))
    end = len(history.trace)
    for uid in sorted(held - given - set(found)):
        if history.is_grad_leaf(uid, end) and not written_by_hand(history, uid, first):
            found[uid] = _Lack(uid, end, (), True)
    return list(found.values())


def _some_roots(history: History) -> list[tuple[int, int]]:
    """(root, moment) of a few passes, of each line that starts one the first and the last."""
    by_line: dict[tuple[str, int], list[PassState]] = {}
    for run in history.passes:
        if run.ok and run.site:
            by_line.setdefault((run.site[-1].file, run.site[-1].line), []).append(run)
    chosen = [run for runs in by_line.values() for run in dict.fromkeys((runs[0], runs[-1]))]
    return [(uid, run.moment) for run in chosen[:_ROOTS] for uid, _ in run.event.roots]


def _cut_from(history: History, lack: _Lack, roots: list[tuple[int, int]]) -> Cut | None:
    for root, moment in roots:
        if moment <= lack.moment:
            cut = cut_between(history, lack.uid, root, moment)
            if cut is not None and not _explained_elsewhere(history, cut):
                return cut
    return _overwritten(history, lack) or _taken_out(history, lack, roots)


def _overwritten(history: History, lack: _Lack) -> Cut | None:
    """`layer.weight.data = u @ v`: the numbers come over, and not where they are from."""
    for op in history.ops:
        if op.func != "Tensor.data =" or len(op.event.args) < 2 or op.moment > lack.moment:
            continue
        value = op.event.args[-1]
        meta = history.meta(value, op.moment)
        if meta is None or meta.node == NONE:
            continue
        if lack.uid in history.leaves_behind(value, op.moment):
            return Cut("values", op, value, 0, op.site, op.moment)
    return None


def _explained_elsewhere(history: History, cut: Cut) -> bool:
    """Whether a cut is a copy of a module or parameter, or a checkpoint's: explained as such."""
    if history.inside(cut.op, "CheckpointFunction.forward"):
        return True
    return any(name.endswith("deepcopy__") for _, name in history.via(cut.op)) or any(
        file.endswith("copy.py") for file, _ in history.via(cut.op)
    )


def _taken_out(history: History, lack: _Lack, roots: list[tuple[int, int]]) -> Cut | None:
    """A Python number taken from the leaf and computed with: no call shows where it went."""
    last = max((moment for _, moment in roots), default=0)
    for op in history.ops:
        if op.moment > last or bare(op.func) not in SINKS or not op.site:
            continue
        if grad_source(history, op) != lack.uid:
            continue
        place = op.site[-1]
        node = source.statement(history.text(place.file), place.line)
        computes = isinstance(node, ast.Assign | ast.Return | ast.AugAssign)
        if computes and _used_with_grad(history, op):
            return Cut("values", op, lack.uid, 0, op.site, op.moment)
    return None


def _used_with_grad(history: History, op: OpState) -> bool:
    """Whether the name that took the number is read by a line that makes part of a graph."""
    place = op.site[-1]
    text = history.text(place.file)
    names = assigned(text, place.line)
    for node in history.nodes.values():
        if node.moment < op.moment or not node.site:
            continue
        for other in node.site:
            if other.frame != place.frame:
                continue
            if other.line == place.line and node.moment - op.moment < 64:
                return True
            line = source.statement(text, other.line)
            if line is not None and names & source.names_read(line):
                return True
    return False


def _may_be_meant(history: History, lack: _Lack, cut: Cut) -> bool:
    """Whether a cut that is written down may be what the program wants for this leaf."""
    if lack.held and _gets_nothing(history, lack.uid):
        return False
    if not _goes_into_layer(history, cut):
        return True
    if lack.held:
        return False
    if any(one.held for one in optimizers(history)):
        return True  # they step without this leaf: a teacher, a frozen part, an input
    node = source.statement(history.text(lack.site[-1].file), lack.site[-1].line)
    if node is None or isinstance(node, ast.If | ast.Assert):
        return True
    grads = [c for c in ast.walk(node) if isinstance(c, ast.Attribute) and c.attr == "grad"]
    asked = [c for c in ast.walk(node) if _asks_for_none(c)]
    return bool(asked) and len(asked) >= len(grads)


def _gets_nothing(history: History, uid: int) -> bool:
    """Whether an optimizer that holds a leaf never got any gradient at all."""
    given = {entry.uid for run in history.passes for entry in run.accumulated}
    return any(uid in one.held and not given & set(one.held) for one in optimizers(history))


def _goes_into_layer(history: History, cut: Cut) -> bool:
    """Whether what was cut off is computed with a parameter: else it serves as a constant.

    A target, a weight of a loss, the difference of a straight-through estimate meet what is
    computed; the input of a layer meets the layer's own leaves.
    """
    pending, seen = list(cut.op.event.outs), set(cut.op.event.outs)
    while pending and len(seen) < 400:
        current = pending.pop()
        for op in history.users.get(current, ()):
            if op.moment < cut.moment:
                continue
            graph = any(
                meta is not None and meta.node != NONE
                for meta in (history.meta(out, op.moment + 1) for out in op.event.outs)
            )
            others = [uid for uid in op.event.args if uid != current]
            writes = current not in op.event.args[:1] and set(others) & set(op.event.outs)
            if (graph or writes) and any(history.is_grad_leaf(uid, op.moment) for uid in others):
                return True
            for out in op.event.outs if not graph else ():
                if out not in seen:
                    seen.add(out)
                    pending.append(out)
    return False


def _asks_for_none(node: ast.AST) -> bool:
    """`….grad is None`: somebody reckons with it."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Attribute)
        and node.left.attr == "grad"
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value is None
    )


def disconnected(
    history: History,
    uid: int,
    moment: int,
    cut: Cut,
    severity: str,
    seen: list[FindingPlace | None],
) -> Finding:
    """A finding about a leaf that a cut keeps from the backward."""
    facts: dict[str, Fact] = {"leaf": history.name(uid, moment), "func": bare(cut.op.func)}
    variant = "wrapped" if cut.op.func == "nn.Parameter" else "cut"
    places = cut_places(history, (cut,))
    if any("distributions/" in f and w.endswith(".sample") for f, w in history.via(cut.op)):
        variant = "sample"
    elif cut.reason == "off":
        variant = "off"
        block = turned_off(history, cut.op)
        if block is not None:
            words = note("grad-off")
            places.insert(0, history.line_place("cause", block.file, block.line, words))
    return finding(
        KIND,
        "error" if severity == "error" else "warning",
        variant,
        facts,
        cause=places,
        surfaced=seen,
        fixes=_repairs(history, cut),
    )


def _repairs(history: History, cut: Cut) -> list[Fix | None]:
    """The line without what cuts."""
    if not cut.site:
        return []
    place = cut.site[-1]
    text = history.text(place.file)
    facts: dict[str, Fact] = {"line": place.line}
    if cut.reason == "detach":
        return [
            fix("drop-detach", facts, edits.drop_method(text, place.file, place.line, "detach"))
        ]
    if cut.reason == "data":
        return [fix("drop-data", facts, edits.drop_attribute(text, place.file, place.line, "data"))]
    block = turned_off(history, cut.op) if cut.reason == "off" else None
    if block is not None:
        return [recorded(history, block)]
    return [fix("stack", facts, stacked(text, place.file, place.line))]
