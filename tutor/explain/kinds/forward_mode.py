"""Dual numbers: made outside of a level, with a tangent that does not fit, or not supported."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare
from tutor.explain.kinds.nonscalar_backward import shape
from tutor.explain.patterns import kind_of
from tutor.trace import Place

KIND = "forward-mode"


def raised(history: History, failure: Failure) -> Finding | None:
    """A call that `forward_ad` refused, or an op that has no forward derivative."""
    own = bool(failure.library) and any(
        "torch/autograd/forward_ad.py" in file.replace("\\", "/")
        for file, _ in failure.library[-3:]
    )
    known = kind_of(failure.message)
    if not failure.site or known not in (None, KIND) or not (own or known == KIND):
        return None
    here = failure.site[-1]
    functions = {name for _, name in failure.library}
    op = failure.op
    facts: dict[str, Fact] = {"message": failure.said, "op": bare(op.func) if op else "the call"}
    causes: list[FindingPlace | None] = [
        history.place("cause", failure.site, failure.moment, note("refused"))
    ]
    witness: FindingPlace | None = None
    fixes: list[Fix | None] = []
    variant = "known"
    if op is not None and bare(op.func) == "_make_dual" and len(op.event.args) > 1:
        primal, tangent = (history.meta(uid, op.moment) for uid in op.event.args[:2])
        if primal is not None and tangent is not None:
            facts |= {
                "primal": history.name(primal.uid, op.moment),
                "tangent": history.name(tangent.uid, op.moment),
                "shape": shape(primal.shape),
                "given_shape": shape(tangent.shape),
                "dtype": primal.dtype,
                "given_dtype": tangent.dtype,
            }
            known_tangent = history.tensor(tangent.uid)
            if known_tangent is not None:
                words = note("made-as", shape=shape(tangent.shape), dtype=tangent.dtype)
                site = known_tangent.born
                witness = history.place("witness", site, known_tangent.moment, words)
            if primal.shape != tangent.shape:
                variant = "shape"
                fixes += [_tangent(history, here, ones=True), _tangent(history, here, ones=False)]
            elif primal.dtype != tangent.dtype:
                variant = "dtype"
                fixes.append(_tangent(history, here, ones=True))
            else:
                variant = "dual-twice"
    elif "no level exists" in failure.message or "make_dual" in functions:
        variant = "no-level" if "level" in failure.message else "integer"
        if variant == "no-level":
            fixes.append(_in_level(history, here))
        else:
            fixes.append(_floating(history, here))
    elif "enter_dual_level" in functions or "__enter__" in functions:
        variant = "nested"
        outer = [place for place in failure.site[:-1] if place.file]
        causes += [history.place("cause", failure.site[: i + 1], failure.moment)
                   for i, place in enumerate(failure.site[:-1]) if place in outer[-1:]]  # fmt: skip
    elif "out= function" in failure.message:
        variant = "out"
        fixes.append(_no_out(history, here))
    elif op is not None:
        variant = "op"
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=causes,
        witness=[witness],
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _make_dual(text: str, line: int) -> ast.Call | None:
    node = source.statement(text, line)
    for call in source.calls(node) if node is not None else ():
        if source.called(call) == "make_dual":
            return call
    return None


def _tangent(history: History, here: Place, *, ones: bool) -> Fix | None:
    """A tangent of ones, or the given one expanded, in the shape and dtype of the primal."""
    text = history.text(here.file)
    call = _make_dual(text, here.line)
    if call is None or len(call.args) < 2 or not edits.imports_torch(text):
        return None
    primal, tangent = (edits.segment(text, one) for one in call.args[:2])
    line: dict[str, Fact] = {"line": here.line, "root": primal}
    if ones:
        edit = edits.splice(text, here.file, call.args[1], f"torch.ones_like({primal})")
        return fix("tangent-ones", line, edit)
    edit = edits.splice(text, here.file, call.args[1], f"({tangent}).expand_as({primal})")
    return fix("tangent-expand", line, edit)


def _floating(history: History, here: Place) -> Fix | None:
    text = history.text(here.file)
    call = _make_dual(text, here.line)
    if call is None or not call.args:
        return None
    new = f"{edits.segment(text, call.args[0])}.float()"
    return fix("float", {"line": here.line}, edits.splice(text, here.file, call.args[0], new))


def _in_level(history: History, here: Place) -> Fix | None:
    """`with fwAD.dual_level():` around the call and the rest of its block."""
    text = history.text(here.file)
    call = _make_dual(text, here.line)
    node = source.simple_statement(text, here.line)
    if call is None or node is None or not isinstance(call.func, ast.Attribute):
        return None
    block = edits.block_of(text, node)
    if node not in block:
        return None
    last = block[-1].end_lineno or block[-1].lineno
    space = source.indent(text, node.lineno)
    owner = edits.segment(text, call.func.value)
    rows = source.lines(text)[node.lineno - 1 : last]
    body = ["    " + row if row.strip() else row for row in rows]
    new = "\n".join([f"{space}with {owner}.dual_level():", *body])
    return fix("in-level", {"line": here.line}, Edit(here.file, node.lineno, last, new))


def _no_out(history: History, here: Place) -> Fix | None:
    edit = edits.drop_keyword(history.text(here.file), here.file, here.line, "out")
    return fix("use-result", {"line": here.line}, edit)
