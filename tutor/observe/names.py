"""Which names a statement gives a new meaning, read from the source of the user's files."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A name that a statement may rebind: `name`, or one attribute of it (`name.attr`)."""

    name: str
    attr: str | None = None
    kept: bool = False
    """Whether the name means the same object as before the statement (`x.set_(y)`)."""

    @property
    def text(self) -> str:
        return f"{self.name}.{self.attr}" if self.attr else self.name


def targets_by_line(text: str) -> dict[int, tuple[Target, ...]]:
    """For each line, what the statement that covers it binds, deletes or appends to.

    A compound statement's header counts for its own line only (`for i in …`, `with … as f`).
    Lines of a source that does not parse have no targets.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    table: dict[int, list[Target]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        found = _targets(node)
        if not found:
            continue
        last = _header_end(node)
        for line in range(node.lineno, last + 1):
            table.setdefault(line, []).extend(found)
    return {line: tuple(dict.fromkeys(found)) for line, found in table.items()}


def _header_end(node: ast.stmt) -> int:
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        first: int = body[0].lineno
        return max(node.lineno, first - (first != node.lineno))
    return node.end_lineno or node.lineno


def _targets(node: ast.stmt) -> list[Target]:
    found: list[Target] = []
    if isinstance(node, ast.Assign):
        for target in node.targets:
            _collect(target, found)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        _collect(node.target, found)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                _collect(item.optional_vars, found)
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            _collect(target, found)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        # `xs.append(y)`, `self.items.extend(…)`: what the receiver holds may have changed.
        function = node.value.func
        if isinstance(function, ast.Attribute):
            touched: list[Target] = []
            _collect(function.value, touched)
            found += [Target(t.name, t.attr, t.attr is None) for t in touched]
    for child in (
        ast.walk(node) if isinstance(node, (ast.Expr, ast.Assign, ast.If, ast.While)) else ()
    ):
        if isinstance(child, ast.NamedExpr):
            _collect(child.target, found)
        elif isinstance(child, ast.stmt) and child is not node:
            break
    return found


def _collect(target: ast.expr, found: list[Target]) -> None:
    if isinstance(target, ast.Name):
        found.append(Target(target.id))
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            _collect(item, found)
    elif isinstance(target, (ast.Starred, ast.Subscript)):
        _collect(target.value, found)
    elif isinstance(target, ast.Attribute):
        if isinstance(target.value, ast.Name):
            found.append(Target(target.value.id, target.attr))
        else:
            _collect(target.value, found)
