"""Freezing that has no effect: a flag that is none, and parameters that are moved all the same."""

from __future__ import annotations

import ast
import difflib

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import History, bare
from tutor.explain.kinds import frozen_moves
from tutor.explain.optimizers import optimizers
from tutor.explain.shown import shown_places
from tutor.trace.state import OpState

KIND = "freeze-ignored"

_FLAG = "requires_grad"

_MEANS_FLAG = frozenset(
    ["trainable", "requires_gradient", "requires_gradients", "needs_grad", "need_grad",
     "require_gradients", "require_gradient", "is_trainable", "learnable", "grad_enabled"]
)  # fmt: skip
"""Names under which other libraries, or memory, know the flag."""

_LOOPS = frozenset(["named_parameters", "parameters", "named_modules", "named_children"])


def ran(history: History) -> list[Finding]:
    """A flag that freezes nothing, or a parameter that moves though it was to be frozen."""
    if not _trained(history):
        return []
    return _misspelt(history) or _copies(history) or _no_match(history) or frozen_moves.ran(history)


def _trained(history: History) -> bool:
    return bool(optimizers(history)) or any(run.accumulated for run in history.passes)


# -- a flag that is none --------------------------------------------------------------------


def _misspelt(history: History) -> list[Finding]:
    """`p.require_grad = False`, `layer.requires_grad = False`: attributes without a meaning."""
    for file, text in history.trace.texts.items():
        module = source.tree(text)
        for node in ast.walk(module) if module is not None else ():
            if not isinstance(node, ast.Assign) or (file, node.lineno) not in history.line_runs:
                continue
            if not isinstance(node.value, ast.Constant) or node.value.value is not False:
                continue
            for target in node.targets:
                variant = _variant(history, file, node, target)
                if variant and isinstance(target, ast.Attribute):
                    return [_flag_finding(history, file, node, target, variant)]
    return []


def _variant(history: History, file: str, node: ast.Assign, target: ast.expr) -> str:
    """Why an assignment of False freezes nothing: "misspelt", "module", or "" where it may."""
    if not isinstance(target, ast.Attribute):
        return ""
    if target.attr == _FLAG:
        own = isinstance(target.value, ast.Name) and target.value.id in ("self", "cls")
        flagged = any(
            op.site and (op.site[-1].file, op.site[-1].line) == (file, node.lineno)
            for op in history.ops
            if op.func == "Tensor.requires_grad ="
        )
        return "" if flagged or own else "module"
    if isinstance(target.value, ast.Name) and target.value.id in ("self", "cls", "cfg", "config"):
        return ""  # a setting of the program's own
    close = difflib.SequenceMatcher(None, target.attr, _FLAG).ratio() > 0.85
    if not close and target.attr not in _MEANS_FLAG:
        return ""
    return "" if _is_read(history, target.attr) else "misspelt"


def _is_read(history: History, name: str) -> bool:
    """Whether the program itself reads an attribute of this name: then it has a meaning."""
    for text in history.trace.texts.values():
        module = source.tree(text)
        for node in ast.walk(module) if module is not None else ():
            if (
                isinstance(node, ast.Attribute)
                and node.attr == name
                and isinstance(node.ctx, ast.Load)
            ):
                return True
    return False


def _flag_finding(
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
    return finding(
        KIND,
        "warning",
        variant,
        facts,
        cause=[history.line_place("cause", file, node.lineno, note("no-effect"))],
        surfaced=_moved(history),
        fixes=[proposed],
    )


def _moved(history: History) -> list[FindingPlace | None]:
    """Where it shows that something has moved, or got a gradient, which was to be frozen."""
    words = note("has-moved")
    known = optimizers(history)
    if known:
        first, last = known[0].steps[0], known[0].steps[-1]
        seen = shown_places(history, known[0].held, first.moment, words, values=True)
        return [*seen, history.place("surfaced", last.site, last.moment)]
    run = next(run for run in history.passes if run.accumulated)
    leaves = [entry.uid for entry in run.accumulated]
    seen = shown_places(history, leaves, run.moment, words, values=True)
    return [*seen, history.place("surfaced", run.site, run.moment)]


# -- a flag on something else ---------------------------------------------------------------


def _copies(history: History) -> list[Finding]:
    """The flag switched off on a detached alias of a parameter, as `state_dict()` gives them."""
    given = {entry.uid for run in history.passes for entry in run.accumulated}
    for op in history.ops:
        if not _switches_off(op) or not op.site:
            continue
        uid = op.event.args[0]
        known = history.tensor(uid)
        if known is None or history.requires_grad(uid, op.moment - 1) or uid in given:
            continue
        owners = [
            other
            for other in history.at_storage.get(known.meta.storage, ())
            if other in given and history.requires_grad(other, op.moment)
        ]
        if not owners:
            continue
        first = next(run for run in history.passes if run.accumulated)
        if first.moment < op.moment:
            continue
        seen = shown_places(history, owners, op.moment, note("has-moved"), values=True)
        return [
            finding(
                KIND,
                "warning",
                "alias",
                {"parameter": history.name(owners[0], op.moment)},
                cause=[history.place("cause", op.site, op.moment, note("no-effect"))],
                surfaced=[*seen, *_moved(history)[-1:]],
            )
        ]
    return []


def _switches_off(op: OpState) -> bool:
    if not op.event.args or not bare(op.func).startswith(_FLAG):
        return False
    return "False" in op.event.detail


def _no_match(history: History) -> list[Finding]:
    """A loop over parameters whose condition on the name was never true."""
    for file, text in history.trace.texts.items():
        module = source.tree(text)
        for loop in ast.walk(module) if module is not None else ():
            if not isinstance(loop, ast.For) or not _over_parameters(loop):
                continue
            for test in ast.walk(loop):
                if not isinstance(test, ast.If) or not _asks_name(test):
                    continue
                freezing = [node for node in test.body if _freezes(text, node)]
                ran = (file, test.lineno) in history.line_runs
                if not freezing or not ran or (file, test.body[0].lineno) in history.line_runs:
                    continue
                condition = edits.segment(text, test.test)
                return [
                    finding(
                        KIND,
                        "warning",
                        "no-match",
                        {"condition": condition},
                        cause=[
                            history.line_place("cause", file, test.lineno, note("never-true")),
                            history.line_place("cause", file, freezing[0].lineno),
                        ],
                        surfaced=_moved(history),
                    )
                ]
    return []


def _over_parameters(loop: ast.For) -> bool:
    return any(source.called(call) in _LOOPS for call in source.calls(loop.iter))


def _asks_name(test: ast.If) -> bool:
    """Whether a condition compares with text and can be read as one on a name."""
    constants = [n for n in ast.walk(test.test) if isinstance(n, ast.Constant)]
    return bool(constants) and all(isinstance(c.value, str) for c in constants)


def _freezes(text: str, node: ast.stmt) -> bool:
    code = edits.segment(text, node).replace(" ", "")
    return code.endswith((".requires_grad=False", ".requires_grad_(False)"))
