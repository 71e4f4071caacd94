"""Mistakes in a user's own `autograd.Function`."""

from __future__ import annotations

import ast
import re

from tutor.explain import custom_fixes, edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.custom import (
    applied,
    file_of,
    function_classes,
    function_of,
    method_around,
)
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import behind
from tutor.explain.history import Failure, History
from tutor.explain.kinds import silent_functions
from tutor.explain.kinds.no_grad_fn import root_without_grad
from tutor.explain.patterns import fits, kind_of
from tutor.explain.reads import read_after
from tutor.trace import NONE
from tutor.trace.state import NodeState, PassState

KIND = "custom-function"

_COUNT = re.compile(r"incorrect number of gradients \(expected (\d+), got (\d+)\)")
_PYTHON = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "KeyboardInterrupt")


def raised(history: History, failure: Failure) -> Finding | None:
    """An error out of a Function's node, one of its methods, or its apply."""
    if failure.kind in _PYTHON or not function_classes(history):
        return None
    listed = _listed(history, failure)
    if listed is not None:
        return listed
    if not fits(KIND, failure.message):
        return None
    run = failure.run
    node = history.nodes.get(run.failing) if run is not None else None
    cls = function_of(history, node.name) if node is not None else None
    owner, method = method_around(history, failure)
    if cls is not None and node is not None and not owner:
        return _returned(history, failure, cls.name, node)
    if owner and _about_function(history, failure):
        facts: dict[str, Fact] = {"function": owner, "method": method, **_message(failure)}
        return finding(
            KIND,
            "error",
            "method",
            facts,
            cause=[history.place("cause", failure.site, failure.moment)],
            witness=[_definition(history, owner, method)],
            surfaced=[surfaced(history)],
            fixes=[custom_fixes.context_name(history, failure, owner)],
        )
    if failure.site and run is None:
        owner = applied(history, failure.site[-1])
        if owner and failure.library:
            return _refused(history, failure, owner)
    return None


def _about_function(history: History, failure: Failure) -> bool:
    """Whether an error inside a method has to do with the Function: its context, its pattern."""
    if kind_of(failure.message) == KIND:
        return True
    place = failure.site[-1]
    node = source.statement(history.text(place.file), place.line)
    around = source.function_at(history.text(place.file), place.line)
    if node is None or around is None or not around.args.args:
        return False
    read = source.names_read(node)
    if "NoneType" in failure.message and around.name in ("backward", "vjp"):
        return bool(read & {one.arg for one in around.args.args[1:]})  # no gradient came there
    return around.args.args[0].arg in read


def _message(failure: Failure) -> dict[str, Fact]:
    lines = failure.message.strip().splitlines()
    return {"error": failure.kind, "message": lines[0] if lines else ""}


def _definition(history: History, owner: str, method: str) -> FindingPlace | None:
    known = function_classes(history).get(owner)
    found = source.method(known[1], method) if known is not None else None
    if known is None or found is None:
        return None
    return history.line_place("witness", known[0], found.lineno, note("defined"))


def _returned(history: History, failure: Failure, owner: str, node: NodeState) -> Finding:
    """What backward returned does not fit what forward took."""
    file, cls = function_classes(history)[owner]
    back = source.method(cls, "backward") or source.method(cls, "vjp")
    causes: list[FindingPlace | None] = []
    facts: dict[str, Fact] = {"function": owner, **_message(failure)}
    fixes: list[Fix | None] = []
    variant = "returned"
    count = _COUNT.search(failure.message)
    if back is not None:
        lines = source.returns(back)
        causes += [
            history.line_place("cause", file, one.lineno, note("returns")) for one in lines[:2]
        ]
        if not lines:
            causes.append(history.line_place("cause", file, back.lineno, note("no-return")))
        if count is not None:
            variant = "count"
            facts |= {"expected": int(count[1]), "got": int(count[2])}
            missing = int(count[1]) - int(count[2])
            if missing > 0 and lines and lines[-1].value is not None:
                text = history.text(file)
                value = edits.segment(text, lines[-1].value)
                new = f"return {value}{', None' * missing}"
                edit = edits.splice(text, file, lines[-1], new)
                fixes.append(fix("return-none", {"line": lines[-1].lineno}, edit))
            if missing < 0 and lines:
                fixes.append(custom_fixes.fewer(history, file, lines[-1], int(count[1])))
    elif "implement" in failure.message:
        variant, facts["method"] = "missing", "backward"
        fixes.append(custom_fixes.straight_through(history, file, cls))
    causes.append(history.place("cause", node.site, node.moment, note("applies")))
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=causes,
        witness=[history.place("witness", node.site, node.moment, note("applies"))],
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _refused(history: History, failure: Failure, owner: str) -> Finding:
    """Torch refused the Function at its call."""
    facts: dict[str, Fact] = {"function": owner, **_message(failure)}
    missing = re.search(r"implement (?:the |either the )?(\w+)", failure.message)
    if missing is not None:
        facts["method"] = missing[1]
    return finding(
        KIND,
        "error",
        "missing" if missing is not None else "refused",
        facts,
        cause=[
            *_named_in_message(history, failure, owner),
            history.place("cause", failure.site, failure.moment, note("applies")),
        ],
        witness=[
            _definition(history, owner, "backward")
            or _definition(history, owner, "forward")
            or history.line_place("witness", file_of(history, owner), 1)
        ],
        surfaced=[surfaced(history)],
        fixes=[
            custom_fixes.apply_it(history, failure, owner),
            custom_fixes.kept_on_context(history, owner),
            custom_fixes.straight_through(history, *function_classes(history)[owner])
            if missing is not None and missing[1] == "backward"
            else None,
        ],
    )


def _listed(history: History, failure: Failure) -> Finding | None:
    """A forward that returns a list: autograd does not look inside, so nothing is connected."""
    cut = None
    root = root_without_grad(history, failure)
    if root != NONE:
        came = behind(history, root, failure.moment)
        cut = came.cuts[0] if came.cuts else None
    elif not (failure.kind == "AttributeError" and "'list' object" in failure.message):
        return None
    for name, (file, cls) in function_classes(history).items():
        forward = source.method(cls, "forward")
        lists = [
            one
            for one in (source.returns(forward) if forward is not None else [])
            if isinstance(one.value, ast.List | ast.ListComp)
        ]
        inside = cut is not None and (
            cut.op.func.endswith(f"apply {name}")
            or any(p.function.endswith(f"{name}.forward") for p in cut.site)
        )
        called = bool(failure.site) and applied(history, failure.site[-1]) == name
        if not lists or not (inside or (cut is None and called)):
            continue
        returned = lists[0]
        assert returned.value is not None
        text = history.text(file)
        value = edits.segment(text, returned.value)
        edit = edits.splice(text, file, returned.value, f"tuple({value})")
        return finding(
            KIND,
            "error",
            "listed",
            {"function": name},
            cause=[history.line_place("cause", file, returned.lineno, note("returns"))],
            witness=[_definition(history, name, "forward")],
            surfaced=[surfaced(history)],
            fixes=[fix("as-tuple", {"line": returned.lineno}, edit)],
        )
    return None


def _named_in_message(history: History, failure: Failure, owner: str) -> list[FindingPlace | None]:
    """The lines of the class that call what the message names: `save_for_backward` and such."""
    file, cls = function_classes(history)[owner]
    return [
        history.line_place("cause", file, call.lineno)
        for call in source.calls(cls)
        if len(source.called(call)) > 6 and source.called(call) in failure.message
    ]


# -- without an error -----------------------------------------------------------------------


def ran(history: History) -> list[Finding]:
    """A backward that returns nothing; a forward that writes into an input and hides it."""
    if not function_classes(history):
        return []
    return _no_return(history) or _not_marked(history) or silent_functions.ran(history)


def _no_return(history: History) -> list[Finding]:
    for run in history.passes:
        for number in run.arrived:
            node = history.nodes.get(number)
            cls = function_of(history, node.name) if node is not None else None
            if node is None or cls is None:
                continue
            back = source.method(cls, "backward")
            if back is None or any(r.value is not None for r in source.returns(back)):
                continue
            if source.never_returns(back):
                continue
            file = file_of(history, cls.name)
            last = back.body[-1]
            return [
                finding(
                    KIND,
                    "warning",
                    "no-return",
                    {"function": cls.name},
                    cause=[
                        history.line_place("cause", file, back.lineno, note("no-return")),
                        history.line_place("cause", file, last.end_lineno or last.lineno),
                    ],
                    witness=[history.place("witness", node.site, node.moment, note("applies"))],
                    surfaced=_lost(history, run, node),
                    fixes=[_return_last(history, file, last)],
                )
            ]
    return []


def _return_last(history: History, file: str, last: ast.stmt) -> Fix | None:
    if not isinstance(last, ast.Assign) or len(last.targets) != 1:
        return None
    target = last.targets[0]
    if not isinstance(target, ast.Name):
        return None
    text = history.text(file)
    end = last.end_lineno or last.lineno
    edit = edits.insert_after(text, file, end, f"return {target.id}")
    return fix("return-value", {"line": end, "name": target.id}, edit)


def _lost(history: History, run: PassState, node: NodeState) -> list[FindingPlace | None]:
    """Where a gradient that should have come through this node is looked at."""
    leaves = [n.event.leaf for n in history.walk(node.event.node) if n.event.leaf != NONE]
    for leaf in leaves:
        seen = read_after(history, leaf, run.moment, note("no-gradient"))
        if seen:
            return [*seen, history.place("surfaced", run.site, run.moment)]
    return [history.place("surfaced", run.site, run.moment)]


def _not_marked(history: History) -> list[Finding]:
    for name, (_, cls) in function_classes(history).items():
        if any(source.called(call) == "mark_dirty" for call in source.calls(cls)):
            continue
        inputs = {
            uid: op
            for op in history.ops
            if op.func.endswith(f"apply {name}") or op.event.detail == name
            for uid in op.event.args
        }
        for counter in history.last.counters.values():
            for write in counter.writes:
                if not write.site or not write.site[-1].function.endswith(f"{name}.forward"):
                    continue
                given = next(
                    (
                        uid
                        for uid in inputs
                        if (t := history.tensor(uid)) is not None
                        and t.meta.counter == write.counter
                        and t.moment < write.moment
                        and history.requires_grad(uid, write.moment)
                    ),
                    None,
                )
                if given is None:
                    continue
                call = inputs[given]
                seen: list[FindingPlace | None] = []
                for run in history.passes:
                    for entry in run.accumulated:
                        seen = seen or read_after(history, entry.uid, run.moment, "")
                return [
                    finding(
                        KIND,
                        "warning",
                        "not-marked",
                        {"function": name, "tensor": history.name(given, write.moment)},
                        cause=[
                            history.place("cause", write.site, write.moment, note("writes-input"))
                        ],
                        witness=[history.place("witness", call.site, call.moment, note("applies"))],
                        surfaced=[*seen, history.place("surfaced", call.site, call.moment)],
                    )
                ]
    return []
