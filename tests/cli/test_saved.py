"""`explain` of a saved run: the same words as for the run itself, and nothing is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_explain import BAD, explain


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A folder with a saved run of a script that is gone, and its reports as text and JSON."""
    folder = tmp_path_factory.mktemp("saved")
    script = folder / "bad.py"
    script.write_text(BAD + "open('ran-again', 'w')\n", encoding="utf-8")
    words = ("bad.py", "--no-verify")
    as_json = explain(
        *words, "--format", "json", "--save", "bad.trace", "-o", "bad.json", folder=folder
    )
    assert as_json.returncode == 1, as_json.stderr
    as_text = explain(*words, "-o", "bad.txt", folder=folder)
    assert as_text.returncode == 1, as_text.stderr
    script.unlink()
    (folder / "ran-again").unlink(missing_ok=True)
    return folder, (folder / "bad.txt").read_text(), (folder / "bad.json").read_text()


def test_the_text_of_a_saved_run_is_that_of_the_run(recorded: tuple[Path, str, str]) -> None:
    folder, text, _ = recorded
    done = explain("bad.trace", "-o", "again.txt", folder=folder)
    assert done.returncode == 1, done.stderr
    assert (folder / "again.txt").read_text() == text
    assert "from the script" not in done.stdout
    assert not (folder / "ran-again").exists()


def test_the_json_of_a_saved_run_is_that_of_the_run(recorded: tuple[Path, str, str]) -> None:
    folder, _, told = recorded
    done = explain("bad.trace", "--format", "json", folder=folder)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout) == json.loads(told)
    assert done.stderr == ""


def test_a_cut_file_is_explained_as_far_as_it_goes(recorded: tuple[Path, str, str]) -> None:
    folder, _, _ = recorded
    whole = (folder / "bad.trace").read_bytes()
    (folder / "half.trace").write_bytes(whole[: len(whole) - 40])
    done = explain("half.trace", folder=folder)
    assert done.returncode == 1
    assert "The file is cut off" in done.stdout
    assert "The program was stopped" not in done.stdout
    (folder / "short.trace").write_bytes(whole[:30])
    done = explain("short.trace", folder=folder)
    assert done.returncode == 2
    assert "cut off before it tells anything. Save the trace again." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("--timeout", "3"), ("--verify",), ("--", "an-argument")])
def test_what_only_a_run_could_use_is_refused(
    recorded: tuple[Path, str, str], words: tuple[str, ...]
) -> None:
    done = explain("bad.trace", *words, folder=recorded[0])
    assert done.returncode == 2
    assert "It is not run again" in done.stderr


def test_a_place_that_cannot_be_written_is_said_before_the_script_runs(
    recorded: tuple[Path, str, str],
) -> None:
    folder = recorded[0]
    (folder / "good.py").write_text("print('ran')\n", encoding="utf-8")
    done = explain("good.py", "--save", "nowhere/run.trace", folder=folder)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "ran" not in done.stdout
