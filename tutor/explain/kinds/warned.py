"""What torch itself warned about, where no kind has found the same in the state of the run."""

from __future__ import annotations

from collections.abc import Collection

from tutor.explain import messages
from tutor.explain.build import finding, note
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import History
from tutor.explain.patterns import kind_of
from tutor.trace import events as ev


def notes(history: History, known: Collection[str]) -> list[Finding]:
    """A note for the first warning of each kind that is not among the known ones.

    A warning is worth reading and often harmless, so it is never more than a note.
    """
    found: dict[str, Finding] = {}
    for moment, event in history.trace.of_kind(ev.Warned):
        kind = kind_of(event.message)
        if kind is None or kind in known or kind in found:
            continue
        if not messages.known(f"{kind}.warned.title"):
            continue
        place = _place(history, moment, event)
        if place is None:
            continue
        lines = [line.strip() for line in event.message.strip().splitlines() if line.strip()]
        facts: dict[str, Fact] = {
            "message": lines[0].removesuffix(".") if lines else event.category
        }
        seen = history.line_place("surfaced", place.file, place.line)
        found[kind] = finding(kind, "note", "warned", facts, cause=[place], surfaced=[seen])
    return list(found.values())


def _place(history: History, moment: int, event: ev.Warned) -> FindingPlace | None:
    """The user's line that was running when the warning came."""
    site = history.site_at(moment)
    if site:
        return history.place("cause", site, moment, note("warned"))
    if event.file in history.trace.texts:
        return history.line_place("cause", event.file, event.line, note("warned"))
    return None
