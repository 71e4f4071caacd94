"""`out=` in a call one of whose tensors requires grad."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding
from tutor.explain.history import Failure, History, bare

KIND = "out-argument"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused call with `out=` while gradients are on."""
    op = failure.op
    if op is None or not op.grad_mode or not failure.site:
        return None
    here = failure.site[-1]
    text = history.text(here.file)
    node = source.statement(text, here.line)
    given = [
        call
        for call in (source.calls(node) if node is not None else ())
        if any(k.arg == "out" for k in call.keywords)
    ]
    if not given or "out=" not in failure.message:
        return None
    if not any(history.requires_grad(uid, op.moment) for uid in op.event.args):
        return None
    facts: dict[str, Fact] = {"func": bare(op.func)}
    edit = _returned(text, here.file, given[0], node)
    return finding(
        KIND,
        "error",
        "plain",
        facts,
        cause=[history.place("cause", failure.site, failure.moment, note("not-recorded"))],
        surfaced=[surfaced(history)],
        fixes=[fix("use-result", {"line": here.line}, edit)],
    )


def _returned(text: str, file: str, call: ast.Call, node: ast.stmt | None) -> Edit | None:
    """`torch.f(x, out=y)` as `y = torch.f(x)`."""
    out = next(k for k in call.keywords if k.arg == "out")
    if not isinstance(node, ast.Expr):
        return edits.drop_keyword(text, file, call.lineno, "out")
    if not isinstance(out.value, ast.Name | ast.Attribute):
        return None
    rest = [edits.segment(text, a) for a in call.args]
    rest += [f"{k.arg}={edits.segment(text, k.value)}" for k in call.keywords if k is not out]
    name = edits.segment(text, out.value)
    new = f"{name} = {edits.segment(text, call.func)}({', '.join(rest)})"
    return edits.splice(text, file, node, new)
