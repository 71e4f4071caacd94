"""Where a learner without a word on the command line begins."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
import yaml

from tutor.cli import lessons
from tutor.cli.lessons import first_lesson, require_lesson
from tutor.locations import lessons_dir
from tutor.progress import Progress, progress_file


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRAD_TUTOR_DATA", str(tmp_path / "data"))


def test_a_newcomer_begins_with_the_first_lesson_of_the_first_track() -> None:
    info = yaml.safe_load((lessons_dir() / "pack.yaml").read_text())
    assert first_lesson() == info["tracks"][0]["lessons"][0]
    assert not progress_file().exists()


def test_a_learner_who_has_begun_resumes() -> None:
    with Progress(progress_file()) as progress:
        progress.opened("basics.leaf", "run")
    assert first_lesson() is None


@pytest.mark.parametrize("text", [None, "tracks: []", "tracks: 3", "- a", "a: [", "\x00"])
def test_a_broken_pack_is_left_to_the_app(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / "pack.yaml").write_text(text)
    monkeypatch.setattr(lessons, "lessons_dir", lambda: tmp_path)
    assert first_lesson() is None


def test_a_step_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(click.ClickException, match=r"no step 'repiar'.*repair"):
        require_lesson("inplace.version-counter/repiar")
    require_lesson("inplace.version-counter/repair")
