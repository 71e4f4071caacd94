"""The user's own `autograd.Function` classes, and what of them took part in an error."""

from __future__ import annotations

import ast

from tutor.explain import source
from tutor.explain.history import Failure, History
from tutor.trace import Place


def function_classes(history: History) -> dict[str, tuple[str, ast.ClassDef]]:
    """The file and class of each user class whose base is called Function."""
    found: dict[str, tuple[str, ast.ClassDef]] = {}
    for file, text in history.trace.texts.items():
        module = source.tree(text)
        for node in ast.walk(module) if module is not None else ():
            if isinstance(node, ast.ClassDef) and any(_is_function(base) for base in node.bases):
                found[node.name] = (file, node)
    return found


def _is_function(base: ast.expr) -> bool:
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    return name in ("Function", "InplaceFunction", "NestedIOFunction")


def function_of(history: History, node: str) -> ast.ClassDef | None:
    """The user's Function whose backward node has this name."""
    known = function_classes(history).get(node.removesuffix("Backward"))
    return known[1] if known is not None else None


def file_of(history: History, name: str) -> str:
    """The file that defines a Function of the user's, "" where none does."""
    known = function_classes(history).get(name)
    return known[0] if known is not None else ""


def applied(history: History, place: Place) -> str:
    """The Function of the user's that a line applies, "" where it applies none."""
    node = source.statement(history.text(place.file), place.line)
    known = function_classes(history)
    for call in source.calls(node) if node is not None else ():
        if (
            isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.attr == "apply"
            and call.func.value.id in known
        ):
            return call.func.value.id
        if isinstance(call.func, ast.Name):
            name = call.func.id
            if name in known:
                return name
            owner = _alias(history.text(place.file), name)
            if owner in known:
                return owner
    return ""


def _alias(text: str, name: str) -> str:
    """`Owner` where the source says `name = Owner.apply`."""
    module = source.tree(text)
    for node in ast.walk(module) if module is not None else ():
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "apply"
            and isinstance(node.value.value, ast.Name)
            and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        ):
            return node.value.value.id
    return ""


def method_around(history: History, failure: Failure) -> tuple[str, str]:
    """(class, method) of the Function whose code raised the error, ("", "") where none did."""
    known = function_classes(history)
    for place in reversed(failure.site):
        parts = place.function.split(".")
        if len(parts) >= 2 and parts[-2] in known:
            return parts[-2], parts[-1]
    return "", ""
