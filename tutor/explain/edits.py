"""Changes of whole lines, made from the user's own source through its syntax tree.

An edit's `new` holds lines joined by newlines, without a last newline; empty text deletes.
Each function answers None where the source does not have the form it knows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from tutor.explain import source
from tutor.explain.finding import Edit

_SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_BINARY = {"add_": "+", "sub_": "-", "mul_": "*", "div_": "/"}
_NO_TWIN = {
    "requires_grad_",
    "detach_",
    "retain_grad",
    "share_memory_",
    "copy_",
    "set_",
    "resize_",
    "normal_",
    "uniform_",
    "random_",
    "bernoulli_",
    "exponential_",
    "data_",
}


def apply(text: str, edits: Iterable[Edit], file: str | None = None) -> str:
    """The text after these edits (of one file), which must not overlap."""
    rows = text.split("\n")
    chosen = [edit for edit in edits if file is None or edit.file == file]
    for edit in sorted(chosen, key=lambda e: (e.line, e.end_line), reverse=True):
        rows[edit.line - 1 : edit.end_line] = edit.new.split("\n") if edit.new else []
    return "\n".join(rows)


def replaced(file: str, number: int, new: str) -> Edit:
    """One line written anew."""
    return Edit(file, number, number, new)


def insert_before(text: str, file: str, number: int, code: str) -> Edit | None:
    """Put a statement before the one that covers a line, with its indentation."""
    node = source.statement(text, number)
    if node is None or not _starts_line(text, node):
        return None
    return Edit(file, node.lineno, node.lineno - 1, source.indent(text, node.lineno) + code)


def insert_after(text: str, file: str, number: int, code: str) -> Edit | None:
    """Put a statement after the simple one that covers a line."""
    node = source.simple_statement(text, number)
    if node is None or isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return None
    last = node.end_lineno or node.lineno
    return Edit(file, last + 1, last, source.indent(text, node.lineno) + code)


def delete(text: str, file: str, number: int) -> Edit | None:
    """Take a simple statement out, where others stay in its block."""
    node = source.simple_statement(text, number)
    if node is None or len(block_of(text, node)) < 2:
        return None
    return Edit(file, node.lineno, node.end_lineno or node.lineno, "")


def move_after(text: str, file: str, number: int, target: int) -> Edit | None:
    """Move a simple statement behind a later one of the same block."""
    node, end = source.simple_statement(text, number), source.simple_statement(text, target)
    if node is None or end is None:
        return None
    block = block_of(text, node)
    if node not in block or end not in block or block.index(node) >= block.index(end):
        return None
    rows = source.lines(text)
    first, last = node.lineno, node.end_lineno or node.lineno
    stop = end.end_lineno or end.lineno
    moved = [*rows[last:stop], *rows[first - 1 : last]]
    return Edit(file, first, stop, "\n".join(moved))


def move_block_after(text: str, file: str, number: int, target: int) -> Edit | None:
    """Move the whole statement around a line (a `with`, a loop) behind that of a later line."""
    for node in source.around(text, number):
        block = block_of(text, node)
        for end in source.around(text, target):
            if end not in block or node not in block or node is end:
                continue
            if block.index(node) > block.index(end) or isinstance(node, ast.FunctionDef):
                return None
            if not (_starts_line(text, node) and _starts_line(text, end)):
                return None
            rows = source.lines(text)
            first, last = node.lineno, node.end_lineno or node.lineno
            stop = end.end_lineno or end.lineno
            return Edit(file, first, stop, "\n".join([*rows[last:stop], *rows[first - 1 : last]]))
    return None


def move_before(text: str, file: str, number: int, target: int) -> Edit | None:
    """Move a simple statement before an earlier one of the same block."""
    node, start = source.simple_statement(text, number), source.simple_statement(text, target)
    if node is None or start is None:
        return None
    block = block_of(text, node)
    if node not in block or start not in block or block.index(node) <= block.index(start):
        return None
    rows = source.lines(text)
    first, last = node.lineno, node.end_lineno or node.lineno
    moved = [*rows[first - 1 : last], *rows[start.lineno - 1 : first - 1]]
    return Edit(file, start.lineno, last, "\n".join(moved))


def add_keyword(
    text: str, file: str, number: int, func: str, keyword: str, value: str
) -> Edit | None:
    """Give a call on this line (`func` is the last part of its name) one more argument."""
    call = _call_on(text, number, func)
    if call is None or any(k.arg == keyword for k in call.keywords):
        return None
    end_line, end = call.end_lineno or call.lineno, call.end_col_offset or 0
    row = source.line(text, end_line).encode()
    before = row[: end - 1].rstrip()
    comma = "" if before.endswith((b"(", b",")) else ", "
    if before.endswith(b","):
        comma = " "
    new = before + f"{comma}{keyword}={value}".encode() + row[end - 1 :]
    return Edit(file, end_line, end_line, new.decode())


def set_keyword(
    text: str, file: str, number: int, func: str, keyword: str, value: str
) -> Edit | None:
    """Change an argument that a call on this line already has."""
    call = _call_on(text, number, func)
    for given in call.keywords if call is not None else ():
        if given.arg == keyword:
            return splice(text, file, given.value, value)
    return None


def drop_keyword(text: str, file: str, number: int, keyword: str, func: str = "") -> Edit | None:
    """Take `keyword=…` out of the call on this line that has it."""
    node = source.statement(text, number)
    for call in source.calls(node) if node is not None else ():
        if func and source.called(call) != func:
            continue
        for given in call.keywords:
            if given.arg == keyword and given.lineno == given.end_lineno:
                row = source.line(text, given.lineno).encode()
                head, tail = row[: given.col_offset].rstrip(), row[given.end_col_offset or 0 :]
                if head.endswith(b","):
                    head = head[:-1]
                elif tail.lstrip().startswith(b","):
                    tail = tail.lstrip()[1:].lstrip()
                return Edit(file, given.lineno, given.lineno, (head + tail).decode())
    return None


def splice(text: str, file: str, node: ast.expr | ast.stmt, new: str) -> Edit:
    """Replace a piece of syntax by text: the lines that it covers, rewritten."""
    first, last = node.lineno, node.end_lineno or node.lineno
    head = source.line(text, first).encode()[: node.col_offset].decode()
    tail = source.line(text, last).encode()[node.end_col_offset or 0 :].decode()
    return Edit(file, first, last, head + new + tail)


def rewrite_calls(
    text: str, file: str, number: int, change: Callable[[ast.Call], str | None]
) -> Edit | None:
    """Replace the first call on this line for which `change` has a text."""
    node = source.statement(text, number)
    for call in source.calls(node) if node is not None else ():
        if call.lineno <= number <= (call.end_lineno or call.lineno):
            new = change(call)
            if new is not None:
                return splice(text, file, call, new)
    return None


def drop_method(text: str, file: str, number: int, name: str) -> Edit | None:
    """Take `.name()` without arguments out of the statement on this line."""
    node = source.statement(text, number)
    for call in source.calls(node) if node is not None else ():
        if (
            source.called(call) == name
            and isinstance(call.func, ast.Attribute)
            and not call.args
            and call.lineno <= number <= (call.end_lineno or call.lineno)
        ):
            return splice(text, file, call, segment(text, call.func.value))
    return None


def drop_attribute(text: str, file: str, number: int, name: str) -> Edit | None:
    """Take `.name` out of the statement on this line."""
    node = source.statement(text, number)
    for child in ast.walk(node) if node is not None else ():
        if isinstance(child, ast.Attribute) and child.attr == name and child.lineno == number:
            return splice(text, file, child, segment(text, child.value))
    return None


def insert_method(text: str, file: str, number: int, before: str, call: str) -> Edit | None:
    """Put `.call` before the call of the method `before` on this line."""

    def change(found: ast.Call) -> str | None:
        if not isinstance(found.func, ast.Attribute) or found.func.attr != before:
            return None
        rest = segment(text, found)[len(segment(text, found.func)) :]
        return f"{segment(text, found.func.value)}.{call}.{before}{rest}"

    return rewrite_calls(text, file, number, change)


def rename_method(text: str, file: str, number: int, old: str, new: str) -> Edit | None:
    """Call another method on this line: `.sample()` → `.rsample()`."""

    def change(found: ast.Call) -> str | None:
        if not isinstance(found.func, ast.Attribute) or found.func.attr != old:
            return None
        rest = segment(text, found)[len(segment(text, found.func)) :]
        return f"{segment(text, found.func.value)}.{new}{rest}"

    return rewrite_calls(text, file, number, change)


def rename_call(text: str, file: str, number: int, old: str, new: str) -> Edit | None:
    """Write another function's name on this line: `inference_mode` → `no_grad`."""
    row = source.line(text, number)
    changed = re.sub(rf"\b{re.escape(old)}\b(\(\))?", f"{new}()", row, count=1)
    return Edit(file, number, number, changed) if changed != row else None


def segment(text: str, node: ast.AST) -> str:
    """The text of a piece of syntax."""
    return ast.get_source_segment(text, node) or ast.unparse(node)


def out_of_place(text: str, file: str, number: int) -> Edit | None:
    """The same statement without a write: `b *= c` → `b = b * c`, `y.add_(1)` → `y = y + 1`."""
    node = source.simple_statement(text, number)
    if isinstance(node, ast.AugAssign):
        return splice(text, file, node, _augmented(text, node))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        new = _method_chain(text, node.value)
        if new is not None:
            return splice(text, file, node, new)
    if node is None:
        node = source.statement(text, number)
    if node is None or isinstance(node, ast.Expr):
        return None
    for call in source.calls(node):
        name = source.called(call)
        if not name.endswith("_") or name.endswith("__") or name in _NO_TWIN:
            continue
        if isinstance(call.func, ast.Attribute) and call.lineno == call.end_lineno:
            value = segment(text, call.func.value)
            rest = segment(text, call)[len(segment(text, call.func)) :]
            return splice(text, file, call, f"{value}.{name[:-1]}{rest}")
    return None


def read_clone(text: str, file: str, number: int, name: str) -> Edit | None:
    """Let a statement use `name.clone()` where it reads a name exactly once."""
    node = source.simple_statement(text, number)
    if node is None:
        return None
    reads = [
        child
        for child in ast.walk(node)
        if isinstance(child, ast.Name | ast.Attribute)
        and isinstance(child.ctx, ast.Load)
        and segment(text, child) == name
    ]
    return splice(text, file, reads[0], f"{name}.clone()") if len(reads) == 1 else None


def clone_first(text: str, file: str, number: int) -> Edit | None:
    """Give the written name a copy of its own, on a new line before the write."""
    node = source.simple_statement(text, number)
    target: ast.expr | None = None
    if isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0] if isinstance(node.targets[0], ast.Subscript) else None
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        target = _receiver(node.value)
    while isinstance(target, ast.Subscript):
        target = target.value
    if node is None or not isinstance(target, ast.Name | ast.Attribute) or not _plain(target):
        return None
    if isinstance(target, ast.Attribute) and target.attr in ("data", "grad"):
        return None
    name = segment(text, target)
    return insert_before(text, file, number, f"{name} = {name}.clone()")


def under_no_grad(text: str, file: str, number: int) -> Edit | None:
    """Wrap a simple statement, and the equal writes right after it, in `torch.no_grad()`."""
    node = source.simple_statement(text, number)
    if node is None:
        return None
    first, last = node.lineno, node.end_lineno or node.lineno
    for other in block_of(text, node):
        if other.lineno != last + 1 or not isinstance(other, type(node)):
            continue
        if isinstance(other, ast.AugAssign) or (
            isinstance(other, ast.Expr)
            and isinstance(other.value, ast.Call)
            and source.called(other.value).endswith("_")
        ):
            last = other.end_lineno or other.lineno
    space = source.indent(text, first)
    body = [("    " + row) if row.strip() else row for row in source.lines(text)[first - 1 : last]]
    name = "torch.no_grad()" if imports_torch(text) else "__import__('torch').no_grad()"
    return Edit(file, first, last, "\n".join([f"{space}with {name}:", *body]))


def imports_torch(text: str) -> bool:
    """Whether a source says `import torch`, so that the name `torch` is there."""
    module = source.tree(text)
    return module is None or any(
        isinstance(node, ast.Import) and any(a.name == "torch" and not a.asname for a in node.names)
        for node in module.body
    )


def _augmented(text: str, node: ast.AugAssign) -> str:
    target, value = segment(text, node.target), segment(text, node.value)
    plain = f"{target} {_SYMBOLS.get(type(node.op), '+')} {value}"
    wanted = ast.BinOp(_loaded(node.target), node.op, node.value)
    try:
        same = ast.dump(ast.parse(plain, mode="eval").body) == ast.dump(wanted)
    except SyntaxError:
        same = False
    if not same:
        plain = f"{target} {_SYMBOLS.get(type(node.op), '+')} ({value})"
    return f"{target} = {plain}"


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _method_chain(text: str, call: ast.Call) -> str | None:
    """`x.sub_(m).div_(s)` as `x = x.sub(m).div(s)`."""
    names: list[tuple[str, str]] = []
    current: ast.expr = call
    while isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute):
        rest = segment(text, current)[len(segment(text, current.func)) :]
        names.append((current.func.attr, rest))
        current = current.func.value
    if not isinstance(current, ast.Name | ast.Attribute | ast.Subscript) or not names:
        return None
    if not any(n.endswith("_") and not n.endswith("__") for n, _ in names):
        return None
    if any(n in _NO_TWIN or n.endswith("__") for n, _ in names):
        return None
    first = max(i for i, (n, _) in enumerate(names) if n.endswith("_"))
    if first != len(names) - 1:
        return None  # `x.diagonal().add_(1)` writes into a part of x: no new x comes of it
    target = segment(text, current)
    if len(names) == 1:
        name, rest = names[0]
        if name == "zero_":
            return f"{target} = torch.zeros_like({target})"
        if name == "fill_":
            return f"{target} = torch.full_like({target}, {rest[1:-1]})"
        if name in _BINARY and len(call.args) == 1 and not call.keywords:
            value = segment(text, call.args[0])
            if not isinstance(call.args[0], ast.Name | ast.Constant | ast.Call | ast.Attribute):
                value = f"({value})"
            return f"{target} = {target} {_BINARY[name]} {value}"
    chain = "".join(f".{n.removesuffix('_')}{rest}" for n, rest in reversed(names))
    return f"{target} = {target}{chain}"


def _receiver(call: ast.Call) -> ast.expr | None:
    current: ast.expr = call
    while isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute):
        if current.func.attr.endswith("_") and not isinstance(current.func.value, ast.Call):
            return current.func.value
        current = current.func.value
        if isinstance(current, ast.Name):
            return current  # `x.diagonal().add_(1)`
    return None


def _plain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _call_on(text: str, number: int, func: str) -> ast.Call | None:
    for node in source.around(text, number):
        for call in source.calls(node):
            if source.called(call) == func and call.lineno <= number <= (
                call.end_lineno or call.lineno
            ):
                return call
        break
    return None


def _starts_line(text: str, node: ast.stmt) -> bool:
    return not source.line(text, node.lineno).encode()[: node.col_offset].strip()


def block_of(text: str, node: ast.stmt) -> list[ast.stmt]:
    """The statements among which this one stands, [] where it is not found."""
    module = source.tree(text)
    for parent in ast.walk(module) if module is not None else ():
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and node in block:
                return block
    return []
