"""An app with hand-made runs, and the words that are on its screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tutor.app.app import TutorApp
from tutor.app.settings import Settings

from .fakes import FakeServices


@pytest.fixture
def services(tmp_path: Path) -> FakeServices:
    return FakeServices(tmp_path / "progress.jsonl")


@pytest.fixture
def make(services: FakeServices) -> Callable[..., TutorApp]:
    """An app at a place of the test pack."""

    def made(place: str | None = "try.every-kind/repair", **kwargs: Any) -> TutorApp:
        chosen = Settings(**kwargs.pop("settings", {}))
        return TutorApp(services, place, settings=chosen, **kwargs)

    return made


def screen_text(app: TutorApp) -> str:
    """What a person sees: the characters on the screen, line by line."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in lines)
