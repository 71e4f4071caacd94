"""Markdown as plain lines, and text from programs made safe to print."""

from __future__ import annotations

import re
import textwrap

WIDTH = 78

_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*")
_ITEM = re.compile(r"^(\s*)([-*]|\d+[.)])\s+")


def plain(text: str) -> str:
    """One line of markdown without its marks. Code with a space in it is put in quotes."""
    parts = []
    for index, part in enumerate(_CODE.split(text)):
        if index % 2:
            parts.append(f'"{part}"' if " " in part else part)
        else:
            parts.append(_STRONG.sub(lambda found: found[1] or found[2], part))
    return "".join(parts)


def lines_of(markdown: str, width: int = WIDTH) -> list[str]:
    """Markdown as wrapped lines: paragraphs, list items, and code as it stands."""
    lines: list[str] = []
    block: list[str] = []
    fenced = False

    def flush() -> None:
        if block:
            first = _ITEM.match(block[0])
            indent = " " * len(first[0]) if first else ""
            text = plain(" ".join(line.strip() for line in block))
            lines.extend(textwrap.wrap(text, width, subsequent_indent=indent) or [""])
            block.clear()

    for line in markdown.strip("\n").splitlines():
        if line.strip().startswith("```"):
            flush()
            fenced = not fenced
        elif fenced or line.startswith("    "):
            flush()
            lines.append(line)
        elif not line.strip():
            flush()
            lines.append("")
        else:
            if _ITEM.match(line):
                flush()
            block.append(line.lstrip("#").strip() if line.startswith("#") else line)
    flush()
    return lines


def wrapped(text: str, indent: str = "") -> list[str]:
    """One paragraph, wrapped, all of it indented."""
    return textwrap.wrap(plain(text), WIDTH, initial_indent=indent, subsequent_indent=indent) or [
        indent
    ]


def safe(text: str) -> list[str]:
    """A program's output as lines, with control characters made visible."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else _visible(c) for c in text)
    return shown.splitlines()


def _visible(character: str) -> str:
    code = ord(character)
    if code == 0x0D:
        return "\n"
    return f"^{chr(code + 64)}" if code < 32 else f"<{code:02x}>"


def numbered(code: str) -> list[str]:
    """Code with line numbers from 1."""
    return [f"{number:>3}  {line}" for number, line in enumerate(code.splitlines(), 1)] or [
        "     (no code yet)"
    ]
