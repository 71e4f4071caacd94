"""deepcopy, pickling or sending of a tensor that was computed."""

from __future__ import annotations

import re

from tutor.explain import repairs, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.explain.reads import assigned
from tutor.trace import Place
from tutor.trace.state import TensorState

KIND = "nonleaf-copy"

_SAID = re.compile(
    r"support the deepcopy protocol|refusing to serialize non-leaf|__setstate__ can be only called"
)
"""Copying runs in library code that shows us no call: torch's words decide."""


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused copy; the tensor is found by the names on the line, or on those that fed it."""
    if not _SAID.search(failure.message) or not failure.site:
        return None
    here = failure.site[-1]
    text = history.text(here.file)
    facts: dict[str, Fact] = {"tensor": "a computed tensor"}
    causes: list[FindingPlace | None] = []
    found = history.computed_on(source.statement(text, here.line), here.frame, failure.moment)
    given = None
    if found is None:
        given, found = _fed(history, here.frame, text, here.line, failure.moment)
    if found is not None:
        facts["tensor"] = history.name(found.uid, failure.moment)
        node = history.nodes.get(found.meta.node)
        if node is not None:
            causes.append(history.place("cause", node.site, node.moment, note("computed")))
    if given is not None:
        causes.append(history.line_place("cause", here.file, given))
    causes.append(history.place("cause", failure.site, failure.moment, note("copies")))
    return finding(
        KIND,
        "error",
        "plain",
        facts,
        cause=causes,
        surfaced=[surfaced(history)],
        fixes=_fixes(history, found, here, given),
    )


def _fixes(
    history: History, found: TensorState | None, here: Place, given: int | None
) -> list[Fix | None]:
    """Detached where it is copied, or where it was put away."""
    text = history.text(here.file)
    state = rewrites.deepcopied_state(text, here.file, here.line)
    whole = [fix("copy-state", {"line": here.line}, state)]
    if found is None:
        return [*whole]
    made: list[Fix | None] = []
    names = list(dict.fromkeys(named.name for named in found.names))
    for line in (here.line, given):
        for name in names if line is not None else ():
            edit = rewrites.detached_name(text, here.file, line or 0, name)
            made.append(fix("detach-here", {"line": line}, edit))
    node = history.nodes.get(found.meta.node)
    if node is not None and node.site:
        there = node.site[-1]
        kept = repairs.result_detached(
            history.text(there.file), there.file, there.line, any_target=True
        )
        made.append(fix("detach-here", {"line": there.line}, kept))
    return [*made, *whole]


def _fed(
    history: History, frame: int, text: str, line: int, moment: int
) -> tuple[int | None, TensorState | None]:
    """One step further: the line that assigned a name which this line reads."""
    node = source.statement(text, line)
    names = source.names_read(node) if node is not None else set()
    for number in range(line - 1, 0, -1):
        if names & assigned(text, number):
            found = history.computed_on(source.statement(text, number), frame, moment)
            if found is not None:
                return number, found
    return None, None
