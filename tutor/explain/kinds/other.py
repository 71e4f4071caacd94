"""An ordinary Python or torch error that autograd has no part in."""

from __future__ import annotations

import ast
import re

from tutor.explain import source
from tutor.explain.build import finding, fix
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.trace import NONE

KIND = "other"

_NO_DEVICE = re.compile(
    r"not compiled with|No CUDA GPUs|NVIDIA driver|CUDA.*(?:available|error)", re.I
)

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
        # Python puts the place into the message, too; ours stands in the text.
        facts["message"] = re.sub(r" \([^()]*, line \d+\)$", "", str(facts["message"]))
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
    elif "no known parent package" in failure.message:
        variant = "import-relative"
    elif _own(history, failure):
        variant = "own"
    elif _NO_DEVICE.search(failure.message) and failure.kind in ("AssertionError", "RuntimeError"):
        variant = "device"
    elif "loading state_dict" in failure.message:
        variant, facts["message"] = "state-dict", _several(failure)
    elif failure.run is not None or _inside_torch(failure):
        shapes = _shapes(history, failure)
        variant = "shapes" if shapes else "torch"
        facts["shapes"] = shapes
    elif failure.kind == "AssertionError" and failure.library:
        variant = "error"
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[place],
        surfaced=[_as_surfaced(place)],
        fixes=_rename(history, facts, place),
    )


def _own(history: History, failure: Failure) -> bool:
    """Whether a `raise` of the program itself made the error."""
    if failure.library or not failure.site:
        return False
    here = failure.site[-1]
    return isinstance(source.statement(history.text(here.file), here.line), ast.Raise)


def _several(failure: Failure) -> str:
    """The parts of a message that goes over several lines, the first one left out."""
    lines = [line.strip() for line in failure.message.strip().splitlines() if line.strip()]
    return " ".join(lines[1:3])[:300] or failure.said


def _shapes(history: History, failure: Failure) -> str:
    """`x is 2×3, w is 2×3` for the tensors of a call that torch refused, "" where none is known."""
    op = failure.op
    told: list[str] = []
    for uid in dict.fromkeys(op.event.args if op is not None else ()):
        meta = history.meta(uid, failure.moment)
        if meta is not None:
            size = "×".join(str(n) for n in meta.shape) or "a single number"
            told.append(f"{history.name(uid, failure.moment)} is {size} ({meta.dtype})")
    return ", ".join(told[:4]) if len(told) > 1 else ""


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
    elif place is not None and place.file not in _given(history):
        variant, facts["module"] = "syntax-module", re.split(r"[\\/]", place.file)[-1]
    return finding(
        KIND, "error", variant, facts, cause=[place], surfaced=[_as_surfaced(place)], fixes=fixes
    )


def _given(history: History) -> set[str]:
    program = history.trace.program
    return {source.file for source in program.sources} if program is not None else set()


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
