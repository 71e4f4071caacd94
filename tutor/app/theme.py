"""Colours: a dark and a light theme of our own, and the colours of code for any theme."""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

SYNTAX_DARK: Mapping[str, str] = {
    "syn-keyword": "#c39ac9",
    "syn-string": "#99c794",
    "syn-number": "#f2b482",
    "syn-comment": "#8b95a5",
    "syn-function": "#82aaff",
    "syn-builtin": "#5fc9c4",
    "syn-operator": "#b8c0cc",
    "syn-name": "#e8eaf0",
}
SYNTAX_LIGHT: Mapping[str, str] = {
    "syn-keyword": "#8a2f9b",
    "syn-string": "#276a2b",
    "syn-number": "#8f4a00",
    "syn-comment": "#5d6673",
    "syn-function": "#1d4fb8",
    "syn-builtin": "#00696b",
    "syn-operator": "#3d4653",
    "syn-name": "#1b2029",
}
SYNTAX_ANSI: Mapping[str, str] = {
    "syn-keyword": "ansi_magenta",
    "syn-string": "ansi_green",
    "syn-number": "ansi_cyan",
    "syn-comment": "ansi_default",
    "syn-function": "ansi_blue",
    "syn-builtin": "ansi_cyan",
    "syn-operator": "ansi_default",
    "syn-name": "ansi_default",
}

DARK = Theme(
    name="tutor-dark",
    dark=True,
    primary="#6c9ef8",
    secondary="#5fc9c4",
    accent="#e0a3ff",
    success="#7fc77a",
    warning="#e5b455",
    error="#f4727c",
    foreground="#d7dce5",
    background="#15181e",
    surface="#191d24",
    panel="#222831",
    variables={**SYNTAX_DARK, "border": "#6c9ef8", "border-blurred": "#3a4350"},
)
LIGHT = Theme(
    name="tutor-light",
    dark=False,
    primary="#1d5fd0",
    secondary="#00696b",
    accent="#8a2f9b",
    success="#1e7a34",
    warning="#8f5a00",
    error="#c0202f",
    foreground="#1f252e",
    background="#f7f8fa",
    surface="#ffffff",
    panel="#e9ecf1",
    variables={**SYNTAX_LIGHT, "border": "#1d5fd0", "border-blurred": "#b4bcc8"},
)


def syntax(theme: Theme) -> Mapping[str, str]:
    """The colours of code for a theme that does not bring its own."""
    if theme.ansi:
        return SYNTAX_ANSI
    return SYNTAX_DARK if theme.dark else SYNTAX_LIGHT
