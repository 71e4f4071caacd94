"""`gradcheck` and `torch.autograd.functional`: what disagrees, or cannot be checked."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.custom import function_classes
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.trace import Place
from tutor.trace import events as ev
from tutor.trace.state import TensorState

KIND = "gradcheck"

_FILES = ("torch/autograd/gradcheck.py", "torch/autograd/functional.py")
_NUMERIC = re.compile(r"mismatch|not reentrant|nondeterministic", re.IGNORECASE)


def raised(history: History, failure: Failure) -> Finding | None:
    """An error of the checks' own code, not of the function under check."""
    if not failure.site or not failure.library:
        return None
    if not any(part in failure.library[-1][0].replace("\\", "/") for part in _FILES):
        return None
    here = failure.site[-1]
    facts: dict[str, Fact] = {"message": failure.said}
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    function = _function(history, failure, here)
    variant = "known"
    names = {name for _, name in failure.library}
    if _NUMERIC.search(failure.message):
        owner = _custom(history, failure)
        single = _single(history, failure)
        if single and "mismatch" in failure.message.lower():
            variant = "precision"
            facts["tensor"] = history.name(single[0].uid, failure.moment)
            facts["dtype"] = single[0].meta.dtype
            for one in single[:1]:
                words = note("dtype", dtype=one.meta.dtype)
                causes.append(history.place("cause", one.born, one.moment, words))
                fixes.append(_double(history, one))
        elif owner is not None:
            variant, facts["function"] = "function", owner[0]
            causes += [
                history.line_place("cause", owner[1], line, note("returns")) for line in owner[2]
            ]
        else:
            variant = "mismatch"
            causes.append(function)
    elif "_check_inputs" in names and "require" in failure.message:
        variant = "no-input"
        fixes.append(_require(history, failure, here))
    elif "ensure_single_output_function" in names or "single element" in failure.message:
        variant = "not-scalar"
        causes.append(function)
        fixes.append(_summed(history, here))
    elif "strict" in failure.message or "independent" in failure.message:
        variant = "independent"
        causes.append(function)
    elif "_validate_v" in names:
        variant = "vector"
    causes.append(history.place("cause", failure.site, failure.moment, note("refused")))
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=causes,
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _custom(history: History, failure: Failure) -> tuple[str, str, list[int]] | None:
    """(class, file, return lines of its backward) of a Function whose backward ran in the check."""
    for name, (file, cls) in function_classes(history).items():
        back = source.method(cls, "backward") or source.method(cls, "vjp")
        if back is None:
            continue
        first, last = back.lineno, back.end_lineno or back.lineno
        ran = any((file, line) in history.line_runs for line in range(first, last + 1))
        applied = any(name in op.func for op in history.ops)
        named = name in history.text(failure.site[-1].file)
        if ran or applied or named:
            return name, file, [one.lineno for one in source.returns(back)][:2]
    return None


def _single(history: History, failure: Failure) -> list[TensorState]:
    """The leaves of single precision that require grad and that the check was given."""
    last = [m for m, _ in history.trace.of_kind(ev.Line) if m <= failure.moment]
    since = last[0] if last else 0
    return [
        tensor
        for tensor in history.tensors.values()
        if tensor.meta.leaf
        and tensor.meta.requires_grad
        and tensor.meta.dtype in ("float32", "float16", "bfloat16")
        and tensor.moment >= since
        and tensor.meta.kind != "Parameter"
        and tensor.born
    ]


def _function(history: History, failure: Failure, here: Place) -> FindingPlace | None:
    """The user's function that was checked: its last return that ran, else its definition."""
    text = history.text(here.file)
    node = source.statement(text, here.line)
    names = source.names_read(node) if node is not None else set()
    for number in range(here.line, 0, -1):
        found = source.statement(text, number)
        if isinstance(found, ast.FunctionDef) and found.name in names:
            back = source.returns(found)
            return history.line_place("cause", here.file, back[-1].lineno if back else number)
    return _last_called(history, failure)


def _last_called(history: History, failure: Failure) -> FindingPlace | None:
    """The last line of the user's that ran below the checking call."""
    depth = len(failure.site)
    for (file, line), runs in sorted(
        history.line_runs.items(), key=lambda item: item[1][-1], reverse=True
    ):
        site = history.site_at(runs[-1] + 1)
        if len(site) > depth and site[depth - 1].line == failure.site[-1].line:
            return history.line_place("cause", file, line)
    return None


def _double(history: History, one: TensorState) -> Fix | None:
    maker = history.maker(one.uid)
    place = (maker.site if maker is not None else one.born)[-1]
    text = history.text(place.file)
    line: dict[str, Fact] = {"line": place.line}
    for func in ("rand", "randn", "tensor", "ones", "zeros", "linspace", "arange", "full"):
        where = (text, place.file, place.line, func, "dtype", "torch.double")
        edit = edits.set_keyword(*where) or edits.add_keyword(*where)
        if edit is not None:
            return fix("double", line, edit)
    return None


def _require(history: History, failure: Failure, here: Place) -> Fix | None:
    """The first floating input of the check asks for gradients where it is made."""
    text = history.text(here.file)
    node = source.statement(text, here.line)
    names = source.names_read(node) if node is not None else set()
    for tensor in history.tensors.values():
        used = any(n.name in names and n.frame in (here.frame, 0) for n in tensor.names)
        if not used or "float" not in tensor.meta.dtype or tensor.meta.requires_grad:
            continue
        maker = history.maker(tensor.uid)
        place = (maker.site if maker is not None else tensor.born)[-1]
        made = history.text(place.file)
        for func in ("rand", "randn", "tensor", "ones", "zeros", "linspace"):
            where = (made, place.file, place.line, func, "requires_grad", "True")
            edit = edits.set_keyword(*where) or edits.add_keyword(*where)
            if edit is not None:
                return fix("requires-grad", {"line": place.line}, edit)
    return None


def _summed(history: History, here: Place) -> Fix | None:
    """`hessian(lambda v: f(v), x)` with the sum of what the lambda gives."""
    text = history.text(here.file)
    node = source.statement(text, here.line)
    for child in ast.walk(node) if node is not None else ():
        if isinstance(child, ast.Lambda):
            new = f"({edits.segment(text, child.body)}).sum()"
            return fix(
                "reduce", {"line": here.line}, edits.splice(text, here.file, child.body, new)
            )
    return None
