"""Gradients that are zero by construction: one op makes zeros of all that reaches it."""

from __future__ import annotations

import re

from tutor.explain.build import finding, note
from tutor.explain.finding import Fact, Finding
from tutor.explain.grads import Story, is_zero, stories
from tutor.explain.history import ACCUMULATE, History, bare, op_name, word_set
from tutor.explain.reads import read_after
from tutor.explain.shown import shown_places
from tutor.trace import NONE, Value
from tutor.trace.state import AccumulateState, NodeState, OpState, PassState

KIND = "zero-grad-op"

_FLAT = word_set(
    """round floor ceil trunc sign sgn heaviside clamp clamp_min clamp_max hardtanh relu relu6
    threshold hardsigmoid hardshrink softshrink normal bernoulli poisson fmod remainder
    floor_divide leaky_relu elu sigmoid tanh fake_quantize_per_tensor_affine_cachemask
    hardswish celu selu log_sigmoid softplus erf"""
)
"""Ops whose derivative is zero everywhere, or on the flat parts of their curve."""

_SHARED = word_set("softmax log_softmax native_layer_norm native_group_norm")
"""Ops that compare the elements of a row: alone in its row, an element makes no difference."""

_COMPLEX = frozenset(["real", "imag", "float", "double", "to", "copy_", "__setitem__"])
"""Calls that take a part of a complex value."""


def ran(history: History) -> list[Finding]:
    """A leaf that got nothing but exact zeros in the whole run because of one op."""
    read = {event.uid for event, _, _ in history.trace.grad_reads}
    for story in sorted(stories(history), key=lambda one: one.uid not in read):
        known = history.tensor(story.uid)
        if known is None or (known.meta.kind != "Parameter" and story.uid not in read):
            continue
        looked = [entry for entry in story.entries if entry.after is not None]
        if not looked or not all(_added_nothing(entry.before, entry.after) for entry in looked):
            continue
        if len(looked) < len(story.entries) and not _throughout(story, looked):
            continue
        found = _explain(history, story)
        if found is not None:
            return [found]
    return []


def _throughout(story: Story, looked: list[AccumulateState]) -> bool:
    """Whether what was looked at of a long run reaches from its beginning into its second half."""
    middle = story.entries[len(story.entries) // 2].moment
    return len(looked) >= 5 and any(entry.moment >= middle for entry in looked)


def _added_nothing(before: Value | None, after: Value | None) -> bool:
    return is_zero(after) and (before is None or is_zero(before))


def _explain(history: History, story: Story) -> Finding | None:
    guilty: list[tuple[NodeState, PassState]] = []
    sampled = any(entry.after is None for entry in story.entries)
    for entry in story.entries:
        run = history.last.passes.get(entry.run)
        if run is None or (sampled and not _looked_at(run)):
            continue
        makers = _zeroing(history, run, story.uid)
        if makers is None:
            return None
        guilty += [(node, run) for node in makers]
    if not guilty:
        return None
    node, run = guilty[-1]
    last = story.entries[-1]
    part = _complex_part(history, run, node)
    if part is None and any(not _flat(history, one) for one, _ in guilty):
        return None
    op = history.trace.op(node.event.op)
    facts: dict[str, Fact] = {
        "leaf": history.name(story.uid, last.moment),
        "func": bare(op.func) if op is not None and op.event.outs else op_name(node.name),
        "passes": len(story.entries),
    }
    causes = [history.place("cause", n.site, n.moment, note("zeros")) for n, _ in reversed(guilty)]
    variant = "zeros" if op_name(node.name) not in _SHARED else "alone"
    kind = KIND
    if part is not None:
        kind, variant = "complex-loss", "dropped"
        taken = history.trace.op(part.event.op)
        facts["part"] = bare(taken.func) if taken is not None else op_name(part.name)
        facts["part"] = "real" if facts["part"] != "imag" else "imaginary"
        causes = [history.place("cause", part.site, part.moment, note("drops-part"))]
    moment = story.entries[0].moment
    seen = list(read_after(history, story.uid, moment, note("all-zero")))[:1]
    seen += shown_places(history, [story.uid], moment, note("all-zero"), values=True)
    return finding(
        kind,
        "warning",
        variant,
        facts,
        cause=causes,
        witness=[history.place("witness", last.site, last.moment)],
        surfaced=[*seen[:2], history.place("surfaced", last.site, last.moment)],
    )


def _looked_at(run: PassState) -> bool:
    """Whether all gradients of a pass were read: of a long run only some are."""
    return all(any(g is not None for g in grads) for grads in run.arrived.values())


def _flat(history: History, node: NodeState) -> bool:
    """Whether a node makes zeros by the form of its op, not by the numbers it met."""
    name = op_name(node.name)
    op = history.trace.op(node.event.op)
    if name == "div":
        return op is not None and "rounding_mode='" in op.event.detail
    if name == "NotImplemented":
        return op is not None and bare(op.func) in ("__floordiv__", "floor_divide")
    if name in _SHARED:
        return _alone(history, op) or _saturated(node)
    return name in _FLAT


def _alone(history: History, op: OpState | None) -> bool:
    """Whether each row that an op compares the elements of has one element."""
    if op is None or not op.event.args:
        return False
    meta = history.meta(op.event.args[0], op.moment)
    if meta is None or not meta.shape:
        return False
    found = _DIMENSION.search(op.event.detail)
    place = int(found[1]) if found is not None and "norm" not in op.func else -1
    return -len(meta.shape) <= place < len(meta.shape) and meta.shape[place] == 1


def _saturated(node: NodeState) -> bool:
    """Whether what a softmax kept are zeros and ones."""
    for save in node.saves:
        if save.name == "result" and save.value is not None and save.value.flat is not None:
            return all(v in (0, 1) for v in save.value.flat)
    return False


_DIMENSION = re.compile(r"(?:dim=)?(-?\d+)")


def _zeroing(history: History, run: PassState, leaf: int) -> list[NodeState] | None:
    """The nodes that got a gradient other than zero and sent zeros towards this leaf.

    None where several that are not flat meet, so that their sum could have cancelled; empty
    where nothing but zeros came down from the root.
    """
    above: dict[int, list[NodeState]] = {}
    start = NONE
    for number in run.order:
        node = history.nodes.get(number)
        if node is None:
            continue
        if node.event.leaf == leaf and node.name.endswith(ACCUMULATE):
            start = number
        for target, _ in node.edges:
            above.setdefault(target, []).append(node)
    pending, seen = [start], {start}
    found: list[NodeState] = []
    while pending:
        senders = [n for n in above.get(pending.pop(), ()) if n.event.node not in seen]
        seen |= {n.event.node for n in senders}
        lively = [n for n in senders if not _all_zero(run, n.event.node)]
        if len(lively) > 1 and not all(_flat(history, n) for n in lively):
            return None
        found += lively
        pending += [n.event.node for n in senders if n not in lively]
    return found


def _all_zero(run: PassState, number: int) -> bool:
    grads = [g for g in run.arrived.get(number, ()) if g is not None]
    return bool(grads) and all(is_zero(g) for g in grads)


def _complex_part(history: History, run: PassState, zeroing: NodeState) -> NodeState | None:
    """The node that took a part of the complex value which the zeroing node made."""
    if not any(
        grad is not None and "complex" in grad.dtype
        for grad in run.arrived.get(zeroing.event.node, ())
    ):
        return None
    for number in run.order:
        node = history.nodes.get(number)
        op = history.trace.op(node.event.op) if node is not None else None
        if node is None or op is None or bare(op.func) not in _COMPLEX or not op.event.args:
            continue
        meta = history.meta(op.event.args[-1], op.moment)
        if meta is None or "complex" not in meta.dtype:
            continue
        if any(below.event.node == zeroing.event.node for below in history.walk(number)):
            return node
    return None
