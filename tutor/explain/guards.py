"""Edits that keep the input of an op away from the point where its derivative is not finite."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, source
from tutor.explain.finding import Edit

_POSITIVE = frozenset(["sqrt", "rsqrt", "log", "log2", "log10", "reciprocal", "pow"])
_WITHIN_ONE = frozenset(["acos", "asin", "arccos", "arcsin", "atanh", "arctanh", "erfinv"])
_SHIFTED = frozenset(["norm", "linalg_vector_norm", "vector_norm", "cdist"])
_INFINITE = re.compile(
    r"""float\(\s*["']-inf(?:inity)?["']\s*\)|-\s*float\(\s*["']inf["']\s*\)"""
    r"""|-\s*(?:torch|math|np|numpy)\.inf\b"""
)


def guarded(text: str, file: str, number: int, func: str) -> Edit | None:
    """The call, or the operator, on a line with its input kept off the singular point."""
    name = func.strip("_")
    node = source.statement(text, number)
    for child in ast.walk(node) if node is not None else ():
        if not isinstance(child, ast.expr) or child.lineno != number:
            continue
        if isinstance(child, ast.Call):
            edit = _call(text, file, child, name)
        elif isinstance(child, ast.BinOp):
            edit = _operator(text, file, child, name)
        else:
            continue
        if edit is not None:
            return edit
    return None


def _call(text: str, file: str, call: ast.Call, name: str) -> Edit | None:
    called = source.called(call)
    same = called == name or (name in _SHIFTED and called in _SHIFTED)
    if not same or not isinstance(call.func, ast.Attribute):
        return None
    owner = call.func.value
    method = not (isinstance(owner, ast.Name) and owner.id in ("torch", "F", "th", "np"))
    method = method and not (isinstance(owner, ast.Attribute) and owner.attr in _MODULES)
    given = owner if method else (call.args[0] if call.args else None)
    if given is None:
        return None
    new = _kept(edits.segment(text, given), called)
    return edits.splice(text, file, given, new) if new else None


_MODULES = ("functional", "linalg", "special", "nn")


def _kept(value: str, name: str) -> str:
    value = value if value.isidentifier() else f"({value})"
    if name in _POSITIVE:
        return f"{value}.clamp_min(1e-12)"
    if name in _WITHIN_ONE:
        return f"{value}.clamp(-1 + 1e-6, 1 - 1e-6)"
    if name in _SHIFTED:
        return f"({value} + 1e-12)"
    return ""


def _operator(text: str, file: str, node: ast.BinOp, name: str) -> Edit | None:
    if isinstance(node.op, ast.Div) and name in ("div", "truediv", "__truediv__", "reciprocal"):
        value = edits.segment(text, node.right)
        return edits.splice(text, file, node.right, f"({value} + 1e-12)")
    if isinstance(node.op, ast.Pow) and name in ("pow", "sqrt"):
        value = edits.segment(text, node.left)
        inner = value if value.isidentifier() or value.startswith("(") else f"({value})"
        return edits.splice(text, file, node.left, f"{inner}.clamp_min(1e-12)")
    return None


def finite_fill(text: str, file: str, number: int) -> Edit | None:
    """A large negative number where a line fills in minus infinity."""
    row = source.line(text, number)
    new = _INFINITE.sub("-1e9", row, count=1)
    return edits.replaced(file, number, new) if new != row else None
