"""Pieces of markup that several parts of a page share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tutor.report.escape import escaped
from tutor.report.film import Slot, Variant

_INLINE = re.compile(r"`([^`]+)`|\*([^*\s][^*]*)\*")


def time(since: int, until: int | None, last: int, classes: str = "") -> str:
    """The attributes of an element that is shown from stop `since` to before `until`."""
    begin = f' data-a="{since}"' if since or until is not None else ""
    end = f' data-z="{until}"' if until is not None else ""
    if until is not None and until <= last:
        classes = f"{classes} off".strip()
    return (f' class="{classes}"' if classes else "") + begin + end


def line(variant: Variant) -> str:
    """The pieces of one line."""
    return "".join(
        f'<span class="{piece.style}">{escaped(piece.text)}</span>'
        if piece.style
        else escaped(piece.text)
        for piece in variant.line
    )


def slot(variants: Slot, last: int, tag: str = "span") -> str:
    """All variants of a row; those that are not true at the end are off."""
    return "".join(f"<{tag}{time(v.since, v.until, last)}>{line(v)}</{tag}>" for v in variants)


def inline(text: str) -> str:
    """Markdown of one line: `code` and *strong*."""
    parts: list[str] = []
    at = 0
    for found in _INLINE.finditer(text):
        parts.append(escaped(text[at : found.start()]))
        code, strong = found.groups()
        parts.append(f"<code>{escaped(code)}</code>" if code else f"<em>{escaped(strong)}</em>")
        at = found.end()
    parts.append(escaped(text[at:]))
    return "".join(parts)


def prose(text: str) -> str:
    """Paragraphs and lists of simple markdown."""
    out: list[str] = []
    items: list[str] = []
    for row in [*text.split("\n"), ""]:
        if row.startswith("- "):
            items.append(f"<li>{inline(row[2:])}</li>")
            continue
        if items:
            out.append(f"<ul>{''.join(items)}</ul>")
            items = []
        if row.strip():
            out.append(f"<p>{inline(row)}</p>")
    return "".join(out)


def section(key: str, title: str, body: str) -> str:
    """A part of the page with a heading; nothing for nothing."""
    if not body:
        return ""
    head = f'<h2 id="{key}-h">{title}</h2>'
    return f'<section id="{key}" aria-labelledby="{key}-h">{head}{body}</section>'


def table(head: Iterable[str], rows: Iterable[str], caption: str = "") -> str:
    """A table of ready rows."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in head)
    told = f"<caption>{caption}</caption>" if caption else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption or "table"}">'
        f"<table>{told}<thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
