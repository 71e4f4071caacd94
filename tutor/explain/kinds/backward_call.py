"""`backward` or `autograd.grad` called with arguments that it does not take."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.explain.patterns import kind_of
from tutor.trace import Place

KIND = "backward-call"

_OUTSIDE = ("SyntaxError", "NameError", "AssertionError", "KeyboardInterrupt")


def raised(history: History, failure: Failure) -> Finding | None:
    """A call refused by `torch.autograd` itself, before its engine began."""
    if failure.kind in _OUTSIDE or not failure.site or failure.op is not None:
        return None
    if failure.run is not None and failure.run.order:
        return None
    here = failure.site[-1]
    call = _call(history, here)
    own = bool(failure.library) and any(
        failure.library[-1][0].replace("\\", "/").endswith(end)
        for end in ("torch/autograd/__init__.py", "torch/_tensor.py", "torch/autograd/graph.py")
    )
    known = kind_of(failure.message)
    if call is None or known not in (None, KIND) or not (own or known == KIND):
        return None
    facts: dict[str, Fact] = {"call": source.called(call), "message": failure.said}
    variant, fixes = _about(history, failure, here, call, facts)
    causes: list[FindingPlace | None] = [
        history.place("cause", failure.site, failure.moment, note("refused"))
    ]
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=causes,
        witness=[_made_of(history, here, call)],
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _call(history: History, here: Place) -> ast.Call | None:
    node = source.statement(history.text(here.file), here.line)
    for call in source.calls(node) if node is not None else ():
        if source.called(call) in ("backward", "grad"):
            return call
    return None


def _about(
    history: History, failure: Failure, here: Place, call: ast.Call, facts: dict[str, Fact]
) -> tuple[str, list[Fix | None]]:
    """(variant, fixes): which argument was refused is read from the call and torch's words."""
    text, message = history.text(here.file), failure.message
    line: dict[str, Fact] = {"line": here.line}
    if "cannot be empty" in message:
        return "empty", []
    if "gradients can be either Tensors or None" in message:
        given = _argument(call, "grad_tensors", "grad_outputs", "gradient", place=1)
        edit = None
        if given is not None and edits.imports_torch(text):
            parts = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
            new = ", ".join(f"torch.tensor({edits.segment(text, one)})" for one in parts)
            whole = f"[{new}]" if isinstance(given, ast.List | ast.Tuple) else new
            edit = edits.splice(text, here.file, given, whole)
        return "seed", [fix("tensor-seed", line, edit)]
    inputs = _argument(call, "inputs", place=1 if source.called(call) == "grad" else 9)
    if inputs is not None and ("inputs" in message or "is not iterable" in message):
        facts["given"] = edits.segment(text, inputs)
        found = []
        inner, _ = _inner(text, inputs)
        plain = isinstance(inner, ast.Name | ast.Attribute)
        for method in ("values", "parameters") if plain else ():
            inner, owner = _inner(text, inputs)
            edit = edits.splice(text, here.file, inner, f"{owner}.{method}()")
            if inner is inputs:
                edit = edits.splice(text, here.file, inner, f"list({owner}.{method}())")
            found.append(fix("ask-tensors", {**line, "name": owner, "method": method}, edit))
        return "inputs", found
    if call.args:
        facts["given"] = edits.segment(text, call.args[0])
        return "root", []
    return "known", []


def _argument(call: ast.Call, *names: str, place: int) -> ast.expr | None:
    for given in call.keywords:
        if given.arg in names:
            return given.value
    if isinstance(call.func, ast.Attribute) and source.called(call) == "backward":
        owner = getattr(call.func.value, "attr", getattr(call.func.value, "id", ""))
        place = place if owner == "autograd" else 0
    return call.args[place] if len(call.args) > place else None


def _inner(text: str, inputs: ast.expr) -> tuple[ast.expr, str]:
    """The collection inside `list(params)`, and how it is written."""
    inner = inputs
    if isinstance(inputs, ast.Call) and source.called(inputs) in ("list", "tuple") and inputs.args:
        inner = inputs.args[0]
    return inner, edits.segment(text, inner)


def _made_of(history: History, here: Place, call: ast.Call) -> FindingPlace | None:
    """The line that gave the refused argument its name, where it has one."""
    names = [one.id for one in call.args if isinstance(one, ast.Name)]
    text = history.text(here.file)
    around = source.function_at(text, here.line)
    first = around.lineno if around is not None else 1
    for number in range(here.line - 1, first - 1, -1):
        node = source.statement(text, number)
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in names[:1] for t in node.targets
        ):
            return history.line_place("witness", here.file, node.lineno, note("made-here"))
    return None
