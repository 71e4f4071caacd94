"""`doctor`: says what is there and what to do about what is not."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from tutor.cli import doctor, main


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOGRAD_TUTOR_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "basics").mkdir()
    (tmp_path / "basics" / "leaf.yaml").write_text("id: basics.leaf\n")
    monkeypatch.setattr(doctor, "lessons_dir", lambda: tmp_path)
    return tmp_path


@pytest.mark.usefixtures("lessons")
def test_a_whole_installation_is_all_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok ") for line in lines)
    assert any("torch" in line and "2.13" in line for line in lines)
    assert any("lessons" in line and "1 lessons in" in line for line in lines)


@pytest.mark.usefixtures("lessons")
@pytest.mark.parametrize(
    ("version", "said"), [(None, "pip install 'torch>=2.13'"), ("2.4.1", "checked on torch 2.13")]
)
def test_torch_that_is_missing_or_old_needs_a_look(
    version: str | None,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(doctor, "torch_version", lambda: version)
    assert main(["doctor"]) == 1
    assert said in capsys.readouterr().out


@pytest.mark.usefixtures("lessons")
@pytest.mark.parametrize("version", [None, "8.2.7"])
def test_another_textual_than_the_pinned_one_needs_a_look(
    version: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "installed", lambda name: version)
    assert main(["doctor"]) == 1
    assert f"pip install 'textual=={metadata.version('textual')}'" in capsys.readouterr().out


def test_lessons_that_are_missing_need_a_look(
    lessons: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lessons / "basics" / "leaf.yaml").unlink()
    assert main(["doctor"]) == 1
    assert "install autograd-tutor again" in capsys.readouterr().out


@pytest.mark.usefixtures("lessons")
def test_a_small_terminal_needs_a_look(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("LINES", "20")
    assert main(["doctor"]) == 1
    assert "50 columns, 20 lines" in capsys.readouterr().out


@pytest.mark.usefixtures("lessons")
def test_a_folder_of_progress_that_cannot_be_written_needs_a_look(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text("a file where the folder should be")
    assert main(["doctor"]) == 1
    assert "AUTOGRAD_TUTOR_DATA names another" in capsys.readouterr().out
    assert data.read_text() == "a file where the folder should be"


@pytest.mark.usefixtures("lessons")
def test_looking_makes_no_folder(data: Path) -> None:
    assert main(["doctor"]) == 0
    assert not data.exists()


@pytest.mark.usefixtures("lessons")
def test_a_back_end_that_is_none_needs_a_look(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTOGRAD_TUTOR_BACKEND", "threads")
    assert main(["doctor"]) == 1
    assert "fork or spare" in capsys.readouterr().out


def test_a_folder_that_can_be_made_counts_as_writable(tmp_path: Path) -> None:
    assert doctor.writable(tmp_path / "new" / "deeper")
    file = tmp_path / "file"
    file.write_text("")
    assert not doctor.writable(file / "below")
