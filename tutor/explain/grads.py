"""The story of each leaf's `.grad`: what was added, what cleared it, which steps used it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from tutor.explain import source
from tutor.explain.history import History, bare
from tutor.explain.stale import stepped_by
from tutor.trace import NONE, Site, Value
from tutor.trace.state import AccumulateState, Named, OpState


@dataclass(frozen=True, slots=True)
class Clear:
    """A moment at which `.grad` became None, zeros, or (`filled`) another tensor."""

    moment: int
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A moment at which the leaf was (or, without a gradient, was to be) updated."""

    moment: int
    site: Site
    optimizer: bool


@dataclass(slots=True)
class Story:
    """What happened to the `.grad` of one leaf, in order."""

    uid: int
    entries: list[AccumulateState] = field(default_factory=list)
    clears: list[Clear] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def sums(self) -> list[AccumulateState]:
        """The accumulations that found a gradient already there."""
        return [entry for entry in self.entries if entry.before is not None]

    def in_order(self) -> list[AccumulateState | Clear | Step]:
        """Everything by moment."""
        return sorted([*self.entries, *self.clears, *self.steps], key=lambda item: item.moment)

    def stepped_twice(self) -> tuple[AccumulateState, Step, AccumulateState] | None:
        """(the one that added, the step that used the sum, an older one already stepped on)."""
        fresh: list[AccumulateState] = []
        used: list[AccumulateState] = []
        for item in self.in_order():
            if isinstance(item, Clear):
                fresh, used = [], []
            elif isinstance(item, AccumulateState):
                if item.before is None or is_zero(item.before):
                    fresh, used = [], []
                fresh.append(item)
            else:
                if fresh and used:
                    return fresh[0], item, used[-1]
                used, fresh = used + fresh, []
        return None

    def cleared_early(self) -> tuple[AccumulateState, Clear, Step] | None:
        """(the gradient, what cleared it, the step that then found none)."""
        pending: AccumulateState | None = None
        cleared: Clear | None = None
        for item in self.in_order():
            if isinstance(item, AccumulateState):
                pending, cleared = item, None
            elif isinstance(item, Clear):
                if item.filled:
                    pending, cleared = None, None
                    continue
                cleared = cleared or (item if pending is not None else None)
            else:
                if pending is not None and cleared is not None and item.optimizer:
                    return pending, cleared, item
                pending, cleared = None, None
        return None


def only_some_cleared(told: list[Story], story: Story) -> bool:
    """Whether the step that found this gradient cleared was given others that were not."""
    trouble = story.cleared_early()
    if trouble is None:
        return False
    moment = trouble[2].moment
    for other in told:
        before = [item for item in other.in_order() if item.moment < moment]
        if (
            any(step.moment == moment for step in other.steps)
            and before
            and isinstance(before[-1], AccumulateState)
            and not is_zero(before[-1].after)
        ):
            return True
    return False


def stories(history: History) -> list[Story]:
    """The story of each leaf that a pass added to, in the order in which they were first added."""
    known = history.memo.get("stories")
    if known is None:
        known = history.memo["stories"] = _tell(history)
    return known


def _tell(history: History) -> list[Story]:
    found: dict[int, Story] = {}
    for run in history.passes:
        for entry in run.accumulated:
            found.setdefault(entry.uid, Story(entry.uid)).entries.append(entry)
    if not found:
        return []
    for story in found.values():
        story.entries.sort(key=lambda entry: entry.moment)
    _clears(history, found)
    _optimizer_steps(history, found)
    for story in found.values():
        if not any(step.optimizer for step in story.steps):
            story.steps += _hand_steps(history, story)
    return list(found.values())


def _clears(history: History, found: dict[int, Story]) -> None:
    own: dict[int, set[int]] = {uid: set() for uid in found}
    for entry in history.accumulations.values():
        if entry.uid in own:
            own[entry.uid].add(entry.grad)
    for moment, event in history.grad_events:
        story = found.get(event.uid)
        filled = event.grad != NONE and not is_zero(event.value)
        # `w.grad *= mask` writes, and then sets what was there.
        if story is None or (filled and (event.how == "write" or event.grad in own[event.uid])):
            continue
        story.clears.append(Clear(moment, filled))


def _optimizer_steps(history: History, found: dict[int, Story]) -> None:
    for op in history.ops:
        if op.func == "Optimizer.step":
            for uid in op.event.args:
                if uid in found:
                    found[uid].steps.append(Step(op.moment, op.site, True))


def _hand_steps(history: History, story: Story) -> list[Step]:
    """In-place updates of the leaf's memory made from its own gradient."""
    leaf = history.tensor(story.uid)
    if leaf is None:
        return []
    found: list[Step] = []
    for alias in history.at_storage.get(leaf.meta.storage, ()):
        for op in history.users.get(alias, ()):
            name = bare(op.func)
            writes = name.endswith(("_", "=")) and op.event.args[:1] == (alias,)
            if not writes or stepped_by(history, op):
                continue
            grads = _grads_by(history, story, op.moment)
            if any(_made_of(history, argument, grads) for argument in op.event.args[1:]):
                found.append(Step(op.moment, op.site, False))
    return found


def _grads_by(history: History, story: Story, moment: int) -> set[int]:
    return {
        event.grad for when, event in history.accumulations.items()
        if event.uid == story.uid and when < moment
    }  # fmt: skip


def _made_of(history: History, uid: int, grads: set[int], depth: int = 5) -> bool:
    if uid in grads:
        return True
    maker = history.maker(uid) if depth else None
    return maker is not None and any(
        _made_of(history, argument, grads, depth - 1) for argument in maker.event.args[:3]
    )


def is_zero(value: Value | None) -> bool:
    """Whether a value is known to hold nothing but zeros."""
    if value is None:
        return False
    if value.flat is not None:
        return all(v == 0 for v in value.flat)
    return value.low == 0.0 and value.high == 0.0 and value.nonfinite == 0


@dataclass(frozen=True, slots=True)
class Alias:
    """A name that means the tensor in `.grad`, and a later line that reads it as an old value."""

    named: Named
    moment: int
    site: Site


def kept_alias(history: History, entry: AccumulateState) -> Alias | None:
    """A name bound to `.grad` before an accumulation, and read after it as if it were a copy.

    A name whose binding line runs again before the read is a fresh look at `.grad`.
    """
    event = history.accumulations.get(entry.moment)
    grad = history.tensor(event.grad) if event is not None else None
    if grad is None:
        return None
    for named in grad.names:
        if named.since >= entry.moment or (named.until or entry.moment + 1) <= entry.moment:
            continue
        if not named.site:
            continue
        bound = named.site[-1]
        again = [m for m in history.line_runs.get((bound.file, bound.line), ()) if m > entry.moment]
        limit = again[0] if again else len(history.trace) + 1
        read = _read_of(history, named, bound.file, entry.moment, limit)
        if read is not None:
            return Alias(named, *read)
    return None


def kept_twice(history: History, entry: AccumulateState) -> tuple[int, Site] | None:
    """A line that puts `.grad` itself into a list before and after an accumulation.

    Both items are then one tensor. (moment, site) of the first time.
    """
    event = history.accumulations.get(entry.moment)
    if event is None:
        return None
    stored = [
        (moment, site)
        for read, moment, site in history.trace.grad_reads
        if read.grad == event.grad and site and _stores(history, site)
    ]
    before = [item for item in stored if item[0] < entry.moment]
    after = [item for item in stored if item[0] > entry.moment]
    return before[-1] if before and after else None


def _stores(history: History, site: Site) -> bool:
    """Whether the line hands `.grad`, as it is, to a list or a dict."""
    place = site[-1]
    node = source.statement(history.text(place.file), place.line)
    for call in source.calls(node) if node is not None and not hasattr(node, "body") else ():
        if source.called(call) in ("append", "insert", "add", "extend"):
            return any(isinstance(a, ast.Attribute) and a.attr == "grad" for a in call.args)
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "grad"
    )


def _read_of(
    history: History, named: Named, file: str, since: int, limit: int
) -> tuple[int, Site] | None:
    root = named.name.split(".")[0].split("[")[0]
    best: tuple[int, Site] | None = None
    for (where, number), runs in sorted(history.line_runs.items()):
        later = [moment for moment in runs if since < moment < limit]
        if where != file or not later:
            continue
        node = source.statement(history.text(file), number)
        if node is None or hasattr(node, "body") or root not in source.names_read(node):
            continue
        site = history.site_at(later[0] + 1)
        if not site or site[-1].frame != named.frame:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = source.called(node.value)
            if called in ("append", "backward", "zero_grad", "step"):
                continue
        best = best or (later[0], site)
    return best


def optimizer_of(op: OpState) -> str:
    """The class of the optimizer whose step this note of a call tells of."""
    return op.event.detail.split(".")[0]
