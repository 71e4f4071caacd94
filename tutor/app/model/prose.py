"""Short texts with inline marks (`code`, **strong**) as rows, for panes that are not Markdown."""

from __future__ import annotations

import re

from tutor.app.model.rows import BLANK, Role, Row, Span, Spans, wrap

_INLINE = re.compile(r"`+([^`]+)`+|\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])")
_BULLET = re.compile(r"^(\s*)([-*]|\d+\.)\s+(.*)$")


def inline(text: str, role: Role = "") -> Spans:
    """The spans of one paragraph; code and strong words get roles of their own."""
    spans: list[Span] = []
    start = 0
    for found in _INLINE.finditer(text):
        if found.start() > start:
            spans.append(Span(text[start : found.start()], role))
        code, strong, soft = found.groups()
        if code is not None:
            spans.append(Span(code, "code"))
        else:
            spans.append(Span(strong or soft, "strong"))
        start = found.end()
    if start < len(text):
        spans.append(Span(text[start:], role))
    return tuple(spans)


def plain(text: str) -> str:
    """The words alone, on one line."""
    return "".join(span.text for span in inline(" ".join(text.split())))


def first_sentence(text: str) -> str:
    """The first sentence, without marks."""
    words = plain(text)
    found = re.search(r"[.!?](?=\s+[A-Z]|$)", words)
    return words[: found.end()] if found else words


def prose_rows(text: str, width: int, indent: str = "", *, lines: bool = False) -> list[Row]:
    """Paragraphs, bullets and fenced code, broken to the width.

    With `lines` each line of the text begins a row, where Markdown would join them.
    """
    rows: list[Row] = []
    paragraph: list[str] = []
    fenced = False

    def flush() -> None:
        if paragraph:
            rows.extend(_paragraph(" ".join(paragraph), width, indent))
            paragraph.clear()

    for line in text.strip("\n").split("\n"):
        stripped = line.strip()
        if stripped.startswith("```"):
            flush()
            fenced = not fenced
        elif fenced:
            parts = wrap((Span(line, "code"),), width - len(indent) - 2, "  ")
            rows += [Row((Span(indent + "  "), *part)) for part in parts]
        elif not stripped:
            flush()
            if rows and rows[-1] is not BLANK:
                rows.append(BLANK)
        elif _BULLET.match(line):
            flush()
            paragraph.append(line)
        else:
            paragraph.append(stripped)
            if lines:
                flush()
    flush()
    while rows and rows[-1] is BLANK:
        rows.pop()
    return rows


def _paragraph(text: str, width: int, indent: str) -> list[Row]:
    found = _BULLET.match(text)
    lead, hang = "", ""
    if found:
        lead = f"{found[2]} ".replace("* ", "- ")
        hang = " " * len(lead)
        text = found[3]
    spans = (Span(lead, "dim"), *inline(text)) if lead else inline(text)
    lines = wrap(spans, width - len(indent), hang)
    return [Row((Span(indent), *line) if indent else line) for line in lines]
