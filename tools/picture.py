"""`python -m tools.picture`: draws the pictures of the README from the running app.

The app is the real one, with real runs, in a terminal that is not there. Lessons are those of
the checkout; progress goes to a folder that is thrown away.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tutor.app.app import TutorApp
from tutor.app.real import RealServices
from tutor.app.screens.work import WorkScreen

DOCS = Path(__file__).parents[1] / "docs"

LESSON = "inplace.version-counter/repair"

SCRIPT = """\
import torch

x = torch.full((), 5.0, requires_grad=True)

def power(a):
    b = a ** 2
    for _ in range(5):
        b *= b
    return b

output = power(x)
output.backward()
"""
SIZE = (120, 36)
PATIENCE = 60.0
"""Seconds that the run may take; the first one waits for torch."""


async def draw(lesson: str | None, file: Path | None, keys: tuple[str, ...]) -> str:
    """The screen as SVG after a run of a lesson's or a file's code and then these keys."""
    services = RealServices()
    app = TutorApp(services, lesson, file)
    try:
        async with app.run_test(size=SIZE) as pilot:
            await _until(pilot, lambda: _ready(app))
            await pilot.press("r")
            await _until(pilot, lambda: _ran(app))
            await pilot.press(*keys)
            await pilot.pause(0.3)
            return _without_fonts(app.export_screenshot(title="autograd-tutor"))
    finally:
        services.close()


def _ready(app: TutorApp) -> bool:
    return isinstance(app.screen, WorkScreen) and bool(app.screen.editor.text)


def _ran(app: TutorApp) -> bool:
    shown = app.screen.shown if isinstance(app.screen, WorkScreen) else None
    return shown is not None and shown.trace is not None and not shown.live


async def _until(pilot: Pilot[Any], true: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > until:
            raise SystemExit("picture: the app did not get that far within a minute")
        await pilot.pause(0.05)


def _without_fonts(svg: str) -> str:
    """No fonts from elsewhere: the reader's own monospace font does."""
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def main() -> None:
    """Write the pictures."""
    DOCS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AUTOGRAD_TUTOR_DATA"] = folder
        os.environ["AUTOGRAD_TUTOR_CONFIG"] = folder
        script = Path(folder) / "power.py"
        script.write_text(SCRIPT, encoding="utf-8")
        _save("lesson", draw(LESSON, None, ()))
        _save("versions", draw(None, script, ("v",)))


def _save(name: str, drawing: Coroutine[Any, Any, str]) -> None:
    path = DOCS / f"{name}.svg"
    path.write_text(asyncio.run(drawing), encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
