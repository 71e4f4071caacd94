"""An optimizer, a scheduler or a module that refuses how it is set up or called."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.explain.patterns import kind_of
from tutor.trace import Place, Site

KIND = "optimizer-misuse"

_FILES = ("torch/optim/", "torch/nn/utils/clip_grad", "torch/amp/grad_scaler")
_PYTHON = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "KeyboardInterrupt")


def raised(history: History, failure: Failure) -> Finding | None:
    """An error out of torch's optimizers, or one whose words tell of a module's set-up."""
    if failure.kind in _PYTHON or not failure.site or failure.run is not None:
        return None
    known = kind_of(failure.message)
    own = any(failure.inside(part) for part in _FILES) and failure.op is None
    if known not in (None, KIND) or not (own or known == KIND):
        return None
    here = failure.site[-1]
    facts: dict[str, Fact] = {"message": failure.said, "optimizer": _called(history, here)}
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    variant = _variant(failure)
    text = history.text(here.file)
    line: dict[str, Fact] = {"line": here.line}
    if variant == "empty":
        made = _spent(history, failure.site)
        if made is not None:
            variant, (file, number, facts["name"]) = "spent", made
            causes.append(history.line_place("cause", file, number, note("runs-out")))
            edit = _listed(history.text(file), file, number)
            fixes.append(fix("as-list", {"line": number}, edit))
    elif variant == "one-tensor":
        fixes.append(fix("in-list", line, _in_list(text, here)))
    elif variant == "not-tensor":
        fixes += _tensors(text, here)
    elif variant == "closure":
        closed = rewrites.closure_around(text, here.file, here.line)
        fixes.append(fix("closure", line, closed))
    elif variant == "before-init":
        around = source.function_at(text, here.line)
        if around is not None:
            first = around.body[0]
            edit = edits.insert_before(text, here.file, first.lineno, "super().__init__()")
            fixes.append(fix("super-init", {"line": first.lineno}, edit))
            owner = _class_of(text, here.line)
            facts["owner"] = owner
    causes.append(history.place("cause", failure.site, failure.moment, note("refused")))
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=causes,
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


_VARIANTS = (
    ("empty", r"empty parameter list"),
    ("one-tensor", r"should be an iterable of Tensors"),
    ("not-tensor", r"can only optimize Tensors"),
    ("set", r"ordered collections"),
    ("twice", r"appear in more than one|duplicate parameters"),
    ("closure", r"missing 1 required positional argument: 'closure'"),
    ("state", r"state dict .*(?:size|number)"),
    ("before-init", r"before Module\.__init__"),
    ("lazy", r"uninitialized parameter"),
    ("nonfinite", r"non-finite"),
    ("value", r"^Invalid "),
)


def _variant(failure: Failure) -> str:
    for variant, words in _VARIANTS:
        if re.search(words, failure.message):
            return variant
    return "known"


def _called(history: History, here: Place) -> str:
    """The optimizer as the line writes it: `SGD`, `opt`."""
    node = source.statement(history.text(here.file), here.line)
    for call in source.calls(node) if node is not None else ():
        name = source.called(call)
        if name[:1].isupper():
            return name
        if name in ("step", "load_state_dict", "add_param_group") and isinstance(
            call.func, ast.Attribute
        ):
            return edits.segment(history.text(here.file), call.func.value)
    return "The optimizer"


def _spent(history: History, site: Site) -> tuple[str, int, str] | None:
    """(file, line, name) of a generator that the call reads, and that was read to its end before.

    Where the name is a parameter of the function, the callers are looked at for what they gave.
    """
    for here in reversed(site):
        text = history.text(here.file)
        node = source.statement(text, here.line)
        names = source.names_read(node) if node is not None else set()
        around = source.function_at(text, here.line)
        for number in range(here.line - 1, around.lineno if around is not None else 0, -1):
            found = source.statement(text, number)
            if not isinstance(found, ast.Assign) or not isinstance(found.targets[0], ast.Name):
                continue
            lazy = isinstance(found.value, ast.GeneratorExp) or (
                isinstance(found.value, ast.Call)
                and source.called(found.value)
                in ("parameters", "named_parameters", "filter", "map", "chain", "iter", "zip")
            )
            if lazy and found.targets[0].id in names:
                return here.file, found.lineno, found.targets[0].id
    return None


def _listed(text: str, file: str, number: int) -> Edit | None:
    node = source.simple_statement(text, number)
    if not isinstance(node, ast.Assign):
        return None
    value = edits.segment(text, node.value)
    if isinstance(node.value, ast.GeneratorExp):
        value = value.removeprefix("(").removesuffix(")")
    return edits.splice(text, file, node.value, f"list({value})")


def _first_argument(text: str, here: Place) -> ast.expr | None:
    node = source.statement(text, here.line)
    for call in source.calls(node) if node is not None else ():
        if source.called(call)[:1].isupper() and (call.args or call.keywords):
            named = next((k.value for k in call.keywords if k.arg == "params"), None)
            return named or (call.args[0] if call.args else None)
    return None


def _in_list(text: str, here: Place) -> Edit | None:
    given = _first_argument(text, here)
    if given is None:
        return None
    return edits.splice(text, here.file, given, f"[{edits.segment(text, given)}]")


def _tensors(text: str, here: Place) -> list[Fix | None]:
    """The tensors instead of their names: `.values()`, `.parameters()`."""
    given = _first_argument(text, here)
    if given is None:
        return []
    line: dict[str, Fact] = {"line": here.line}
    whole = edits.segment(text, given)
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        owner = edits.segment(text, given.func.value)
        if given.func.attr in ("state_dict", "named_parameters", "children", "modules"):
            if given.func.attr == "state_dict" and isinstance(given.func.value, ast.Attribute):
                owner = edits.segment(text, given.func.value.value).split(".")[0]
            new = f"{owner}.parameters()"
            edit = edits.splice(text, here.file, given, new)
            return [fix("ask-tensors", {**line, "name": owner, "method": "parameters"}, edit)]
    found = []
    for method in ("values", "parameters"):
        edit = edits.splice(text, here.file, given, f"{whole}.{method}()")
        found.append(fix("ask-tensors", {**line, "name": whole, "method": method}, edit))
    return found


def _class_of(text: str, number: int) -> str:
    for node in source.around(text, number):
        if isinstance(node, ast.ClassDef):
            return node.name
    return "The module"
