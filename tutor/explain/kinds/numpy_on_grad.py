"""`numpy()` and the like of a tensor that requires grad."""

from __future__ import annotations

import ast

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding
from tutor.explain.history import Failure, History, bare

KIND = "numpy-on-grad"

_LEAVES_TORCH = frozenset(
    ["numpy", "__array__", "__dlpack__", "to_dlpack", "apply_", "map_", "map2_"]
)


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused call that hands the memory to something that autograd cannot follow."""
    op = failure.op
    if op is None or bare(op.func) not in _LEAVES_TORCH or not op.event.args:
        return None
    if not any(history.requires_grad(uid, op.moment) for uid in op.event.args):
        return None
    name = history.name(op.event.args[0], op.moment)
    facts: dict[str, Fact] = {"tensor": name, "func": bare(op.func)}
    here = failure.site[-1]
    text = history.text(here.file)

    def detached(call: ast.Call) -> str | None:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _LEAVES_TORCH:
            return None
        rest = edits.segment(text, call)[len(edits.segment(text, call.func)) :]
        return f"{edits.segment(text, call.func.value)}.detach().{call.func.attr}{rest}"

    edit = edits.rewrite_calls(text, here.file, here.line, detached)
    return finding(
        KIND,
        "error",
        "plain",
        facts,
        cause=[history.place("cause", failure.site, failure.moment, note("leaves-torch"))],
        surfaced=[surfaced(history)],
        fixes=[
            fix("detach-here", {"line": here.line}, edit),
            fix("detach-here", {"line": here.line}, _names(history, failure)),
        ],
    )


def _names(history: History, failure: Failure) -> Edit | None:
    """The names on the line that mean tensors which require grad, detached."""
    here = failure.site[-1]
    text = history.text(here.file)
    node = source.statement(text, here.line)
    read = source.names_read(node) if node is not None else set()
    wanting = {
        named.name
        for tensor in history.tensors.values()
        for named in tensor.names
        if named.name in read
        and named.frame in (here.frame, 0)
        and named.since <= failure.moment
        and history.requires_grad(tensor.uid, failure.moment)
    }
    return rewrites.names_detached(text, here.file, here.line, wanting)
