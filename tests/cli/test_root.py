"""The root command as a person at a shell sees it: text and exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from tutor import __version__
from tutor.cli import main
from tutor.cli.root import COMMANDS
from tutor.cli.versions import at_least


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"autograd-tutor {__version__}\n"


def test_python_dash_m_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tutor", "--version"], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout) == (0, f"autograd-tutor {__version__}\n")


def test_the_help_lists_each_command_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, entry in COMMANDS.items():
        assert f"  {name} " in out
        assert entry.summary.split()[0] in out


@pytest.mark.parametrize("name", list(COMMANDS))
def test_each_listed_command_is_there_and_has_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    assert f"autograd-tutor {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["doctr"], "Did you mean `doctor`?"),
        (["whatever"], "There is no command 'whatever'"),
        (["basics.leaf", "more"], "There is no command 'basics.leaf'"),
        (["--nope"], "No such option"),
        (["doctor", "more"], "unexpected extra argument"),
    ],
)
def test_a_wrong_call_ends_with_2_and_says_what_to_do(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_lesson_that_is_not_there_is_refused_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["inplace.version-countr"]) == 2
    assert "inplace.version-counter" in capsys.readouterr().err


def test_a_file_in_place_of_a_lesson_is_pointed_to_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "mine.py"
    script.write_text("x = 1\n")
    assert main([str(script)]) == 2
    assert f"autograd-tutor open {script}" in capsys.readouterr().err
    assert main(["open", str(tmp_path / "gone.py")]) == 2
    assert "There is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [[], ["inplace.version-counter"], ["inplace.version-counter/repair"]]
)
def test_without_a_terminal_the_app_points_to_plain_mode(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert "autograd-tutor plain" in capsys.readouterr().err


def test_a_fault_of_ours_is_one_message_and_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def broken() -> None:
        raise KeyError("gone")

    monkeypatch.setattr("tutor.cli.doctor.doctor", broken)
    assert main(["doctor"]) == 3
    err = capsys.readouterr().err
    assert "KeyError: 'gone'" in err
    assert "report" in err
    assert "Traceback" not in err
    with pytest.raises(KeyError):
        main(["--debug", "doctor"])


@pytest.mark.parametrize(
    ("version", "fine"),
    [
        ("2.13.0", True),
        ("2.13.0+cpu", True),
        ("2.14.0a0+git1", True),
        ("3.0", True),
        ("2.12.1", False),
        ("1.13", False),
        ("nonsense", False),
    ],
)
def test_versions_are_compared_by_number(version: str, fine: bool) -> None:
    assert at_least(version, (2, 13)) is fine


def test_a_reader_that_leaves_early_is_no_fault_of_ours() -> None:
    done = subprocess.run(
        f"{sys.executable} -m tutor --help | head -c 1; echo; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stderr == ""
    assert done.stdout.split()[-1] in {"0", "1"}
