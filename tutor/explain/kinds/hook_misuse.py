"""Hooks on the wrong tensor, hooks that edit in place, hooks that return the wrong thing."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.custom import method_around
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare
from tutor.explain.patterns import fits, kind_of
from tutor.trace import NONE, Place
from tutor.trace import events as ev

KIND = "hook-misuse"

_REGISTERS = (
    "register_hook",
    "register_prehook",
    "register_post_accumulate_grad_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_backward_hook",
    "register_multi_grad_hook",
)
_PYTHON = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "KeyboardInterrupt")
_RETURNED = re.compile(r"^(?:hook '|expected (?:Variable|tuple), but hook|Backward (?:pre )?hook)")
"""What a hook returned is not in the trace: torch's words name it."""


def raised(history: History, failure: Failure) -> Finding | None:
    """An error inside a hook, one at its registration, or one about what it returned."""
    if failure.kind in _PYTHON or not failure.site:
        return None
    if not fits(KIND, failure.message) and kind_of(failure.message) != "overlapping-memory":
        return None
    here = failure.site[-1]
    wrong = _signature(history, failure)
    if wrong is not None:
        return wrong
    if failure.run is None:
        return _registration(history, failure, here)
    owner, _ = method_around(history, failure)
    depth = len(failure.run.site)
    inside = len(failure.site) > depth and not owner
    facts: dict[str, Fact] = {"error": failure.kind, "message": _first(failure)}
    if inside and not failure.inside("torch/utils/checkpoint"):
        facts["hook"] = here.function.rsplit(".", 1)[-1]
        edit = edits.out_of_place(history.text(here.file), here.file, here.line)
        returning = _returning(history, here)
        written = "single memory location" in failure.message or "in-place" in failure.message
        return finding(
            KIND,
            "error",
            "writes" if written else "inside",
            facts,
            cause=[history.place("cause", failure.site, failure.moment, note("in-hook"))],
            witness=[
                history.place("witness", failure.run.site, failure.run.moment, note("runs-hook")),
                *_registered(history),
            ],
            surfaced=[surfaced(history)],
            fixes=[returning, fix("out-of-place", {"line": here.line}, edit)],
        )
    if _RETURNED.search(failure.message):
        registered = _registered(history)
        return finding(
            KIND,
            "error",
            "returned",
            facts,
            cause=[
                *[_as_cause(history, place) for place in registered],
                history.place("cause", failure.site, failure.moment),
            ],
            surfaced=[surfaced(history)],
        )
    return None


def _first(failure: Failure) -> str:
    lines = failure.message.strip().splitlines()
    return lines[0] if lines else failure.kind


def _registered(history: History) -> list[FindingPlace | None]:
    """The lines that register hooks and that ran."""
    found: list[FindingPlace | None] = []
    for file, text in history.trace.texts.items():
        for name in _REGISTERS:
            found += [
                history.line_place("witness", file, line, note("registers"))
                for line in source.lines_calling(text, name)
                if (file, line) in history.line_runs
            ]
    return found[:2]


def _as_cause(history: History, place: FindingPlace | None) -> FindingPlace | None:
    if place is None:
        return None
    return history.line_place("cause", place.file, place.line, place.note)


def _registration(history: History, failure: Failure, here: Place) -> Finding | None:
    """A hook that was refused where it was registered."""
    node = source.statement(history.text(here.file), here.line)
    names = {source.called(call) for call in source.calls(node)} if node is not None else set()
    used = [name for name in _REGISTERS if name in names]
    if not used or not failure.inside("torch/"):
        return None
    facts: dict[str, Fact] = {"register": used[0], "message": _first(failure)}
    causes = [history.place("cause", failure.site, failure.moment, note("refused"))]
    variant = "refused"
    fixes: list[Fix | None] = []
    if "require" in failure.message and "grad" in failure.message:
        variant = "no-grad"
        off = _grad_off(history, failure)
        if off is not None:
            causes.append(off)
            taken = rewrites.without_block(history.text(off.file), off.file, off.line)
            fixes.append(fix("record", {"line": off.line}, taken))
        fixes += _where_grad(history, failure, here, used[0])
    return finding(
        KIND, "error", variant, facts, cause=causes, surfaced=[surfaced(history)], fixes=fixes
    )


def _where_grad(history: History, failure: Failure, here: Place, register: str) -> list[Fix | None]:
    """The tensor asks for gradients where it is made; or the hook only goes where one comes."""
    text = history.text(here.file)
    found: list[Fix | None] = []
    for call in source.calls(source.statement(text, here.line) or source.EMPTY):
        if source.called(call) != register or not isinstance(call.func, ast.Attribute):
            continue
        name = edits.segment(text, call.func.value)
        for tensor in history.tensors.values():
            named = any(n.name == name and n.frame in (here.frame, 0) for n in tensor.names)
            maker = history.maker(tensor.uid) if named else None
            if maker is None or not maker.site or tensor.meta.kind == "Parameter":
                continue
            made = maker.site[-1]
            where = (history.text(made.file), made.file, made.line, bare(maker.func))
            edit = edits.add_keyword(*where, "requires_grad", "True")
            found.append(fix("requires-grad", {"line": made.line}, edit))
        if name.replace(".", "").replace("_", "").isalnum():
            guarded = rewrites.guarded_statement(
                text, here.file, here.line, f"{name}.requires_grad"
            )
            found.append(fix("only-where-grad", {"line": here.line, "name": name}, guarded))
    return found


_TAKES = re.compile(
    r"^(?:[\w.<>]+\.)?(?P<name>\w+|<lambda>)\(\) "
    r"(?:takes .* positional arguments?|missing \d+ required)"
)
_GIVEN = {
    "register_hook": ("grad",),
    "register_full_backward_hook": ("module", "grad_input", "grad_output"),
    "register_full_backward_pre_hook": ("module", "grad_output"),
    "register_backward_hook": ("module", "grad_input", "grad_output"),
    "register_forward_hook": ("module", "args", "output"),
    "register_forward_pre_hook": ("module", "args"),
    "register_post_accumulate_grad_hook": ("param",),
}
"""What torch hands to each kind of hook, as its documentation calls it."""


def _signature(history: History, failure: Failure) -> Finding | None:
    """A hook that takes another number of arguments than torch gives it."""
    said = _TAKES.match(failure.message)
    if failure.kind != "TypeError" or said is None or not failure.library:
        return None
    wanted = said["name"]
    for file, text in history.trace.texts.items():
        for register, given in _GIVEN.items():
            for line in source.lines_calling(text, register):
                function = _hook_named(history, text, line, register, wanted)
                if function is None or (file, line) not in history.line_runs:
                    continue
                where, arguments, lineno = function
                own = arguments.args
                if own and own[0].arg == "self":
                    own = own[1:]
                if len(own) - len(arguments.defaults) <= len(given) <= len(own):
                    continue
                facts: dict[str, Fact] = {
                    "hook": wanted,
                    "register": register,
                    "takes": len(own),
                    "gives": len(given),
                    "given": ", ".join(given),
                }
                return finding(
                    KIND,
                    "error",
                    "signature",
                    facts,
                    cause=[
                        history.line_place("cause", where, lineno, note("takes")),
                        history.line_place("cause", file, line, note("registers")),
                    ],
                    surfaced=[surfaced(history)],
                    fixes=[_with_arguments(history, where, arguments, own, given)],
                )
    return None


def _hook_named(
    history: History, text: str, line: int, register: str, wanted: str
) -> tuple[str, ast.arguments, int] | None:
    """(file, arguments, line) of the hook that a line registers, where it has this name."""
    for call in source.calls(source.statement(text, line) or source.EMPTY):
        if source.called(call) != register or not call.args:
            continue
        hook = call.args[0]
        if isinstance(hook, ast.Lambda):
            if wanted == "<lambda>":
                own = next(f for f, t in history.trace.texts.items() if t == text)
                return own, hook.args, hook.lineno
            continue
        for file, other in history.trace.texts.items():
            module = source.tree(other)
            for node in ast.walk(module) if module is not None else ():
                if isinstance(node, ast.FunctionDef) and node.name == wanted:
                    name = getattr(hook, "attr", getattr(hook, "id", wanted))
                    if name == wanted or isinstance(hook, ast.Call):
                        return file, node.args, node.lineno
    return None


def _with_arguments(
    history: History,
    file: str,
    arguments: ast.arguments,
    own: list[ast.arg],
    given: tuple[str, ...],
) -> Fix | None:
    """The hook with the arguments that it is given; those that it has keep their names."""
    if not own or arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        return None
    first, last = own[0], own[-1]
    if first.lineno != last.end_lineno:
        return None
    names = [one.arg for one in own]
    if len(names) < len(given):
        keep = names[1:] if len(names) > 1 else []
        between = [n for n in given[len(names[:1]) : len(given) - len(keep)] if n not in names]
        names = [*names[:1], *between, *keep]
    else:
        names = names[len(names) - len(given) :]
    text = history.text(file)
    row = source.line(text, first.lineno).encode()
    new = row[: first.col_offset] + ", ".join(names).encode() + row[last.end_col_offset or 0 :]
    edit = edits.replaced(file, first.lineno, new.decode())
    return fix("hook-arguments", {"line": first.lineno, "given": ", ".join(given)}, edit)


def _grad_off(history: History, failure: Failure) -> FindingPlace | None:
    """The block that has gradients off around the registration."""
    state = history.trace.at(failure.moment)
    if state.grad_mode and not state.inference:
        return None
    for place in reversed(failure.site):
        number = source.grad_off_line(history.text(place.file), place.line)
        if number is not None:
            return history.line_place("cause", place.file, number, note("grad-off"))
    for moment, event in reversed(list(history.trace.of_kind(ev.Mode))):
        if moment <= failure.moment and not event.grad:
            return history.place("cause", history.site_at(moment), moment, note("grad-off"))
    return None


def _returning(history: History, here: Place) -> Fix | None:
    """`g.clamp_(…)` alone in a hook as `return g.clamp(…)`."""
    text = history.text(here.file)
    node = source.simple_statement(text, here.line)
    plain = edits.out_of_place(text, here.file, here.line)
    around = source.function_at(text, here.line)
    if not isinstance(node, ast.Expr) or plain is None or around is None or here.line == NONE:
        return None
    if around.body[-1] is not node:
        return None
    value = plain.new.split("=", 1)[1].strip()
    edit = edits.splice(text, here.file, node, f"return {value}")
    return fix("return-new", {"line": here.line}, edit)
