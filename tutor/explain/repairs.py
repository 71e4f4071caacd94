"""Edits for what goes wrong in silence: a detach that is missing, a shape, a copy of numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tutor.explain import edits, source
from tutor.explain.finding import Edit


def difference_detached(text: str, file: str, number: int) -> Edit | None:
    """`x + (q - x)` → `x + (q - x).detach()`, and `q - x + x` → `(q - x).detach() + x`."""
    for node in _on_line(text, number):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
            continue
        for plain, inner in ((node.left, node.right), (node.right, node.left)):
            if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Sub):
                continue
            if ast.dump(inner.right) == ast.dump(plain):
                kept = f"({edits.segment(text, inner)}).detach()"
                parts = [edits.segment(text, plain), kept]
                new = " + ".join(parts if inner is node.right else reversed(parts))
                return edits.splice(text, file, node, new)
    return None


def divisor_detached(text: str, file: str, number: int) -> Edit | None:
    """`loss / loss` → `loss / loss.detach()`."""
    for node in _on_line(text, number):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and isinstance(node.right, ast.Name | ast.Attribute)
            and ast.dump(node.left) == ast.dump(node.right)
        ):
            name = edits.segment(text, node.right)
            return edits.splice(text, file, node, f"{name} / {name}.detach()")
    return None


def result_detached(text: str, file: str, number: int, *, any_target: bool = False) -> Edit | None:
    """`target = …` → `target = (…).detach()`; the same for a returned value.

    A target that is no name (`self.kept = …`) counts only where it is asked for.
    """
    node = source.simple_statement(text, number)
    if not isinstance(node, ast.Assign | ast.Return) or node.value is None:
        return None
    if isinstance(node, ast.Assign):
        fits = (ast.Name, ast.Attribute, ast.Subscript) if any_target else (ast.Name,)
        if not isinstance(node.targets[0], fits):
            return None
    value = edits.segment(text, node.value)
    simple = isinstance(node.value, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    new = f"{value}.detach()" if simple else f"({value}).detach()"
    return edits.splice(text, file, node.value, new)


def stood_up(text: str, file: str, number: int, place: int) -> Edit | None:
    """Give one of the two operands, or arguments, on a line a last dimension of size 1."""
    for node in _on_line(text, number):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Mult):
            operand: ast.expr = (node.left, node.right)[place]
        elif isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
            operand = node.args[place]
        else:
            continue
        if isinstance(operand, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            value = edits.segment(text, operand)
            return edits.splice(text, file, operand, f"{value}.unsqueeze(-1)")
        return None
    return None


def stacked(text: str, file: str, number: int) -> Edit | None:
    """`torch.tensor([a, b], …)` of tensors → `torch.stack([a, b])`."""
    for node in _on_line(text, number):
        if not isinstance(node, ast.Call) or source.called(node) not in ("tensor", "as_tensor"):
            continue
        if len(node.args) != 1 or not isinstance(node.args[0], ast.List | ast.Tuple):
            continue
        names = [part for part in node.args[0].elts if isinstance(part, ast.Name | ast.Attribute)]
        if len(names) != len(node.args[0].elts) or not isinstance(node.func, ast.Attribute):
            return None
        owner = edits.segment(text, node.func.value)
        return edits.splice(text, file, node, f"{owner}.stack({edits.segment(text, node.args[0])})")
    return None


def _on_line(text: str, number: int) -> Iterator[ast.expr]:
    """The expressions that begin on a line, the outer ones first."""
    node = source.statement(text, number)
    for child in ast.walk(node) if node is not None else ():
        if isinstance(child, ast.expr) and child.lineno == number:
            yield child
