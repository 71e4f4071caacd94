"""What happened in a run, why, where, and what to change: `findings(trace)`.

Pure: a trace goes in, findings come out. A kind of trouble has a module in `kinds`; sentences
live in `catalogue`, one file a language, and `words(finding)` puts them together.
"""

from __future__ import annotations

import ast
import logging

import msgspec

from tutor.explain import source
from tutor.explain.build import note
from tutor.explain.finding import Edit, Finding, FindingPlace, Fix, Spot
from tutor.explain.history import Failure, History
from tutor.explain.kinds import warned
from tutor.explain.messages import Words, words
from tutor.explain.registry import KINDS, lesson_of
from tutor.trace import Trace

__all__ = [
    "Edit",
    "Finding",
    "FindingPlace",
    "Fix",
    "Spot",
    "Words",
    "findings",
    "lesson_of",
    "words",
]

_ORDER = {"error": 0, "warning": 1, "note": 2}

_log = logging.getLogger(__name__)


def findings(trace: Trace) -> list[Finding]:
    """What went wrong in a run, or is worth knowing; the root cause comes first.

    An error comes with warnings, but without notes (one thing at a time), save for what anomaly
    mode said of it.
    """
    history = History(trace)
    found: list[Finding] = []
    failure = history.failure
    for kind in KINDS if failure is not None else ():
        if kind.raised is None or failure is None:
            continue
        try:
            explained = kind.raised(history, failure)
        except Exception:  # a kind that fails must not hide what the others know
            _log.exception("the kind %s could not look at this run", kind.id)
            continue
        if explained is not None:
            found.append(_handed_on(history, failure, explained))
            break
    for kind in KINDS:
        if kind.ran is None:
            continue
        try:
            found += kind.ran(history)
        except Exception:
            _log.exception("the kind %s could not look at this run", kind.id)
    found += warned.notes(history, {one.kind for one in found})
    if failure is not None:
        found = [one for one in found if one.severity != "note" or one.kind == "anomaly"]
        if found and found[0].kind == "other" and _own_check(history, failure):
            return found[1:] + found[:1]  # the check tells that, the warnings tell why
    return sorted(found, key=lambda one: _ORDER[one.severity])


def _handed_on(history: History, failure: Failure, one: Finding) -> Finding:
    """The finding with the place where the program raised another error instead."""
    place = history.place("surfaced", failure.handed_on, None, note("handed-on"))
    if place is None:
        return one
    return msgspec.structs.replace(one, places=(*one.places, place))


def _own_check(history: History, failure: Failure) -> bool:
    """Whether a line of the program itself raised the error: `assert …`, `raise …`."""
    if not failure.site or failure.library:
        return False
    place = failure.site[-1]
    node = source.statement(history.text(place.file), place.line)
    return isinstance(node, ast.Assert | ast.Raise)
