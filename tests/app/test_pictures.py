"""Pictures of the screen, compared with those that a person has looked at."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

SIZES = {"narrow": (80, 24), "medium": (120, 40), "wide": (200, 60), "tiny": (60, 18)}


async def frozen(pilot: Pilot, *keys: str) -> None:
    """Press these keys and wait until everything rests.

    The caret is frozen: whether it is lit would depend on when the picture was taken.
    """
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    for widget in pilot.app.screen.query("CodeEditor, Input"):
        widget.cursor_blink = False  # type: ignore[attr-defined]
    for key in keys:
        await pilot.press(key)
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
    await pilot.pause(0.1)


PICTURES: dict[str, tuple[str, str | None, list[str], dict[str, Any]]] = {
    "failing-dark": ("medium", "try.every-kind/repair", ["r"], {}),
    "failing-light": ("medium", "try.every-kind/repair", ["r"], {"theme": "tutor-light"}),
    "failing-ansi": ("medium", "try.every-kind/repair", ["r"], {"theme": "ansi-dark"}),
    "failing-ascii": ("medium", "try.every-kind/repair", ["r"], {"glyphs": "ascii"}),
    "failing-wide": ("wide", "try.every-kind/repair", ["r", "v"], {}),
    "failing-narrow": ("narrow", "try.every-kind/repair", ["r", "i"], {}),
    "explanation-narrow": ("narrow", "try.every-kind/repair", ["r", "e"], {"theme": "tutor-light"}),
    "versions-tiny": ("tiny", "try.every-kind/repair", ["r", "v"], {}),
    "time-dark": ("medium", "try.every-kind/repair", ["r", "left_parenthesis"], {}),
    "choices-narrow": ("narrow", "try.every-kind/guess", ["2"], {}),
    "decided-light": ("medium", "try.every-kind/guess", ["2", "r"], {"theme": "tutor-light"}),
    "course-dark": ("medium", None, [], {}),
    "help-narrow": ("narrow", "try.every-kind/repair", ["v", "question_mark"], {}),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture(name, make, snap_compare):
    size, place, keys, settings = PICTURES[name]
    assert snap_compare(
        make(place, settings=settings),
        terminal_size=SIZES[size],
        run_before=lambda pilot: frozen(pilot, *keys),
    )


def test_picture_without_colour(make, snap_compare, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(
        make("try.every-kind/repair"),
        terminal_size=SIZES["medium"],
        run_before=lambda pilot: frozen(pilot, "r", "e"),
    )
