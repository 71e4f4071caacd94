"""The palette: what each role of text looks like, resolved once for a whole screen.

A component class costs the style sheet a pass for every widget that declares it. Roles are the
same everywhere, so one hidden widget a screen declares them, and the others ask it.
"""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.widget import Widget

from tutor.app.model.highlight import KINDS
from tutor.app.model.rows import ROLES

LINES = ("cursor", "here", "blank")
"""Roles of whole lines: the cursor's row, the line that time stands at, a blank."""


class Palette(Widget):
    """Holds the styles of all roles; never seen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"role--{role}" for role in (*ROLES, *LINES)),
        *(f"code--{kind}" for kind in KINDS),
    }
    DEFAULT_CSS = """
    Palette {
        display: none;
        background: $background;
        color: $foreground;
        & > .role--dim { color: $foreground 65%; }
        & > .role--strong { text-style: bold; }
        & > .role--good { color: $text-success; }
        & > .role--bad { color: $text-error; text-style: bold; }
        & > .role--warn { color: $text-warning; }
        & > .role--code { color: $syn-number; }
        & > .role--name { color: $syn-name; text-style: bold; }
        & > .role--op { color: $syn-function; }
        & > .role--link { color: $text-primary; text-style: underline; }
        & > .role--new { color: $text-accent; text-style: italic; }
        & > .role--add { color: $text-success; }
        & > .role--cut { color: $text-error; }
        & > .role--rail { color: $text-primary; }
        & > .role--key { color: $text-accent; text-style: bold; }
        & > .role--active { background: $primary 35%; text-style: bold; }
        & > .role--cursor { background: $foreground 15%; }
        & > .role--here { background: $primary 25%; }
        & > .role--blank { background: $warning 30%; }
        & > .code--keyword { color: $syn-keyword; }
        & > .code--string { color: $syn-string; }
        & > .code--number { color: $syn-number; }
        & > .code--comment { color: $syn-comment; text-style: italic; }
        & > .code--function { color: $syn-function; }
        & > .code--builtin { color: $syn-builtin; }
        & > .code--operator { color: $syn-operator; }
        & > .code--decorator { color: $syn-function; }
        & > .code--constant { color: $syn-number; }
        &:ansi { background: ansi_default; color: ansi_default; }
        &:ansi > .role--dim, &:nocolor > .role--dim { color: $foreground; text-style: dim; }
        &:ansi > .role--active, &:nocolor > .role--active { text-style: bold reverse; }
        &:ansi > .role--cursor, &:nocolor > .role--cursor { text-style: reverse; }
        &:ansi > .role--here, &:nocolor > .role--here { text-style: underline; }
        &:ansi > .role--blank, &:nocolor > .role--blank { text-style: reverse; }
        &:ansi > .code--keyword, &:nocolor > .code--keyword { text-style: bold; }
        &:ansi > .role--active, &:ansi > .role--cursor, &:ansi > .role--here,
        &:ansi > .role--blank { background: ansi_default; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="palette")
        self._styles: dict[str, Style] = {}

    def notify_style_update(self) -> None:
        self._styles.clear()
        super().notify_style_update()

    def style(self, name: str) -> Style:
        """What a class ("role--dim", "code--keyword") sets and nothing else.

        The partial style that textual gives keeps a colour's alpha, which a terminal cannot
        show: the mixed colours are taken from the whole style.
        """
        style = self._styles.get(name)
        if style is None:
            part = self.get_component_rich_style(name, partial=True)
            whole = self.get_component_rich_style(name)
            style = self._styles[name] = part + Style(
                color=whole.color if part.color is not None else None,
                bgcolor=whole.bgcolor if part.bgcolor is not None else None,
            )
        return style


def palette_of(widget: Widget) -> Palette:
    """The palette of the widget's screen."""
    return widget.screen.query_one("#palette", Palette)
