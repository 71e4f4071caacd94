"""Changes to a user's own `autograd.Function`."""

from __future__ import annotations

import ast
import difflib
import re

from tutor.explain import edits, source
from tutor.explain.build import fix
from tutor.explain.custom import function_classes
from tutor.explain.finding import Edit, Fix
from tutor.explain.history import Failure, History

_CONTEXT = (
    "saved_tensors",
    "save_for_backward",
    "needs_input_grad",
    "mark_dirty",
    "mark_non_differentiable",
    "set_materialize_grads",
)


def context_name(history: History, failure: Failure, owner: str) -> Fix | None:
    """A misspelt attribute of the context: torch's own, or one that the forward put there."""
    said = re.search(r"no attribute '(\w+)'", failure.message)
    if failure.kind != "AttributeError" or said is None or not failure.site:
        return None
    _, cls = function_classes(history)[owner]
    known = {
        target.attr
        for node in ast.walk(cls)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    close = difflib.get_close_matches(said[1], [*_CONTEXT, *sorted(known)], 1, 0.6)
    if not close:
        return None
    here = failure.site[-1]
    row = source.line(history.text(here.file), here.line)
    new = re.sub(rf"\.{said[1]}\b", f".{close[0]}", row, count=1)
    edit = edits.replaced(here.file, here.line, new) if new != row else None
    return fix("rename", {"line": here.line, "name": close[0]}, edit)


def fewer(history: History, file: str, returned: ast.Return, wanted: int) -> Fix | None:
    """The first gradients of a return that has too many."""
    if not isinstance(returned.value, ast.Tuple) or wanted < 1:
        return None
    text = history.text(file)
    kept = [edits.segment(text, one) for one in returned.value.elts[:wanted]]
    edit = edits.splice(text, file, returned, f"return {', '.join(kept)}")
    return fix("return-fewer", {"line": returned.lineno, "count": wanted}, edit)


def straight_through(history: History, file: str, cls: ast.ClassDef) -> Fix | None:
    """A backward that hands the gradient on to the first input as it is."""
    forward = source.method(cls, "forward")
    if forward is None or source.method(cls, "backward") is not None:
        return None
    taken = len(forward.args.args) - 1
    text = history.text(file)
    last = forward.end_lineno or forward.lineno
    space = source.indent(text, forward.lineno)
    returned = ", ".join(["grad_output", *["None"] * (taken - 1)])
    new = "\n".join(
        [
            "",
            f"{space}@staticmethod",
            f"{space}def backward(ctx, grad_output):",
            f"{space}    return {returned}",
        ]
    )
    return fix("straight-through", {"line": last}, Edit(file, last + 1, last, new))


def apply_it(history: History, failure: Failure, owner: str) -> Fix | None:
    """`Owner()(x)`, or `Owner(x)`, as `Owner.apply(x)`."""
    here = failure.site[-1]
    text = history.text(here.file)

    def change(call: ast.Call) -> str | None:
        inner = call.func
        if isinstance(inner, ast.Call) and source.called(inner) == owner:
            inner = inner.func
        if not isinstance(inner, ast.Name) or inner.id != owner or not call.args:
            return None
        rest = edits.segment(text, call)[len(edits.segment(text, call.func)) :]
        return f"{owner}.apply{rest}"

    edit = edits.rewrite_calls(text, here.file, here.line, change)
    return fix("apply", {"line": here.line, "name": owner}, edit)


def kept_on_context(history: History, owner: str) -> Fix | None:
    """What is no tensor kept as an attribute of the context, not with `save_for_backward`."""
    file, cls = function_classes(history)[owner]
    text = history.text(file)
    forward, back = source.method(cls, "forward"), source.method(cls, "backward")
    if forward is None or back is None:
        return None
    plain = _numbers(history, forward)
    saving = [
        node
        for node in ast.walk(forward)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and source.called(node.value) == "save_for_backward"
    ]
    taking = [
        node
        for node in ast.walk(back)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "saved_tensors"
        and isinstance(node.targets[0], ast.Tuple)
    ]
    if len(saving) != 1 or len(taking) != 1 or not isinstance(saving[0].value, ast.Call):
        return None
    given = [edits.segment(text, one) for one in saving[0].value.args]
    target = taking[0].targets[0]
    assert isinstance(target, ast.Tuple)
    names = [edits.segment(text, one) for one in target.elts]
    if len(names) != len(given) or not set(given) & plain:
        return None
    context = forward.args.args[0].arg
    other = back.args.args[0].arg
    tensors = [one for one in given if one not in plain]
    first = source.indent(text, saving[0].lineno)
    second = source.indent(text, taking[0].lineno)
    saves = [f"{first}{context}.save_for_backward({', '.join(tensors)})"]
    takes = [
        f"{second}{', '.join(n for n, g in zip(names, given, strict=True) if g in tensors)}, = "
        f"{other}.saved_tensors"
    ]
    if not tensors:
        saves, takes = [], []
    for name, value in zip(names, given, strict=True):
        if value in plain:
            saves.append(f"{first}{context}.kept_{name} = {value}")
            takes.append(f"{second}{name} = {other}.kept_{name}")
    one = Edit(file, saving[0].lineno, saving[0].end_lineno or 0, "\n".join(saves))
    two = Edit(file, taking[0].lineno, taking[0].end_lineno or 0, "\n".join(takes))
    return fix("keep-on-context", {"line": saving[0].lineno}, one, two)


def _numbers(history: History, forward: source.Function) -> set[str]:
    """The parameters of a forward that never meant a tensor in this run, and its constants."""
    names = {argument.arg for argument in forward.args.args[1:]}
    tensors = {
        named.name
        for tensor in history.tensors.values()
        for named in tensor.names
        if named.function.endswith("forward")
    }
    return names - tensors
