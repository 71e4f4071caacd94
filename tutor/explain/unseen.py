"""What ran out of the observer's sight, in words: silence about it would be taken for "nothing"."""

from __future__ import annotations

from tutor.explain.messages import known, say
from tutor.trace import Trace
from tutor.trace.state import Site


def unseen(trace: Trace) -> list[str]:
    """A sentence for each sort of thing that was not observed, with the lines where it began."""
    places: dict[str, list[str]] = {}
    for one in trace.last.unseen:
        lines = places.setdefault(one.what, [])
        where = _where(trace, one.site)
        if where not in lines:
            lines.append(where)
    found: list[str] = []
    for what, lines in places.items():
        more = [f"{len(lines) - 3} more"] if len(lines) > 3 else []
        message = f"unseen.{what}"
        if known(message):
            found.append(say(message, {"where": ", ".join([*lines[:3], *more])}))
    return found


def _where(trace: Trace, site: Site) -> str:
    if not site:
        return "outside of your files"
    place = site[-1]
    program = trace.program
    main = program.sources[-1].file if program is not None and program.sources else place.file
    return f"line {place.line}" if place.file == main else f"{place.file}:{place.line}"
