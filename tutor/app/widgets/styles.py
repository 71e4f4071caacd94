"""Styles of component classes, with transparent colours mixed into what lies behind."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


def component_style(widget: Widget, name: str) -> Style:
    """What a component class sets, and nothing else, so that it can be laid over another style.

    The partial style that textual gives keeps a colour's alpha, which a terminal cannot show:
    the mixed colours are taken from the whole style.
    """
    part = widget.get_component_rich_style(name, partial=True)
    whole = widget.get_component_rich_style(name)
    return part + Style(
        color=whole.color if part.color is not None else None,
        bgcolor=whole.bgcolor if part.bgcolor is not None else None,
    )
