"""Gradients that are zero by construction: one op makes zeros of all that reaches it."""

from __future__ import annotations

from tutor.explain.build import finding, note
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.grads import Story, is_zero, stories
from tutor.explain.history import ACCUMULATE, History, bare, op_name, word_set
from tutor.explain.reads import read_after
from tutor.trace import NONE, Value
from tutor.trace.state import NodeState, PassState

KIND = "zero-grad-op"

_FLAT = word_set(
    """round floor ceil trunc frac sign sgn heaviside clamp clamp_min clamp_max hardtanh relu relu6
    threshold hardsigmoid hardshrink softshrink normal bernoulli poisson fmod remainder div
    floor_divide leaky_relu elu sigmoid tanh softmax fake_quantize_per_tensor_affine_cachemask
    hardswish celu selu"""
)
_COMPLEX = ("Real", "Imag", "ViewAsReal")


def ran(history: History) -> list[Finding]:
    """A leaf that got nothing but exact zeros in the whole run because of one op."""
    read = {event.uid for event, _, _ in history.trace.grad_reads}
    for story in stories(history):
        known = history.tensor(story.uid)
        if known is None or (known.meta.kind != "Parameter" and story.uid not in read):
            continue
        if not all(_added_nothing(entry.before, entry.after) for entry in story.entries):
            continue
        found = _explain(history, story)
        if found is not None:
            return [found]
    return []


def _added_nothing(before: Value | None, after: Value | None) -> bool:
    return is_zero(after) and (before is None or is_zero(before))


def _explain(history: History, story: Story) -> Finding | None:
    guilty: list[NodeState] = []
    for entry in story.entries:
        run = history.last.passes.get(entry.run)
        node = _zeroing(history, run, story.uid) if run is not None else None
        if node is None:
            return None
        guilty.append(node)
    last = story.entries[-1]
    node = guilty[-1]
    run = history.last.passes[last.run]
    complex_node = _complex_part(history, run)
    moment = story.entries[0].moment
    leaf = history.name(story.uid, last.moment)
    op = history.trace.op(node.event.op)
    facts: dict[str, Fact] = {
        "leaf": leaf,
        "func": bare(op.func) if op is not None and op.event.outs else op_name(node.name),
        "passes": len(story.entries),
    }
    kind, cause, words = KIND, node, note("zeros")
    if complex_node is not None:
        kind, cause, words = "complex-loss", complex_node, note("drops-part")
        facts["part"] = op_name(complex_node.name)
    elif op_name(node.name) not in _FLAT:
        return None
    seen: list[FindingPlace | None] = list(read_after(history, story.uid, moment, note("all-zero")))
    return finding(
        kind,
        "warning",
        "dropped" if complex_node is not None else "zeros",
        facts,
        cause=[history.place("cause", cause.site, cause.moment, words)],
        witness=[history.place("witness", last.site, last.moment)],
        surfaced=[*seen, history.place("surfaced", last.site, last.moment)],
    )


def _zeroing(history: History, run: PassState, leaf: int) -> NodeState | None:
    """The node that got a gradient other than zero and sent zeros towards this leaf.

    None where several nodes meet on the way, so that their sum could have cancelled.
    """
    above: dict[int, list[NodeState]] = {}
    start = NONE
    for number in run.order:
        node = history.last.nodes.get(number)
        if node is None:
            continue
        if node.event.leaf == leaf and node.name.endswith(ACCUMULATE):
            start = number
        for target, _ in node.edges:
            above.setdefault(target, []).append(node)
    current, seen = start, {start}
    while current != NONE:
        senders = [n for n in above.get(current, ()) if n.event.node not in seen]
        lively = [n for n in senders if not _all_zero(run, n.event.node)]
        if lively:
            return lively[0] if len(lively) == 1 else None
        if not senders:
            return None
        current = senders[0].event.node
        seen.add(current)
    return None


def _all_zero(run: PassState, number: int) -> bool:
    grads = [g for g in run.arrived.get(number, ()) if g is not None]
    return bool(grads) and all(is_zero(g) for g in grads)


def _complex_part(history: History, run: PassState) -> NodeState | None:
    """A node of this pass that takes the real or imaginary part of a complex value."""
    for number in run.order:
        node = history.last.nodes.get(number)
        if node is None or not node.name.startswith(_COMPLEX):
            continue
        op = history.trace.op(node.event.op)
        if op is not None and bare(op.func) in ("real", "imag"):
            return node
    return None
