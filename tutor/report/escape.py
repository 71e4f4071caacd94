"""Text of a program as text of a document: nothing in it is markup, and nothing is unseen."""

from __future__ import annotations

import html

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))


def _table() -> dict[int, str]:
    table: dict[int, str] = {code: chr(0x2400 + code) for code in range(32)}
    del table[0x09], table[0x0A]
    table[0x7F] = "␡"
    table |= {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
    # Marks that reorder what is read, so that code could look like what it is not.
    table |= {code: f"\\u{code:04x}" for code in _BIDI}
    table |= dict.fromkeys((0xFFFE, 0xFFFF), "�")
    return table


_UNSEEN = _table()


def visible(text: str) -> str:
    """The text with control characters, marks of direction and lone surrogates made visible."""
    text = text.replace("\r\n", "\n").translate(_UNSEEN)
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        text = "".join(
            f"\\u{ord(letter):04x}" if "\ud800" <= letter <= "\udfff" else letter for letter in text
        )
    return text


def escaped(text: str) -> str:
    """The text for an element or a quoted attribute of HTML or SVG."""
    return html.escape(visible(text), quote=True)
