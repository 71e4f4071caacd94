"""What torch.func and vmap cannot do inside a transformed function."""

from __future__ import annotations

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare
from tutor.explain.patterns import fits, kind_of
from tutor.explain.writes import writes

KIND = "functional-transform"

_FILES = ("torch/_functorch/", "torch/func/")
_PYTHON = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "AttributeError")


def raised(history: History, failure: Failure) -> Finding | None:
    """An error of torch's inside a frame that a transform called, or in the transform itself."""
    if failure.kind in _PYTHON or not failure.site:
        return None
    entered = _entered(history, failure)
    shared = _writes_what_is_shared(history, failure, entered)
    if not shared and not fits(KIND, failure.message):
        return None
    known = kind_of(failure.message) == KIND
    in_library = known or any(failure.inside(part) for part in _FILES)
    if entered is None and not in_library:
        return None
    inside = entered is not None and entered < len(failure.site)
    ordinary = not in_library and failure.op is None and failure.kind != "RuntimeError"
    if inside and ordinary:
        return None
    facts: dict[str, Fact] = {
        "transform": _transform(history, failure),
        "message": (failure.message.strip().splitlines() or [failure.kind])[0],
    }
    message = failure.message
    variant = "plain"
    if inside and ".item()" in message:
        variant = "values"
    elif inside and "control flow" in message:
        variant = "branch"
    elif inside and "random" in message:
        variant = "random"
    elif inside and (shared or "in-place" in message or "inplace" in message):
        variant = "write"
    elif inside and ("dynamic shape" in message or "dynamic output" in message or _masks(failure)):
        variant = "shape"
    elif not inside:
        variant = "call"
    witness: FindingPlace | None = None
    if inside and entered is not None and entered > 0:
        witness = history.place(
            "witness", failure.site[:entered], failure.moment, note("transforms")
        )
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[history.place("cause", failure.site, failure.moment, note("not-in-transform"))],
        witness=[witness],
        surfaced=[surfaced(history)],
        fixes=_fixes(history, failure, variant),
    )


def _masks(failure: Failure) -> bool:
    """Whether the refused call picks elements: how many come out depends on the values."""
    name = bare(failure.op.func) if failure.op is not None else ""
    return name in ("__getitem__", "masked_select", "nonzero", "unique", "index")


def _fixes(history: History, failure: Failure, variant: str) -> list[Fix | None]:
    here = failure.site[-1]
    text, line = history.text(here.file), {"line": here.line}
    if variant in ("branch", "values"):
        edit = rewrites.chosen_by_where(text, here.file, here.line)
        kept = None if edit is not None else rewrites.as_tensor(text, here.file, here.line)
        return [fix("where", dict(line), edit), fix("keep-tensor", dict(line), kept)]
    if variant == "write":
        plain = edits.out_of_place(text, here.file, here.line)
        return [_batched(history, failure), fix("out-of-place", dict(line), plain)]
    if variant == "call" and "scalar" in failure.message:
        summed = rewrites.summed_function(text, here.file, here.line, "grad")
        return [fix("reduce", dict(line), summed)]
    if variant == "random":
        call = next((p for p in reversed(failure.site) if "vmap" in history.code(p)), None)
        if call is not None:
            where = (history.text(call.file), call.file, call.line, "vmap", "randomness")
            edit = edits.add_keyword(*where, "'different'")
            return [fix("randomness", {"line": call.line}, edit)]
    return []


def _batched(history: History, failure: Failure) -> Fix | None:
    """The tensor that is written, made from one that has vmap's dimension."""
    op = failure.op
    target = history.tensor(op.event.args[0]) if op is not None and op.event.args else None
    here = failure.site[-1]
    function = source.function_at(history.text(here.file), here.line)
    if target is None or function is None or not function.args.args:
        return None
    base = history.tensor(history.base_of(target.uid)) or target
    maker = history.maker(base.uid)
    site = maker.site if maker is not None else base.born
    name = next((a.arg for a in function.args.args if a.arg != "self"), "")
    if not site or not name:
        return None
    made = site[-1]
    edit = rewrites.new_like(history.text(made.file), made.file, made.line, name)
    return fix("batched", {"line": made.line, "name": name}, edit)


def _entered(history: History, failure: Failure) -> int | None:
    """The depth of the outermost user frame that a transform called; None where none was."""
    frames = history.last.frames
    for index, place in enumerate(failure.site):
        frame = frames.get(place.frame)
        via = history.trace.vias.get(frame.via, ()) if frame is not None else ()
        if any(part in file for file, _ in via for part in _FILES):
            return index
    return None


def _writes_what_is_shared(history: History, failure: Failure, entered: int | None) -> bool:
    """Whether vmap's own batch dimension is what a write has no room for.

    The tensor written has the shape of one sample; torch then speaks of shapes that do not
    match, and the user's own shapes do.
    """
    op = failure.op
    if op is None or entered is None or _transform(history, failure) != "vmap":
        return False
    name = bare(op.func)
    if not writes(name) or len(op.event.args) < 2:
        return False
    written, value = (history.tensor(uid) for uid in op.event.args[:2])
    if written is None or value is None:
        return False
    room, wanted = written.meta.shape, value.meta.shape
    return room[len(room) - len(wanted) :] == wanted


def _transform(history: History, failure: Failure) -> str:
    for name in ("vmap", "hessian", "jacrev", "jacfwd", "grad_and_value", "grad", "vjp", "jvp"):
        for place in failure.site:
            if name in history.code(place):
                return name
    return "torch.func"
