"""Freezing that has no effect: a misspelt flag, a flag on a module, zeroed gradients."""

from __future__ import annotations

import ast
import difflib

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.grads import Story, stories
from tutor.explain.history import History, bare
from tutor.explain.reads import read_after
from tutor.trace import NONE
from tutor.trace.state import OpState

KIND = "freeze-ignored"

_FLAG = "requires_grad"
_MOMENTUM = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta")


def ran(history: History) -> list[Finding]:
    """An attribute that only looks like the flag; gradients zeroed under an optimizer's memory."""
    return [*_misspelt(history), *_zeroed(history)][:1]


def _misspelt(history: History) -> list[Finding]:
    for file, text in history.trace.texts.items():
        module = source.tree(text)
        for node in ast.walk(module) if module is not None else ():
            if not isinstance(node, ast.Assign) or (file, node.lineno) not in history.line_runs:
                continue
            for target in node.targets:
                if not isinstance(target, ast.Attribute) or not _is_bool(node.value):
                    continue
                flagged = [
                    op
                    for op in history.ops
                    if op.func == "Tensor.requires_grad =" and op.site
                    and (op.site[-1].file, op.site[-1].line) == (file, node.lineno)
                ]  # fmt: skip
                if target.attr == _FLAG and not flagged and _trained(history):
                    return [_finding(history, file, node, target, "module")]
                close = difflib.SequenceMatcher(None, target.attr, _FLAG).ratio()
                if target.attr != _FLAG and close > 0.85:
                    return [_finding(history, file, node, target, "misspelt")]
    return []


def _is_bool(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _trained(history: History) -> bool:
    return any(op.func == "Optimizer.step" for op in history.ops) or any(
        run.accumulated for run in history.passes
    )


def _finding(
    history: History, file: str, node: ast.Assign, target: ast.Attribute, variant: str
) -> Finding:
    text = history.text(file)
    owner = edits.segment(text, target.value)
    facts: dict[str, Fact] = {"attribute": target.attr, "owner": owner}
    if variant == "misspelt":
        edit = edits.splice(text, file, target, f"{owner}.{_FLAG}")
        proposed = fix("right-flag", {"line": node.lineno}, edit)
    else:
        edit = edits.splice(text, file, node, f"{owner}.requires_grad_(False)")
        proposed = fix("flag-call", {"line": node.lineno}, edit)
    steps = [op for op in history.ops if op.func == "Optimizer.step"]
    seen: list[FindingPlace | None] = []
    if steps:
        for uid in steps[0].event.args:
            seen = seen or _printed(history, uid, steps[0])
        seen.append(history.place("surfaced", steps[-1].site, steps[-1].moment))
    else:
        for run in history.passes:
            for entry in run.accumulated:
                seen = seen or read_after(history, entry.uid, run.moment)
            seen.append(history.place("surfaced", run.site, run.moment))
    return finding(
        KIND,
        "warning",
        variant,
        facts,
        cause=[history.line_place("cause", file, node.lineno, note("no-effect"))],
        surfaced=seen,
        fixes=[proposed],
    )


def _printed(history: History, uid: int, step: OpState) -> list[FindingPlace | None]:
    return read_after(history, uid, step.moment, note("has-moved"), value=True)


def _zeroed(history: History) -> list[Finding]:
    """Part of a gradient set to zero by hand, under an optimizer that remembers earlier ones."""
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
        grads = {event.grad for event in history.accumulations.values() if event.uid == story.uid}
        for op in masks:
            if op.event.args[0] not in grads:
                continue
            own = [step for step in steps if story.uid in step.event.args]
            before = [step for step in own if step.moment < op.moment]
            after = [step for step in own if step.moment > op.moment]
            if after and _decays(history, after[0]):
                return [_zeroed_finding(history, story, op, after)]
            first = before[0] if before and _remembers(history, after) else None
            if (
                first is None
                or not after
                or any(m.moment < first.moment and m.event.args[0] in grads for m in masks)
            ):
                continue  # masked from the first step on: nothing is remembered
            return [_zeroed_finding(history, story, op, after)]
    return []


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


def _zeroed_finding(history: History, story: Story, op: OpState, after: list[OpState]) -> Finding:
    facts: dict[str, Fact] = {
        "leaf": history.name(story.uid, op.moment),
        "optimizer": after[0].event.detail.split(".")[0],
        "step_line": after[0].site[-1].line,
    }
    seen = _printed(history, story.uid, after[0])
    return finding(
        KIND,
        "warning",
        "zeroed",
        facts,
        cause=[
            history.place("cause", op.site, op.moment, note("zeroes")),
            history.place("cause", after[0].site, after[0].moment, note("still-moves")),
        ],
        witness=[history.place("witness", after[0].site, after[0].moment)],
        surfaced=[*seen, history.place("surfaced", after[-1].site, after[-1].moment)],
    )
