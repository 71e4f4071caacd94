"""The colours of a document, for light and dark screens and for paper, and their contrast."""

from __future__ import annotations

LIGHT = {
    "bg": "#ffffff",
    "panel": "#f6f8fa",
    "line": "#c9d1d9",
    "fg": "#1f2328",
    "dim": "#57606a",
    "good": "#116329",
    "bad": "#b31d28",
    "warn": "#7d4e00",
    "name": "#0550ae",
    "code": "#6639ba",
    "mark-bad": "#ffebe9",
    "mark-warn": "#fff8c5",
    "mark-note": "#ddf4ff",
}

DARK = {
    "bg": "#0d1117",
    "panel": "#161b22",
    "line": "#3d444d",
    "fg": "#e6edf3",
    "dim": "#9da7b1",
    "good": "#56d364",
    "bad": "#ff8f88",
    "warn": "#e3b341",
    "name": "#79c0ff",
    "code": "#d2a8ff",
    "mark-bad": "#3d1518",
    "mark-warn": "#33270a",
    "mark-note": "#0c2d4d",
}

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def variables() -> str:
    """CSS: light, dark where the reader prefers that, and light on paper."""
    return (
        f":root{{color-scheme:light dark;{_rules(LIGHT)}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{_rules(DARK)}}}}}"
    )


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2.2, relative luminance)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _rules(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
