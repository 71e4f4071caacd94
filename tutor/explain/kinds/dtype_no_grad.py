"""requires_grad on integers or booleans."""

from __future__ import annotations

import re

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare
from tutor.trace import Place

KIND = "dtype-no-grad"

_SAID = re.compile(r"only tensors of floating.point.*can require gradients", re.IGNORECASE)
"""The refused tensor was never made, so that only the message can tell."""


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused flag on a tensor whose dtype is neither floating point nor complex."""
    if not _SAID.search(failure.message):
        return None
    facts: dict[str, Fact] = {"dtype": "integer"}
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    op = failure.op
    target = history.tensor(op.event.args[0]) if op is not None and op.event.args else None
    if target is not None and op is not None and bare(op.func).startswith("requires_grad"):
        facts["dtype"] = target.meta.dtype
        maker = history.maker(target.uid)
        site, moment = (maker.site, maker.moment) if maker else (target.born, target.moment)
        causes.append(history.place("cause", site, moment, note("dtype", dtype=target.meta.dtype)))
    causes.append(history.place("cause", failure.site, failure.moment, note("needs-float")))
    first = next((place for place in causes if place is not None), None)
    if first is not None:
        fixes.append(fix("float", {"line": first.line}, _as_float(history, first)))
    if failure.site:
        fixes += _no_flag(history, failure.site[-1])
    return finding(
        KIND, "error", "plain", facts, cause=causes, surfaced=[surfaced(history)], fixes=fixes
    )


def _no_flag(history: History, here: Place) -> list[Fix | None]:
    """Whole numbers that are meant as such need no gradient: the flag goes."""
    text = history.text(here.file)
    edit = edits.set_keyword(text, here.file, here.line, "Parameter", "requires_grad", "False")
    edit = edit or edits.add_keyword(
        text, here.file, here.line, "Parameter", "requires_grad", "False"
    )
    edit = edit or edits.drop_keyword(text, here.file, here.line, "requires_grad")
    edit = edit or edits.drop_method(text, here.file, here.line, "requires_grad_")
    return [fix("no-flag", {"line": here.line}, edit)]


def _as_float(history: History, place: FindingPlace) -> Edit | None:
    text = history.text(place.file)
    of_bools = rewrites.result_with(text, place.file, place.line, "float()")
    made = {
        source.called(c) for c in source.calls(source.statement(text, place.line) or source.EMPTY)
    }
    if not made & {"tensor", "arange", "zeros", "ones", "full", "as_tensor"}:
        return of_bools
    for func in ("tensor", "arange", "zeros", "ones", "full", "as_tensor"):
        for call in source.calls(source.statement(text, place.line) or source.EMPTY):
            if source.called(call) == func and any(k.arg == "dtype" for k in call.keywords):
                return edits.set_keyword(
                    text, place.file, place.line, func, "dtype", "torch.float32"
                )
        edit = edits.add_keyword(text, place.file, place.line, func, "dtype", "torch.float32")
        if edit is not None:
            return edit
    return None
