"""Putting findings together: places that may be missing, fixes that may not apply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tutor.explain import messages
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix, Severity
from tutor.explain.history import History, dedupe
from tutor.trace import Value


def finding(
    kind: str,
    severity: Severity,
    variant: str,
    facts: dict[str, Fact],
    *,
    cause: Sequence[FindingPlace | None] = (),
    witness: Sequence[FindingPlace | None] = (),
    surfaced: Sequence[FindingPlace | None] = (),
    fixes: Iterable[Fix | None] = (),
) -> Finding:
    """A finding with at most three cause places, and the fixes that could be made.

    Facts get the lines of the first place of each role: `cause_line`, `witness_line`,
    `surfaced_line`, each with its code: `cause_code`, …
    """
    causes, witnesses, shown = dedupe(list(cause)), dedupe(list(witness)), dedupe(list(surfaced))
    told: dict[str, Fact] = {}
    for role, places in (("cause", causes), ("witness", witnesses), ("surfaced", shown)):
        if places:
            told[f"{role}_line"] = places[0].line
            told[f"{role}_code"] = places[0].text
    told.update(facts)
    seen: set[tuple[Edit, ...]] = set()
    kept: list[Fix] = []
    for proposed in fixes:
        if proposed is not None and proposed.edits not in seen:
            seen.add(proposed.edits)
            kept.append(proposed)
    return Finding(
        kind, severity, f"{kind}.{variant}", told, (*causes, *witnesses, *shown), tuple(kept[:5])
    )


def fix(message: str, facts: dict[str, Fact], *edits: Edit | None) -> Fix | None:
    """A fix with a title from the catalogue, None if one of its edits could not be made."""
    made = [edit for edit in edits if edit is not None]
    if not made or len(made) != len(edits):
        return None
    return Fix(messages.say(f"fix.{message}", facts), tuple(made))


def note(message: str, **facts: Fact) -> str:
    """A few words for the end of a line."""
    return messages.say(f"note.{message}", facts)


def shown(value: Value | None, limit: int = 6) -> str:
    """A value in a few characters: `3`, `[1, 2, 3]`, `2×2, all 1`, `64×64`. "" if unknown."""
    if value is None:
        return ""
    flat = value.flat
    if flat is not None and len(flat) == 1:
        return _one(flat[0])
    size = "×".join(str(n) for n in value.shape)
    if flat and len(set(flat)) == 1:
        return (
            f"{size}, all {_one(flat[0])}" if len(value.shape) > 1 else f"{size} × {_one(flat[0])}"
        )
    if flat is not None and len(flat) <= limit and len(value.shape) == 1:
        return "[" + ", ".join(_one(part) for part in flat) + "]"
    return size


def _one(part: float | int | bool | str) -> str:
    if isinstance(part, bool | str):
        return str(part)
    return messages.number(part)


def surfaced(history: History, words: str = "") -> FindingPlace | None:
    """Where the error that ended the run came out."""
    failure = history.failure
    if failure is None:
        return None
    return history.place("surfaced", failure.site, failure.moment, words)
