"""Reading a user's source: lines, statements, loops of `with`, names. Pure functions of text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

_GRAD_OFF = {"no_grad", "inference_mode", "set_grad_enabled"}

EMPTY: ast.stmt = ast.Pass()
"""A statement with nothing in it."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=64)
def tree(text: str) -> ast.Module | None:
    """The syntax tree of a source, None where it does not parse."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=64)
def lines(text: str) -> tuple[str, ...]:
    """The lines of a source, without their ends."""
    return tuple(text.splitlines())


def line(text: str, number: int) -> str:
    """One line (from 1), "" where there is none."""
    all_lines = lines(text)
    return all_lines[number - 1] if 1 <= number <= len(all_lines) else ""


def indent(text: str, number: int) -> str:
    """The white space that a line begins with."""
    found = line(text, number)
    return found[: len(found) - len(found.lstrip())]


@lru_cache(maxsize=64)
def _statements(text: str) -> tuple[ast.stmt, ...]:
    module = tree(text)
    if module is None:
        return ()
    return tuple(node for node in ast.walk(module) if isinstance(node, ast.stmt))


def statement(text: str, number: int) -> ast.stmt | None:
    """The innermost statement that covers a line."""
    best: ast.stmt | None = None
    for node in _statements(text):
        if node.lineno <= number <= (node.end_lineno or node.lineno) and (
            best is None or _span(node) <= _span(best)
        ):
            best = node
    return best


def simple_statement(text: str, number: int) -> ast.stmt | None:
    """The statement of a line if it stands alone on its lines and has no body of its own."""
    node = statement(text, number)
    if node is None or hasattr(node, "body"):
        return None
    first, last = node.lineno, node.end_lineno or node.lineno
    if line(text, first)[: node.col_offset].strip():
        return None  # something stands before it: `if x: b *= 2`
    after = line(text, last).encode()[node.end_col_offset or 0 :].decode(errors="replace").strip()
    if after and not after.startswith("#"):
        return None  # something stands after it: `a = 1; b = 2`
    return node


def expressions_on(text: str, number: int) -> list[ast.Expr]:
    """The statements on a line that are a mere expression, also beside others (`a; b`)."""
    return [
        node
        for node in _statements(text)
        if isinstance(node, ast.Expr) and node.lineno <= number <= (node.end_lineno or node.lineno)
    ]


def around(text: str, number: int) -> Iterator[ast.stmt]:
    """The statements that cover a line, innermost first."""
    covering = [
        node
        for node in _statements(text)
        if node.lineno <= number <= (node.end_lineno or node.lineno)
    ]
    yield from sorted(covering, key=_span)


def function_at(text: str, number: int) -> Function | None:
    """The innermost function whose lines cover this one."""
    for node in around(text, number):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return node
    return None


def grad_off_line(text: str, number: int) -> int | None:
    """The line of the `with` or decorator nearest around a line that turns gradients off.

    None where there is none in the same function, or where one that turns them on is nearer.
    """
    for node in around(text, number):
        if isinstance(node, ast.With) and node.body[0].lineno <= number:
            for item in node.items:
                off = _turns_off(item.context_expr)
                if off is not None:
                    return item.context_expr.lineno if off else None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                off = _turns_off(decorator)
                if off is not None:
                    return decorator.lineno if off else None
            return None
    return None


def _turns_off(expression: ast.expr) -> bool | None:
    """Whether a context or decorator turns gradients off (True) or on (False)."""
    call = expression.func if isinstance(expression, ast.Call) else expression
    name = call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")
    if name == "enable_grad":
        return False
    if name not in _GRAD_OFF:
        return None
    arguments = expression.args if isinstance(expression, ast.Call) else []
    if arguments and isinstance(arguments[0], ast.Constant):
        return bool(arguments[0].value) == (name != "set_grad_enabled")
    return True


def calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls inside a piece of syntax."""
    for child in ast.walk(node):
        if isinstance(child, ast.Call):
            yield child


def called(call: ast.Call) -> str:
    """The last part of the name that is called: `relu` of `nn.functional.relu(x)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def names_read(node: ast.AST) -> set[str]:
    """The names that a piece of syntax reads."""
    return {
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
    }


def attributes(text: str, number: int, attribute: str) -> list[str]:
    """How a line writes an attribute: `self.embed.weight` for `weight`."""
    node = statement(text, number)
    return [
        ast.get_source_segment(text, child) or ast.unparse(child)
        for child in (ast.walk(node) if node is not None else ())
        if isinstance(child, ast.Attribute) and child.attr == attribute
    ]


def returns(function: Function) -> list[ast.Return]:
    """The return statements of a function, without those of functions inside it."""
    found: list[ast.Return] = []
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Return):
            found.append(node)
        elif not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        ):
            pending.extend(ast.iter_child_nodes(node))
    return found


def never_returns(function: Function) -> bool:
    """Whether a function ends by raising, or has no body to speak of."""
    last = function.body[-1]
    if isinstance(last, ast.Raise):
        return True
    return isinstance(last, ast.Pass) or (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    )


def names_bound(module: ast.AST) -> set[str]:
    """The names that a source binds anywhere: targets, arguments, functions, classes, imports."""
    found: set[str] = set()
    for child in ast.walk(module):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            found.add(child.id)
        elif isinstance(child, ast.arg):
            found.add(child.arg)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(child.name)
        elif isinstance(child, ast.alias):
            found.add((child.asname or child.name).split(".")[0])
    return found


def names_written(text: str, number: int) -> set[str]:
    """The names whose objects the statement on a line writes into: `a` of `a[0] = 1`, `a += 1`."""
    node = statement(text, number)
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [t for t in node.targets if isinstance(t, ast.Subscript)]
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        targets = [*node.value.args, *(k.value for k in node.value.keywords if k.arg == "out")]
        if isinstance(node.value.func, ast.Attribute):
            targets.append(node.value.func.value)
    found: set[str] = set()
    for target in targets:
        while isinstance(target, ast.Subscript | ast.Attribute):
            target = target.value
        if isinstance(target, ast.Name):
            found.add(target.id)
    return found


def class_named(text: str, name: str) -> ast.ClassDef | None:
    """The class of this name in a source."""
    for node in _statements(text):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    return None


def method(cls: ast.ClassDef, name: str) -> Function | None:
    """A method of a class by name."""
    for node in cls.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node
    return None


def lines_calling(text: str, name: str, keyword: str = "") -> list[int]:
    """Lines of calls of a name, with a keyword argument that is true where one is asked for."""
    module = tree(text)
    if module is None:
        return []
    found = {
        call.lineno
        for call in calls(module)
        if called(call) == name and (not keyword or _is_true(call, keyword))
    }
    return sorted(found)


def _is_true(call: ast.Call, keyword: str) -> bool:
    return any(
        k.arg == keyword and isinstance(k.value, ast.Constant) and bool(k.value.value)
        for k in call.keywords
    )


def _span(node: ast.stmt) -> tuple[int, int]:
    return ((node.end_lineno or node.lineno) - node.lineno, -node.col_offset)
