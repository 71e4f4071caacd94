"""A value put into `.grad` or `.data` that does not fit there."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, Fix
from tutor.explain.history import Failure, History, bare
from tutor.explain.kinds.nonscalar_backward import shape
from tutor.trace import Place

KIND = "grad-assignment"

_SLOTS = ("grad", "data", "_grad_fn", "grad_dtype")


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused assignment to one of a tensor's slots, told from the two tensors."""
    op = failure.op
    if op is None or not failure.site or not op.event.args:
        return None
    slot = bare(op.func.removesuffix(" ="))
    here = failure.site[-1]
    node = source.statement(history.text(here.file), here.line)
    if slot not in _SLOTS or not isinstance(
        node, ast.Assign | ast.AugAssign | ast.Delete | ast.Expr
    ):
        return None
    target = history.meta(op.event.args[0], op.moment)
    if target is None:
        return None
    name = history.name(op.event.args[0], op.moment)
    facts: dict[str, Fact] = {
        "tensor": name,
        "slot": slot,
        "shape": shape(target.shape),
        "dtype": target.dtype,
        "message": failure.said,
    }
    variant, witness, convert = "known", None, ""
    given = history.meta(op.event.args[1], op.moment) if len(op.event.args) > 1 else None
    if slot in ("grad", "data") and given is None and op.event.detail:
        variant, facts["given"], convert = "number", op.event.detail[:40], "full"
    elif given is not None and slot in ("grad", "data"):
        facts |= {
            "given": history.name(given.uid, op.moment),
            "given_shape": shape(given.shape),
            "given_dtype": given.dtype,
        }
        known = history.tensor(given.uid)
        if known is not None and given.uid != target.uid:
            maker = history.maker(given.uid)
            site, moment = (maker.site, maker.moment) if maker else (known.born, known.moment)
            words = note("made-as", shape=shape(given.shape), dtype=given.dtype)
            witness = history.place("witness", site, moment, words)
        if given.uid == target.uid:
            variant = "itself"
        elif given.shape != target.shape and slot == "grad":
            variant, convert = "shape", "view"
        elif given.dtype != target.dtype:
            variant, convert = "dtype", "to"
        elif given.device != target.device:
            variant, convert = "device", "to"
            facts |= {"dtype": target.device, "given_dtype": given.device}
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[history.place("cause", failure.site, failure.moment, note("refused"))],
        witness=[witness],
        surfaced=[surfaced(history)],
        fixes=[_fitted(history, here, convert)],
    )


def _fitted(history: History, here: Place, convert: str) -> Fix | None:
    """`p.grad = g` with `g` in the shape, or the dtype, of `p`."""
    text = history.text(here.file)
    node = source.simple_statement(text, here.line)
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
        return None
    owner = edits.segment(text, node.targets[0].value)
    value = edits.segment(text, node.value)
    if not isinstance(node.value, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        value = f"({value})"
    facts: dict[str, Fact] = {"line": here.line, "root": owner}
    if convert == "view":
        edit = edits.splice(text, here.file, node.value, f"{value}.reshape({owner}.shape)")
        return fix("fit-view", facts, edit)
    if convert == "to":
        edit = edits.splice(text, here.file, node.value, f"{value}.to({owner})")
        return fix("fit-to", facts, edit)
    if convert == "full" and edits.imports_torch(text):
        edit = edits.splice(text, here.file, node.value, f"torch.full_like({owner}, {value})")
        return fix("fit-full", facts, edit)
    return None
