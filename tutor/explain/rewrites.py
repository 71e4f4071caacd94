"""Edits that change how a stretch of code runs: blocks taken away, values kept as tensors.

As in `edits`, each function answers None where the source does not have the form it knows.
"""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.finding import Edit

_NUMBERS = frozenset(["item", "tolist", "numpy"])


def without_block(text: str, file: str, number: int) -> Edit | None:
    """Take a `with` of one item, or a decorator, off: its statements stay."""
    for node in source.around(text, number):
        if isinstance(node, ast.With) and node.lineno == number and len(node.items) == 1:
            first, last = node.body[0].lineno, node.end_lineno or node.lineno
            if first == node.lineno:
                return None
            outer, inner = source.indent(text, node.lineno), source.indent(text, first)
            rows = source.lines(text)[first - 1 : last]
            moved = [outer + row[len(inner) :] if row.startswith(inner) else row for row in rows]
            return Edit(file, node.lineno, last, "\n".join(moved))
    module = source.tree(text)
    for child in ast.walk(module) if module is not None else ():
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in child.decorator_list:
            if decorator.lineno == number == decorator.end_lineno:
                return Edit(file, number, number, "")
    return None


def scoped_no_grad(text: str, file: str, number: int) -> Edit | None:
    """`torch.set_grad_enabled(False)` as `with torch.no_grad():` around the rest of its block."""
    node = source.simple_statement(text, number)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    if source.called(node.value) not in ("set_grad_enabled", "_set_grad_enabled"):
        return None
    block = edits.block_of(text, node)
    after = block[block.index(node) + 1 :] if node in block else []
    if not after:
        return None
    last = after[-1].end_lineno or after[-1].lineno
    space = source.indent(text, node.lineno)
    rows = source.lines(text)[node.end_lineno or node.lineno : last]
    body = ["    " + row if row.strip() else row for row in rows]
    return Edit(file, node.lineno, last, "\n".join([f"{space}with torch.no_grad():", *body]))


def trainable(text: str, file: str, number: int) -> Edit | None:
    """`p.requires_grad = False`, or `p.requires_grad_(False)`, with True."""
    node = source.statement(text, number)
    for child in ast.walk(node) if node is not None else ():
        value: ast.expr | None = None
        if isinstance(child, ast.Call) and source.called(child) == "requires_grad_":
            value = child.args[0] if child.args else None
            value = next((k.value for k in child.keywords if k.arg == "requires_grad"), value)
        elif isinstance(child, ast.Assign) and any(
            isinstance(t, ast.Attribute) and t.attr == "requires_grad" for t in child.targets
        ):
            value = child.value
        if isinstance(value, ast.Constant) and value.value is False and value.lineno == number:
            return edits.splice(text, file, value, "True")
    return None


def as_tensor(text: str, file: str, number: int) -> Edit | None:
    """`x.item()`, or `float(x)`, as `x`."""
    node = source.statement(text, number)
    for call in source.calls(node) if node is not None else ():
        if not call.lineno <= number <= (call.end_lineno or call.lineno):
            continue
        if source.called(call) in _NUMBERS and isinstance(call.func, ast.Attribute):
            return edits.splice(text, file, call, edits.segment(text, call.func.value))
        if (
            isinstance(call.func, ast.Name)
            and call.func.id in ("float", "int", "bool")
            and len(call.args) == 1
        ):
            inner = call.args[0]
            if isinstance(inner, ast.Call) and source.called(inner) in _NUMBERS:
                inner = inner.func.value if isinstance(inner.func, ast.Attribute) else inner
            value = edits.segment(text, inner)
            simple = isinstance(inner, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
            return edits.splice(text, file, call, value if simple else f"({value})")
    return None


def of_tensors(text: str, file: str, number: int) -> Edit | None:
    """`torch.tensor(values)` as `torch.stack(values)` for a list; as `values` for one value."""
    node = source.statement(text, number)
    for call in source.calls(node) if node is not None else ():
        if source.called(call) not in ("tensor", "as_tensor", "Tensor", "FloatTensor"):
            continue
        if not call.args or not isinstance(call.func, ast.Attribute):
            continue
        value = call.args[0]
        owner = edits.segment(text, call.func.value)
        given = edits.segment(text, value)
        if isinstance(value, ast.BinOp | ast.Subscript | ast.Attribute):
            return edits.splice(text, file, call, f"({given})")
        if isinstance(value, ast.GeneratorExp):
            given = f"list({given})"
        return edits.splice(text, file, call, f"{owner}.stack({given})")
    return None


def cloned(text: str, file: str, number: int, functions: frozenset[str]) -> Edit | None:
    """`x.expand(…)` as `x.expand(…).clone()`, for the last call of one of these names."""
    node = source.statement(text, number)
    found = [
        call
        for call in (source.calls(node) if node is not None else ())
        if source.called(call) in functions and call.lineno <= number <= (call.end_lineno or 0)
    ]
    if not found:
        return None
    return edits.splice(text, file, found[0], f"{edits.segment(text, found[0])}.clone()")


def clone_name(text: str, file: str, number: int, name: str) -> Edit | None:
    """Give a name a copy of its own on a new line before the statement of this one."""
    if not name.replace(".", "").replace("_", "").isalnum():
        return None
    return edits.insert_before(text, file, number, f"{name} = {name}.clone()")


def detached_name(text: str, file: str, number: int, name: str) -> Edit | None:
    """`name.detach()` for the one reading of a name in this statement."""
    node = source.simple_statement(text, number) or source.statement(text, number)
    reads = [
        child
        for child in (ast.walk(node) if node is not None else ())
        if isinstance(child, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(child.ctx, ast.Load)
        and edits.segment(text, child) == name
    ]
    if not reads:
        return None
    return edits.splice(text, file, reads[0], f"{name}.detach()")


def chosen_by_where(text: str, file: str, number: int) -> Edit | None:
    """A branch on a value as one `torch.where(c, a, b)`.

    Known are `if c: return a` … `return b`, two assignments of one name, one assignment without
    an `else`, and `a if c else b`.
    """
    where = "torch.where" if edits.imports_torch(text) else "__import__('torch').where"
    for node in source.around(text, number):
        if isinstance(node, ast.If) and node.lineno == number:
            return _where_statement(text, file, node, where)
        for child in ast.walk(node):
            if isinstance(child, ast.IfExp) and child.lineno <= number:
                parts = (child.test, child.body, child.orelse)
                told = ", ".join(edits.segment(text, part) for part in parts)
                return edits.splice(text, file, child, f"{where}({told})")
        break
    return None


def _where_statement(text: str, file: str, node: ast.If, where: str) -> Edit | None:
    block = edits.block_of(text, node)
    index = block.index(node) if node in block else 0
    other = node.orelse if node.orelse else block[index + 1 : index + 2]
    if len(node.body) != 1:
        return None
    one, two = node.body[0], other[0] if len(other) == 1 else None
    space, last = source.indent(text, node.lineno), node.end_lineno or node.lineno
    if isinstance(one, ast.Return) and isinstance(two, ast.Return):
        head, other_value = "return ", two.value
        last = max(last, two.end_lineno or two.lineno)
    elif isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
        head, other_value = f"{one.targets[0].id} = ", one.targets[0]
        if node.orelse:
            same = isinstance(two, ast.Assign) and ast.dump(two.targets[0]) == ast.dump(
                one.targets[0]
            )
            if not same or not isinstance(two, ast.Assign):
                return None
            other_value = two.value
    else:
        return None
    if one.value is None or other_value is None:
        return None
    parts = [edits.segment(text, part) for part in (node.test, one.value, other_value)]
    return Edit(file, node.lineno, last, f"{space}{head}{where}({', '.join(parts)})")


def plain_call(text: str, file: str, number: int, wrapper: str) -> Edit | None:
    """`checkpoint(f, x, option=…)` as `f(x)`."""

    def change(call: ast.Call) -> str | None:
        if source.called(call) != wrapper or not call.args:
            return None
        function, *rest = (edits.segment(text, one) for one in call.args)
        if isinstance(call.args[0], ast.Lambda):
            function = f"({function})"
        return f"{function}({', '.join(rest)})"

    return edits.rewrite_calls(text, file, number, change)


def replaced_name(text: str, file: str, number: int, name: str, new: str) -> Edit | None:
    """The first reading of a name in the statement of a line, replaced."""
    node = source.statement(text, number)
    for child in ast.walk(node) if node is not None else ():
        if (
            isinstance(child, ast.Name | ast.Attribute)
            and isinstance(child.ctx, ast.Load)
            and edits.segment(text, child) == name
        ):
            return edits.splice(text, file, child, new)
    return None


def closure_around(text: str, file: str, number: int) -> Edit | None:
    """`opt.step()` as `opt.step(closure)`, with the lines that lead to the backward inside."""
    step = source.simple_statement(text, number)
    if not isinstance(step, ast.Expr) or not isinstance(step.value, ast.Call):
        return None
    if step.value.args or step.value.keywords:
        return None
    block = edits.block_of(text, step)
    before = block[: block.index(step)] if step in block else []
    index = next((i for i in reversed(range(len(before))) if _backward_of(before[i])), None)
    if index is None:
        return None
    root = _backward_of(before[index])
    inside, needed = [before[index]], {root}
    for node in reversed(before[:index]):
        targets = [t.id for t in getattr(node, "targets", []) if isinstance(t, ast.Name)]
        clears = isinstance(node, ast.Expr) and any(
            source.called(call) == "zero_grad" for call in source.calls(node)
        )
        computes = isinstance(node, ast.Assign) and any(source.calls(node.value))
        if clears or (computes and needed & set(targets)):
            inside.insert(0, node)
            needed |= source.names_read(node)
    space, rows = source.indent(text, step.lineno), source.lines(text)
    first = inside[0].lineno
    kept: list[str] = []
    body: list[str] = []
    for node in before[before.index(inside[0]) :]:
        part = rows[node.lineno - 1 : node.end_lineno]
        if node in inside:
            body += ["    " + row if row.strip() else row for row in part]
        else:
            kept += part
    owner = edits.segment(text, step.value.func)
    new = [*kept, f"{space}def closure():", *body, f"{space}    return {root}"]
    new.append(f"{space}{owner}(closure)")
    return Edit(file, first, step.end_lineno or step.lineno, "\n".join(new))


def _backward_of(node: ast.stmt) -> str:
    """The name whose backward a statement calls, "" where it calls none."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        func = node.value.func
        if isinstance(func, ast.Attribute) and func.attr == "backward":
            return func.value.id if isinstance(func.value, ast.Name) else ""
    return ""


def leaf_again(text: str, file: str, number: int) -> Edit | None:
    """What a line assigns or returns as a leaf of its own: cut off, and asking for gradients.

    An attribute of `self` becomes a Parameter, so that its module knows it.
    """
    node = source.simple_statement(text, number)
    if not isinstance(node, ast.Assign | ast.Return) or node.value is None:
        return None
    value = edits.segment(text, node.value)
    simple = isinstance(node.value, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    inner = f"{value if simple else f'({value})'}.detach()"
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if isinstance(target, ast.Tuple | ast.List):
        return None
    if isinstance(target, ast.Attribute) and edits.segment(text, target.value) == "self":
        owner = "torch.nn" if edits.imports_torch(text) else "nn"
        return edits.splice(text, file, node.value, f"{owner}.Parameter({inner})")
    return edits.splice(text, file, node.value, f"{inner}.requires_grad_()")


def result_with(text: str, file: str, number: int, call: str) -> Edit | None:
    """What a line assigns or returns, with one more call: `value > 0` as `(value > 0).float()`."""
    node = source.simple_statement(text, number)
    if not isinstance(node, ast.Assign | ast.Return) or node.value is None:
        return None
    value = edits.segment(text, node.value)
    simple = isinstance(node.value, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    whole = value if simple else f"({value})"
    return edits.splice(text, file, node.value, f"{whole}.{call}")


def names_detached(text: str, file: str, number: int, names: set[str]) -> Edit | None:
    """Every reading of these names in a statement, detached."""
    node = source.statement(text, number)
    if node is None or hasattr(node, "body"):
        return None
    first, last = node.lineno, node.end_lineno or node.lineno
    spots = [
        child
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load) and child.id in names
    ]
    if not spots:
        return None
    rows = list(source.lines(text)[first - 1 : last])
    for child in sorted(spots, key=lambda one: (one.lineno, one.col_offset), reverse=True):
        row = rows[child.lineno - first].encode()
        end = child.end_col_offset or child.col_offset
        rows[child.lineno - first] = (row[:end] + b".detach()" + row[end:]).decode()
    return Edit(file, first, last, "\n".join(rows))


def returned(text: str, file: str, function: source.Function) -> Edit | None:
    """The last statement of a function, an expression of which nothing comes, returned."""
    last = function.body[-1]
    if not isinstance(last, ast.Expr) or isinstance(last.value, ast.Constant):
        return None
    return edits.splice(text, file, last, f"return {edits.segment(text, last.value)}")


def deepcopied_state(text: str, file: str, number: int) -> Edit | None:
    """`copy.deepcopy(net)` as a copy of its state."""

    def change(call: ast.Call) -> str | None:
        if source.called(call) != "deepcopy" or len(call.args) != 1:
            return None
        if not isinstance(call.args[0], ast.Name | ast.Attribute):
            return None
        given = edits.segment(text, call.args[0])
        return f"{edits.segment(text, call.func)}({given}.state_dict())"

    return edits.rewrite_calls(text, file, number, change)


def new_like(text: str, file: str, number: int, name: str) -> Edit | None:
    """`torch.zeros(3)` as `name.new_zeros(3)`: a tensor of the same kind, batched where it is."""

    def change(call: ast.Call) -> str | None:
        made = source.called(call)
        if made not in ("zeros", "ones", "empty", "full") or not isinstance(
            call.func, ast.Attribute
        ):
            return None
        rest = edits.segment(text, call)[len(edits.segment(text, call.func)) :]
        return f"{name}.new_{made}{rest}"

    return edits.rewrite_calls(text, file, number, change)


def summed_function(text: str, file: str, number: int, transform: str) -> Edit | None:
    """`grad(f)` as the gradient of the sum of what f gives."""

    def change(call: ast.Call) -> str | None:
        if source.called(call) != transform or not call.args:
            return None
        rest = edits.segment(text, call)[len(edits.segment(text, call.func)) :]
        inner = edits.segment(text, call.args[0])
        new = f"lambda *args: ({inner})(*args).sum()"
        return edits.segment(text, call.func) + rest.replace(inner, new, 1)

    return edits.rewrite_calls(text, file, number, change)


def guarded_statement(text: str, file: str, number: int, condition: str) -> Edit | None:
    """A simple statement under `if condition:`."""
    node = source.simple_statement(text, number)
    if node is None:
        return None
    first, last = node.lineno, node.end_lineno or node.lineno
    space = source.indent(text, first)
    rows = ["    " + row for row in source.lines(text)[first - 1 : last]]
    return Edit(file, first, last, "\n".join([f"{space}if {condition}:", *rows]))
