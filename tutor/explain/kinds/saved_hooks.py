"""Hooks that pack and unpack saved tensors, and do it wrongly."""

from __future__ import annotations

import ast

from tutor.explain import source
from tutor.explain.build import finding
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import Failure, History
from tutor.explain.patterns import kind_of
from tutor.trace import Place, Site

KIND = "saved-hooks"


def raised(history: History, failure: Failure) -> Finding | None:
    """An op that a pack hook spoiled, or a backward that got no tensor from an unpack hook."""
    if kind_of(failure.message) != KIND:
        return None
    node = history.last.nodes.get(failure.run.failing) if failure.run is not None else None
    site, moment = failure.site, failure.moment
    if node is not None and node.site:
        site, moment = node.site, node.moment  # the hooks around the forward are meant
    around = _registration(history, site)
    if around is None:
        return None
    place, call = around
    hook = _hook(history, place, call, 0 if failure.run is None else 1)
    lines = [line.strip() for line in failure.message.strip().splitlines() if line.strip()]
    facts: dict[str, Fact] = {"error": failure.kind, "message": lines[0] if lines else KIND}
    causes: list[FindingPlace | None] = []
    for line in dict.fromkeys((hook, call.lineno)):
        here = Place(place.file, line, place.function, (), place.frame)
        causes.append(history.place("cause", (here,), moment))
    return finding(
        KIND,
        "error",
        "known",
        facts,
        cause=causes,
        witness=[history.place("witness", site, moment)],
        surfaced=[history.place("surfaced", failure.site, failure.moment)],
    )


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
