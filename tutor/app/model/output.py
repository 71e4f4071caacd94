"""What the program printed, as rows: text, warnings, the traceback, how it ended."""

from __future__ import annotations

from tutor.app.model.names import short_file
from tutor.app.model.rows import BLANK, Role, Row, Span, Target, wrap
from tutor.trace.state import State
from tutor.trace.trace import Trace

KEPT_LINES = 20_000
"""Lines shown at most: the last ones of a longer output."""


def output_rows(trace: Trace, state: State, width: int, main: str = "") -> list[Row]:
    """The output up to a moment; at the end also what came on the descriptors alone."""
    at_end = state.moment >= len(trace)
    raised = state.raised
    text = state.text
    if at_end and trace.end is not None and len(trace.end.output) > len(text):
        text = trace.end.output
    rows: list[Row] = []
    if raised is not None and raised.traceback:
        text = text.replace(raised.traceback, "")
    rows += text_rows(text, width)
    if at_end and trace.end is not None and trace.end.lost:
        rows.append(Row((Span(f"({trace.end.lost} bytes more were dropped)", "dim"),)))
    for warning in state.warnings:
        where = f"{short_file(warning.file)} line {warning.line}: "
        target = Target(warning.file, warning.line) if warning.file == main else None
        words = (Span("warning ", "warn"), Span(where, "dim"))
        spans = (*words, Span(f"{warning.category}: {warning.message}"))
        rows += [Row(line, target) for line in wrap(spans, width, "  ")]
    if raised is not None:
        if rows:
            rows.append(BLANK)
        rows += traceback_rows(raised.traceback or f"{raised.kind}: {raised.message}", width, main)
    if not rows:
        none = "Nothing was printed." if at_end else "Nothing was printed up to here."
        rows = [Row((Span(none, "dim"),))]
    if at_end and trace.end is not None:
        rows += _ending(trace, width)
    return rows


def text_rows(text: str, width: int) -> list[Row]:
    """Printed text, a row a line, long lines broken."""
    lines = text.expandtabs(8).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    rows: list[Row] = []
    if len(lines) > KEPT_LINES:
        rows.append(Row((Span(f"({len(lines) - KEPT_LINES} earlier lines not shown)", "dim"),)))
        lines = lines[-KEPT_LINES:]
    for line in lines:
        clean = visible(line)
        if len(clean) * 2 <= width:
            rows.append(Row((Span(clean),)))
        else:
            rows += [Row(part) for part in wrap((Span(clean),), width)] or [BLANK]
    return rows


def visible(text: str) -> str:
    """The text with control characters written out, so that none reaches the terminal."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else (chr(0x2400 + ord(c)) if ord(c) < 32 else "\ufffd") for c in text
    )


def traceback_rows(text: str, width: int, main: str) -> list[Row]:
    """A traceback: its places are links, its last line stands out."""
    rows: list[Row] = []
    lines = text.rstrip("\n").split("\n")
    for number, raw in enumerate(lines):
        line = _shortened(visible(raw))
        target = _traceback_target(line, main)
        role: Role = "bad" if number == len(lines) - 1 else ("link" if target else "dim")
        rows += [Row(part, target) for part in wrap((Span(line, role),), width, "    ")]
    return rows


def _shortened(line: str) -> str:
    """A traceback's line with the path of an installed library begun at the library's name."""
    head, mark, tail = line.partition("/site-packages/")
    if mark and head.lstrip().startswith('File "'):
        return f'{line[: len(line) - len(line.lstrip())]}File "{tail}'
    return line


def _traceback_target(line: str, main: str) -> Target | None:
    """The line that `File "snippet.py", line 3` names, where the file is the learner's."""
    head, _, rest = line.strip().partition('", line ')
    if not head.startswith('File "') or not rest:
        return None
    file = head.removeprefix('File "')
    number = rest.split(",")[0]
    return Target(file, int(number)) if number.isdigit() and file == main else None


def _ending(trace: Trace, width: int) -> list[Row]:
    """The last row: how the run ended and what it took."""
    end = trace.end
    assert end is not None
    seconds = f"{end.seconds:.2f} s" if end.seconds >= 0.1 else f"{end.seconds * 1000:.0f} ms"
    words = {
        "ok": f"ran to its end in {seconds}",
        "error": f"stopped by an exception after {seconds}",
        "exited": f"left by exit code {end.code} after {seconds}",
        "timeout": end.message or f"stopped: it took longer than {seconds}",
        "out-of-memory": end.message or "stopped: it asked for more memory than allowed",
        "killed": end.message or f"killed by signal {end.signal}",
        "cancelled": "stopped by you",
        "garbled": end.message or "its report could not be read",
    }[end.outcome]
    role: Role = "dim" if end.outcome in ("ok", "exited", "error") else "bad"
    return [BLANK, *(Row(line) for line in wrap((Span(words, role),), width))]
