"""Hooks that pack and unpack saved tensors, and do it wrongly."""

from __future__ import annotations

import ast

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.explain.patterns import kind_of
from tutor.trace import Place, Site

KIND = "saved-hooks"


def raised(history: History, failure: Failure) -> Finding | None:
    """An op that a pack hook spoiled, or a backward that got no tensor from an unpack hook."""
    known = kind_of(failure.message)
    entering = bool(failure.library) and failure.library[-1][1] == "__enter__"
    own = entering and "torch/autograd/graph.py" in failure.library[-1][0].replace("\\", "/")
    if known != KIND and not (own and known is None):
        return None
    node = history.nodes.get(failure.run.failing) if failure.run is not None else None
    site, moment = failure.site, failure.moment
    if node is not None and node.site:
        site, moment = node.site, node.moment  # the hooks around the forward are meant
    facts: dict[str, Fact] = {"error": failure.kind, "message": failure.said}
    around = _registration(history, site)
    if around is None or own:
        if not failure.site:
            return None
        here = [history.place("cause", failure.site, failure.moment, note("refused"))]
        return finding(KIND, "error", "refused", facts, cause=here, surfaced=[surfaced(history)])
    place, call = around
    which = 0 if failure.run is None else 1
    hook = _hook(history, place, call, which)
    causes: list[FindingPlace | None] = []
    for line in dict.fromkeys((hook, call.lineno)):
        where = Place(place.file, line, place.function, (), place.frame)
        causes.append(history.place("cause", (where,), moment))
    return finding(
        KIND,
        "error",
        ("pack", "unpack")[which],
        facts,
        cause=causes,
        witness=[history.place("witness", site, moment)],
        surfaced=[history.place("surfaced", failure.site, failure.moment)],
        fixes=_fixes(history, place.file, hook, which),
    )


def _fixes(history: History, file: str, line: int, which: int) -> list[Fix | None]:
    """A pack hook that writes nothing, an unpack hook that returns what it has."""
    text = history.text(file)
    if which == 0:
        return [fix("out-of-place", {"line": line}, edits.out_of_place(text, file, line))]
    function = source.function_at(text, line)
    if function is None or source.returns(function):
        return []
    edit = rewrites.returned(text, file, function)
    return [fix("return-unpacked", {"line": function.body[-1].lineno}, edit)]


def _registration(history: History, site: Site) -> tuple[Place, ast.Call] | None:
    """The `with saved_tensors_hooks(…)` around the innermost place that has one."""
    for place in reversed(site):
        for statement in source.around(history.text(place.file), place.line):
            if not isinstance(statement, ast.With | ast.AsyncWith):
                continue
            for item in statement.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and source.called(call) == "saved_tensors_hooks":
                    return place, call
    return None


def _hook(history: History, place: Place, call: ast.Call, which: int) -> int:
    """The line of a hook that matters: what it writes in place, else what it gives back."""
    name = ("pack_hook", "unpack_hook")[which]
    given = next((k.value for k in call.keywords if k.arg == name), None)
    if given is None and which < len(call.args):
        given = call.args[which]
    if isinstance(given, ast.Lambda):
        return given.lineno
    if not isinstance(given, ast.Name | ast.Attribute):
        return call.lineno
    wanted = given.id if isinstance(given, ast.Name) else given.attr
    module = source.tree(history.text(place.file))
    for node in ast.walk(module) if module is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            writes = [n for n in ast.walk(node) if _writes(n)]
            if which == 0 and writes:
                return int(getattr(writes[0], "lineno", node.lineno))
            returns = [n for n in ast.walk(node) if isinstance(n, ast.Return)]
            return returns[-1].lineno if returns else node.lineno
    return call.lineno


def _writes(node: ast.AST) -> bool:
    """Whether a piece of syntax writes in place: torch does not show a hook's calls."""
    if isinstance(node, ast.Call):
        name = source.called(node)
        return name.endswith("_") and not name.endswith("__")
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Subscript) for target in node.targets)
    return isinstance(node, ast.AugAssign)
