"""Hooks on the wrong tensor, hooks that edit in place, hooks that return the wrong thing."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.custom import method_around
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
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
    return finding(
        KIND, "error", variant, facts, cause=causes, surfaced=[surfaced(history)], fixes=fixes
    )


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
