"""Parameters that were to be frozen, by zeroed gradients or by the flag, and that moved."""

from __future__ import annotations

import ast
from bisect import bisect_left

from tutor.explain import source
from tutor.explain.build import finding, note
from tutor.explain.finding import Fact, Finding
from tutor.explain.grads import Story, only_some_cleared, stories
from tutor.explain.history import History, bare
from tutor.explain.optimizers import optimizers, written_by_hand
from tutor.explain.shown import VALUE, shown_after, shown_places
from tutor.trace import NONE, Value
from tutor.trace import events as ev
from tutor.trace.state import OpState

KIND = "freeze-ignored"

_MOMENTUM = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta")


def ran(history: History) -> list[Finding]:
    """Zeroed parts that a step moved, a frozen leaf that it moved, statistics that went on."""
    return (
        _zeroed(history)
        or _zeroed_unseen(history)
        or _stale_gradient(history)
        or _statistics(history)
    )


# -- gradients zeroed by hand ---------------------------------------------------------------


def _zeroed(history: History) -> list[Finding]:
    """Elements whose gradient the program set to zero, and which the next step changed."""
    changed: dict[int, list[tuple[int, ev.Grad]]] = {}
    for moment, event in history.grad_events:
        if event.grad != NONE and event.value is not None:
            changed.setdefault(event.uid, []).append((moment, event))
    told = stories(history) if changed else []
    for one in optimizers(history):
        steps = list(one.steps)
        for story in told:
            if story.uid not in one.held or story.uid not in changed:
                continue
            for step in steps:
                write = _zeroing(history, told, story, step, changed[story.uid])
                if write is None or not _moved(history, story.uid, step, write[1]):
                    continue
                if written_by_hand(history, story.uid, step.moment):
                    continue  # it puts them back itself
                return [_zeroed_finding(history, story, write[0], steps, step)]
    return []


def _zeroing(
    history: History,
    told: list[Story],
    story: Story,
    step: OpState,
    changed: list[tuple[int, ev.Grad]],
) -> tuple[OpState, list[int]] | None:
    """(the call by which the program zeroed parts of a gradient, which parts) before a step."""
    entry = bisect_left(story.entries, step.moment, key=lambda e: e.moment) - 1
    if entry < 0 or story.entries[entry].after is None:
        return None
    last = story.entries[entry]
    first = bisect_left(changed, last.moment, key=lambda pair: pair[0])
    end = bisect_left(changed, step.moment, key=lambda pair: pair[0])
    changes = changed[first:end]
    if not changes or changes[-1][1].value is None:
        return None
    old, new = last.after, changes[-1][1].value
    if old is None or old.flat is None or new.flat is None or len(old.flat) != len(new.flat):
        return None
    gone = [i for i, (a, b) in enumerate(zip(old.flat, new.flat, strict=True)) if a != 0 and b == 0]
    if not gone or (len(gone) == len(new.flat) and not only_some_cleared(told, story)):
        return None
    moment = changes[0][0]
    start = bisect_left(history.ops, last.moment, key=lambda op: op.moment)
    stop = bisect_left(history.ops, moment + 1, key=lambda op: op.moment)
    for op in reversed(history.ops[start:stop]):
        if op.event.via == NONE and op.site and op.event.args:
            return op, gone
    return None


def _moved(history: History, uid: int, step: OpState, parts: list[int]) -> bool:
    """Whether a step changed elements of a parameter."""
    before = history.value_before(uid, step.moment)
    after = history.value_after(uid, step.moment)
    if before is None or after is None or before.flat is None or after.flat is None:
        return False
    old, new = before.flat, after.flat
    return len(old) == len(new) and any(old[i] != new[i] for i in parts if i < len(old))


def _zeroed_finding(
    history: History, story: Story, op: OpState, steps: list[OpState], step: OpState
) -> Finding:
    facts: dict[str, Fact] = {
        "leaf": history.name(story.uid, op.moment),
        "optimizer": _class_of(step),
        "step_line": step.site[-1].line,
    }
    words = note("has-moved")
    seen = shown_places(history, [story.uid], step.moment, words, values=True, gradients=False)
    return finding(
        KIND,
        "warning",
        "zeroed",
        facts,
        cause=[
            history.place("cause", op.site, op.moment, note("zeroes")),
            history.place("cause", step.site, step.moment, note("still-moves")),
        ],
        witness=[history.place("witness", step.site, step.moment)],
        surfaced=[*seen, history.place("surfaced", steps[-1].site, steps[-1].moment)],
    )


def _zeroed_unseen(history: History) -> list[Finding]:
    """The same where values are too large to be seen: by what the optimizer is known to do."""
    masks = [
        op
        for op in history.ops
        if bare(op.func) == "__setitem__"
        and op.event.via == NONE
        and op.event.args
        and op.event.detail.endswith((", 0", ", 0.0"))
    ]
    if not masks:
        return []
    steps = [op for op in history.ops if op.func == "Optimizer.step"]
    for story in stories(history):
        if _small(history, story.uid):
            continue  # what is small has been looked at
        grads = {event.grad for event in history.accumulations.values() if event.uid == story.uid}
        for op in masks:
            if op.event.args[0] not in grads:
                continue
            own = [step for step in steps if story.uid in step.event.args]
            before = [step for step in own if step.moment < op.moment]
            after = [step for step in own if step.moment > op.moment]
            if not after or written_by_hand(history, story.uid, after[0].moment):
                continue
            if _decays(history, after[0]):
                return [_zeroed_finding(history, story, op, own, after[0])]
            first = before[0] if before and _remembers(history, after) else None
            if first is None or any(
                m.moment < first.moment and m.event.args[0] in grads for m in masks
            ):
                continue  # masked from the first step on: nothing is remembered
            return [_zeroed_finding(history, story, op, own, after[0])]
    return []


def _small(history: History, uid: int) -> bool:
    known = history.tensor(uid)
    value: Value | None = known.value if known is not None else None
    return value is not None and value.flat is not None


def _class_of(step: OpState) -> str:
    return step.event.detail.strip("'").split(".")[0]


def _remembers(history: History, steps: list[OpState]) -> bool:
    """Whether the optimizer moves by gradients of earlier steps."""
    return bool(steps) and (
        _class_of(steps[0]) in _MOMENTUM or _built_with(history, _class_of(steps[0]), "momentum")
    )


def _decays(history: History, step: OpState) -> bool:
    """Whether the optimizer pulls every weight towards zero, gradient or not."""
    name = _class_of(step)
    return name == "AdamW" or _built_with(history, name, "weight_decay")


def _built_with(history: History, name: str, keyword: str) -> bool:
    """Whether the source builds an optimizer of this class with a keyword other than 0."""
    for text in history.trace.texts.values():
        module = source.tree(text)
        for call in source.calls(module) if module is not None else ():
            if source.called(call) != name:
                continue
            for given in call.keywords:
                zero = isinstance(given.value, ast.Constant) and not given.value.value
                if given.arg == keyword and not zero:
                    return True
    return False


# -- the flag, and yet ----------------------------------------------------------------------


def _stale_gradient(history: History) -> list[Finding]:
    """A leaf frozen by its flag that still has a gradient, with which the optimizer goes on."""
    for one in optimizers(history):
        for uid in one.held:
            flags = [
                op
                for op in history.users.get(uid, ())
                if bare(op.func).startswith("requires_grad") and "False" in op.event.detail
            ]
            if not flags or history.requires_grad(uid, len(history.trace)):
                continue
            flag = flags[-1]
            for step in one.steps:
                if step.moment < flag.moment or not _has_gradient(history, uid, step.moment):
                    continue
                before = history.value_before(uid, step.moment)
                after = history.value_after(uid, step.moment)
                if before is None or after is None or _same(before, after):
                    continue
                words = note("has-moved")
                seen = shown_places(history, [uid], step.moment, words, values=True)
                return [
                    finding(
                        KIND,
                        "warning",
                        "gradient-left",
                        {"leaf": history.name(uid, flag.moment), "optimizer": one.name},
                        cause=[
                            history.place("cause", flag.site, flag.moment, note("freezes")),
                            history.place("cause", step.site, step.moment, note("still-moves")),
                        ],
                        surfaced=[*seen, history.place("surfaced", step.site, step.moment)],
                    )
                ]
    return []


def _has_gradient(history: History, uid: int, moment: int) -> bool:
    """Whether `.grad` of a leaf was a tensor at a moment."""
    state = history.trace.at(moment)
    known = state.tensors.get(uid)
    return known is not None and known.grad != NONE


def _same(before: Value, after: Value) -> bool:
    if before.flat is not None and after.flat is not None:
        return before.flat == after.flat
    return (before.low, before.high, before.mean) == (after.low, after.high, after.mean)


def _statistics(history: History) -> list[Finding]:
    """Running statistics of a frozen batch norm that go on, where the program looks at them."""
    for op in history.ops:
        if bare(op.func) not in ("batch_norm", "instance_norm") or not op.event.args:
            continue
        flags = [
            flag
            for uid in op.event.args
            for flag in history.users.get(uid, ())
            if bare(flag.func).startswith("requires_grad") and "False" in flag.event.detail
            and flag.moment < op.moment and not history.requires_grad(uid, len(history.trace))
        ]  # fmt: skip
        moved = [
            uid
            for uid in op.event.args
            if (known := history.tensor(uid)) is not None
            and known.meta.kind == "Tensor"
            and known.meta.node == NONE
            and not known.meta.requires_grad
            and any(w.op == op.op for w in history.writes(known.meta.counter))
            and _differ(history, uid, op.moment)
        ]
        if not flags or not moved:
            continue
        if any(written_by_hand(history, flag.event.args[0], flag.moment) for flag in flags):
            continue  # a teacher or a target, which the program moves itself
        looks = shown_after(history, moved, op.moment, values=True, gradients=False)
        direct = [one for one in looks if one.rank <= VALUE]
        if not direct:
            continue
        flag, first = flags[-1], direct[0]
        return [
            finding(
                KIND,
                "warning",
                "statistics",
                {"layer": history.name(flag.event.args[0], op.moment)},
                cause=[
                    history.place("cause", flag.site, flag.moment, note("freezes-weights")),
                    history.place("cause", op.site, op.moment, note("statistics-go-on")),
                ],
                surfaced=[
                    history.place("surfaced", first.site, first.moment, note("has-moved")),
                    history.place("surfaced", op.site, op.moment),
                ],
            )
        ]
    return []


def _differ(history: History, uid: int, moment: int) -> bool:
    before, after = history.value_before(uid, moment), history.value_after(uid, moment)
    return before is not None and after is not None and not _same(before, after)
