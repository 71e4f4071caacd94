"""An ordinary Python or torch error that autograd has no part in."""

from __future__ import annotations

import re

from tutor.explain import source
from tutor.explain.build import finding, fix
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.trace import NONE

KIND = "other"

_PLAIN = {
    "NameError": "name",
    "UnboundLocalError": "unbound",
    "AttributeError": "attribute",
    "ModuleNotFoundError": "module",
    "ImportError": "import",
    "IndexError": "index",
    "KeyError": "key",
    "TypeError": "type",
    "ValueError": "value",
    "ZeroDivisionError": "zero-division",
    "FileNotFoundError": "file",
    "AssertionError": "assertion",
    "RecursionError": "recursion",
    "KeyboardInterrupt": "interrupt",
    "MemoryError": "memory",
    "EOFError": "input",
}


def raised(history: History, failure: Failure) -> Finding | None:
    """Any error that no other kind has claimed."""
    facts: dict[str, Fact] = {
        "error": failure.kind,
        "message": failure.message.strip().splitlines()[0] if failure.message.strip() else "",
    }
    place = history.place("cause", failure.site, failure.moment)
    if failure.kind in ("SyntaxError", "IndentationError", "TabError"):
        return _syntax(history, failure, facts, place)
    variant = _PLAIN.get(failure.kind, "error")
    if place is None:
        variant = "start"
    elif failure.kind == "NameError":
        found = re.search(r"name '(\w+)'", failure.message)
        facts["name"] = found.group(1) if found else "this name"
        close = _similar(history, str(facts["name"]), place)
        if close:
            facts["close"], variant = close, "name-close"
    elif failure.run is not None or _inside_torch(failure):
        variant = "torch"
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[place],
        surfaced=[_as_surfaced(place)],
        fixes=_rename(history, facts, place),
    )


def _inside_torch(failure: Failure) -> bool:
    return failure.op is not None and failure.kind in ("RuntimeError", "IndexError", "TypeError")


def _as_surfaced(place: FindingPlace | None) -> FindingPlace | None:
    if place is None:
        return None
    return FindingPlace(
        "surfaced", place.file, place.line, place.function, place.iteration, place.stack,
        place.text, "", place.moment,
    )  # fmt: skip


def _syntax(
    history: History, failure: Failure, facts: dict[str, Fact], place: FindingPlace | None
) -> Finding:
    code = place.text if place is not None else ""
    old_print = re.match(r"print\s+[^\s(=.\[]|print\s+\(.*\)\s*[,%]", code)
    fixes: list[Fix | None] = []
    variant = "syntax"
    if old_print and place is not None:
        variant = "old-print"
        value = code[len("print") :].strip()
        space = source.indent(history.text(place.file), place.line)
        edit = Edit(place.file, place.line, place.line, f"{space}print({value})")
        fixes.append(fix("print-call", {"line": place.line}, edit))
    elif failure.kind != "SyntaxError":
        variant = "indentation"
    return finding(
        KIND, "error", variant, facts, cause=[place], surfaced=[_as_surfaced(place)], fixes=fixes
    )


def _similar(history: History, name: str, place: FindingPlace | None) -> str:
    """A name that the program knows and that is written almost like this one."""
    import builtins
    import difflib

    known: set[str] = set(dir(builtins))
    if place is not None:
        tree = source.tree(history.text(place.file))
        known |= source.names_bound(tree) if tree is not None else set()
    close = difflib.get_close_matches(name, sorted(known - {name}), 1, 0.75)
    return close[0] if close else ""


def _rename(
    history: History, facts: dict[str, Fact], place: FindingPlace | None
) -> list[Fix | None]:
    close = facts.get("close")
    if place is None or not isinstance(close, str) or place.line == NONE:
        return []
    line = source.line(history.text(place.file), place.line)
    new = re.sub(rf"\b{re.escape(str(facts['name']))}\b", close, line)
    edit = Edit(place.file, place.line, place.line, new)
    return [fix("rename", {"line": place.line, "name": close}, edit)]
