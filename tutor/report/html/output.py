"""What the program printed, with its time where that is known; bounded."""

from __future__ import annotations

from tutor.report.escape import escaped
from tutor.report.html.markup import time
from tutor.report.html.reel import Reel
from tutor.trace import events as ev
from tutor.trace.trace import Trace

KEPT = 32_768
"""Letters kept of each end of the output."""


def output(trace: Trace, reel: Reel) -> tuple[str, int]:
    """The output as text, and how many letters were left out."""
    pieces: list[tuple[int, int, str]] = []
    for moment, event in trace.of_kind(ev.Output):
        stop = reel.after(moment)
        if pieces and pieces[-1][:2] == (stop, event.stream):
            pieces[-1] = (stop, event.stream, pieces[-1][2] + event.text)
        else:
            pieces.append((stop, event.stream, event.text))
    whole = trace.end.output if trace.end is not None else ""
    if len(whole) > sum(len(text) for _, _, text in pieces) + 1:
        # Some of it came past Python, from C or from another process: its time is not known.
        pieces = [(0, 1, whole)]
    total = sum(len(text) for _, _, text in pieces)
    if not total:
        return "", 0
    left = max(0, total - 2 * KEPT)
    parts: list[str] = []
    at = 0
    for stop, stream, text in pieces:
        begin, at = at, at + len(text)
        if left and at > KEPT and begin < total - KEPT:
            head, tail = text[: max(0, KEPT - begin)], text[max(0, total - KEPT - begin) :]
            gap = f"\n… {left} letters are left out …\n" if head or not begin else ""
            text = head + gap + tail
        style = "err" if stream == 2 else ""
        parts.append(f"<span{time(stop, None, reel.last, style)}>{escaped(text)}</span>")
    return f'<pre class="output" tabindex="0">{"".join(parts)}</pre>', left
