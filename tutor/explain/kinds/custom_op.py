"""Operators made with `torch.library` that have no rule for autograd."""

from __future__ import annotations

import ast
import re

from tutor.explain import source
from tutor.explain.build import finding, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import Failure, History
from tutor.explain.patterns import kind_of
from tutor.trace import NONE

KIND = "custom-op"

_NAMED = re.compile(r"(\w+)(?:::|\.)(\w+)(?:\.\w+)?")


def raised(history: History, failure: Failure) -> Finding | None:
    """A backward through an operator without a formula, or a formula that was refused."""
    own = bool(failure.library) and "torch/_library/" in failure.library[-1][0].replace("\\", "/")
    if not failure.site or kind_of(failure.message) not in (None, KIND):
        return None
    if not own and kind_of(failure.message) != KIND:
        return None
    named = _NAMED.search(failure.message)
    name = named[2] if named is not None else "the operator"
    facts: dict[str, Fact] = {"op": name, "message": failure.said}
    node = history.nodes.get(failure.run.failing) if failure.run is not None else None
    causes: list[FindingPlace | None] = []
    variant = "refused"
    if node is not None and failure.run is not None and failure.run.failing != NONE:
        variant = "no-formula" if "no autograd formula" in failure.message else "formula"
        causes.append(history.place("cause", node.site, node.moment, note("no-derivative")))
    causes.append(history.place("cause", failure.site, failure.moment))
    defined = _defined(history, failure, name)
    if variant == "formula":
        causes = [*_formula(history), *causes]
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=causes[:1] if variant == "no-formula" else causes,
        witness=[defined],
        surfaced=[surfaced(history)],
    )


def _defined(history: History, failure: Failure, name: str) -> FindingPlace | None:
    """The function that the operator was made of."""
    for file, text in history.trace.texts.items():
        module = source.tree(text)
        for node in ast.walk(module) if module is not None else ():
            if not isinstance(node, ast.FunctionDef):
                continue
            told = [ast.unparse(one) for one in node.decorator_list]
            if any(f"::{name}" in one for one in told):
                return history.line_place("witness", file, node.lineno, note("defined"))
    return None


def _formula(history: History) -> list[FindingPlace | None]:
    """The lines that register a formula."""
    return [
        history.line_place("cause", file, line)
        for file, text in history.trace.texts.items()
        for line in source.lines_calling(text, "register_autograd")[:1]
    ]
