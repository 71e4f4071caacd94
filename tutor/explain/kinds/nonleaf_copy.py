"""deepcopy, pickling or sending of a tensor that was computed."""

from __future__ import annotations

import re

from tutor.explain import source
from tutor.explain.build import finding, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import Failure, History
from tutor.explain.reads import assigned
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
        node = history.last.nodes.get(found.meta.node)
        if node is not None:
            causes.append(history.place("cause", node.site, node.moment, note("computed")))
    if given is not None:
        causes.append(history.line_place("cause", here.file, given))
    causes.append(history.place("cause", failure.site, failure.moment, note("copies")))
    return finding(KIND, "error", "plain", facts, cause=causes, surfaced=[surfaced(history)])


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
