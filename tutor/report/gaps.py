"""What a trace of a long run does not have, in words."""

from __future__ import annotations

from tutor.trace import Trace
from tutor.trace.trace import Gap


def number(count: int) -> str:
    """A number as it is read: 2 310 044."""
    return f"{count:,}".replace(",", " ")


def gap_words(gap: Gap) -> str:
    """As in "2 310 044 events of iterations 120 to 99 880 are not kept"."""
    return f"{number(gap.end - gap.start)} events{_iterations(gap)} are not kept"


def gaps_words(trace: Trace) -> str:
    """All that is not kept in one such sentence, "" where everything is."""
    gaps = trace.gaps
    if not gaps:
        return ""
    whole = Gap(gaps[0].start, gaps[-1].end, 0, gaps[0].first, gaps[-1].last)
    lost = sum(gap.end - gap.start for gap in gaps)
    some = "most " if len(gaps) > 1 and _iterations(whole) else ""
    where = _iterations(whole).replace(" of ", f" of {some}", 1)
    return f"{number(lost)} events{where} are not kept"


def _iterations(gap: Gap) -> str:
    """The iterations of the outermost loop that moved on in a gap."""
    for depth, (first, last) in enumerate(zip(gap.first, gap.last, strict=False)):
        if first != last:
            outer = "".join(f"{number(n)}·" for n in gap.first[:depth])
            return f" of iterations {outer}{number(first)} to {outer}{number(last)}"
    return ""
