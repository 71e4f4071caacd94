"""A backward of a value that is no scalar, without a gradient to start from, or a wrong one."""

from __future__ import annotations

import ast
from math import prod

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.trace import NONE, Value

KIND = "nonscalar-backward"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused pass whose root has several elements, or whose seed has another shape."""
    run = failure.run
    if run is None or run.order or not run.event.roots:
        return None
    seeds = run.event.seeds
    call = history.place("cause", failure.site, failure.moment, "")
    for index, (uid, node) in enumerate(run.event.roots):
        root = history.meta(uid, run.moment)
        if root is None or (node == NONE and not root.requires_grad):
            continue
        seed = seeds[index] if index < len(seeds) else None
        name = history.name(uid, run.moment)
        facts: dict[str, Fact] = {"root": name, "shape": shape(root.shape)}
        maker = history.nodes.get(root.node)
        made = None
        if maker is not None:
            made = history.place("witness", maker.site, maker.moment, note("makes", tensor=name))
        if seed is None and len(seeds) <= index and prod(root.shape) != 1:
            here = failure.site[-1]
            edit = _reduced(history, here.file, here.line)
            causes: list[FindingPlace | None] = []
            if maker is not None:
                words = note("not-reduced", shape=shape(root.shape))
                causes.append(history.place("cause", maker.site, maker.moment, words))
            return finding(
                KIND, "error", "no-gradient", facts, cause=[*causes, call], witness=[made],
                surfaced=[surfaced(history, note("needs-scalar"))],
                fixes=[
                    fix("reduce", {"line": here.line}, edit),
                    _of_sum(history, here.file, here.line),
                ],
            )  # fmt: skip
        if seed is not None and tuple(seed.shape) != tuple(root.shape):
            facts["given"] = shape(seed.shape)
            return finding(
                KIND, "error", "wrong-shape", facts, cause=[call], witness=[made],
                surfaced=[surfaced(history)],
                fixes=_fitting(history, failure, seed, root.shape),
            )  # fmt: skip
    if seeds and len(seeds) != len(run.event.roots):
        facts = {"roots": len(run.event.roots), "seeds": len(seeds)}
        return finding(
            KIND, "error", "wrong-count", facts, cause=[call], surfaced=[surfaced(history)]
        )
    return None


def _of_sum(history: History, file: str, line: int) -> Fix | None:
    """`autograd.grad(y, x)` started from ones: the gradient of the sum of y."""
    text = history.text(file)
    for call in source.calls(source.statement(text, line) or source.EMPTY):
        if source.called(call) != "grad" or len(call.args) not in (1, 2):
            continue
        if isinstance(call.args[0], ast.Name | ast.Attribute) and edits.imports_torch(text):
            root = edits.segment(text, call.args[0])
            edit = edits.add_keyword(
                text, file, line, "grad", "grad_outputs", f"torch.ones_like({root})"
            )
            return fix("fit-ones", {"line": line, "root": root}, edit)
    return None


def _fitting(
    history: History, failure: Failure, seed: Value, shape: tuple[int, ...]
) -> list[Fix | None]:
    """A gradient of the root's own shape: the same numbers where they are as many, else ones."""
    here = failure.site[-1]
    text = history.text(here.file)
    for call in source.calls(source.statement(text, here.line) or source.EMPTY):
        name, given = source.called(call), {k.arg: k.value for k in call.keywords}
        root: ast.expr | None = None
        value: ast.expr | None = None
        if name == "backward" and isinstance(call.func, ast.Attribute):
            method = bool(given.get("gradient")) or (len(call.args) == 1 and not given)
            root = call.func.value if method else (call.args[0] if call.args else None)
            value = given.get("gradient") or given.get("grad_tensors")
            value = value or (call.args[-1] if call.args and root is not call.args[-1] else None)
        elif name == "grad" and call.args:
            root = call.args[0]
            value = given.get("grad_outputs") or (call.args[2] if len(call.args) > 2 else None)
        if not isinstance(root, ast.Name | ast.Attribute) or value is None:
            continue
        if isinstance(value, ast.List | ast.Tuple):
            continue
        whole, old = edits.segment(text, root), edits.segment(text, value)
        simple = isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        old = old if simple else f"({old})"
        same = prod(seed.shape) == prod(shape)
        facts: dict[str, Fact] = {"line": here.line, "root": whole}
        new = f"{old}.reshape({whole}.shape)" if same else f"torch.ones_like({whole})"
        return [
            fix(
                "fit-shape" if same else "fit-ones",
                facts,
                edits.splice(text, here.file, value, new),
            )
        ]
    return []


def shape(sizes: tuple[int, ...]) -> str:
    """`(2, 3)`, `(3,)` or `()`, as torch prints it."""
    return "(" + ", ".join(str(n) for n in sizes) + ("," if len(sizes) == 1 else "") + ")"


def _reduced(history: History, file: str, line: int) -> Edit | None:
    text = history.text(file)

    def summed(call: ast.Call) -> str | None:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
            return None
        if call.args or call.keywords:
            return None
        return f"{edits.segment(text, call.func.value)}.sum().backward()"

    return edits.rewrite_calls(text, file, line, summed)
