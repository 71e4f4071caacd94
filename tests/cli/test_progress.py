"""`progress`: what was done on one machine is there on another after export and merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tutor.cli import main
from tutor.progress import Progress, progress_file


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("AUTOGRAD_TUTOR_DATA", str(tmp_path / "here"))
    return monkeypatch


def work(code: str) -> None:
    with Progress(progress_file()) as progress:
        progress.opened("basics.leaf", "run")
        progress.edited("basics.leaf", "run", code)


def test_progress_goes_to_another_machine(
    machine: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work("x = 1")
    taken = tmp_path / "taken.jsonl"
    assert main(["progress", "export", "-o", str(taken)]) == 0
    machine.setenv("AUTOGRAD_TUTOR_DATA", str(tmp_path / "there"))
    assert main(["progress", "merge", str(taken)]) == 0
    assert capsys.readouterr().out == "2 new records added.\n"
    with Progress(progress_file()) as progress:
        assert progress.code("basics.leaf", "run") == "x = 1"
    assert main(["progress", "merge", str(taken)]) == 0
    assert capsys.readouterr().out == "0 new records added.\n"


@pytest.mark.usefixtures("machine")
def test_without_an_output_file_the_lines_go_to_standard_output(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    work("x = 1")
    assert main(["progress", "export"]) == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert len(lines) == 2
    assert b'"x = 1"' in lines[1]


@pytest.mark.usefixtures("machine")
def test_nothing_to_export_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["progress", "export"]) == 2
    assert "There is no progress yet" in capsys.readouterr().err


@pytest.mark.usefixtures("machine")
def test_a_folder_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work("x = 1")
    assert main(["progress", "export", "-o", str(tmp_path / "gone" / "taken.jsonl")]) == 2
    assert str(tmp_path / "gone") in capsys.readouterr().err


@pytest.mark.usefixtures("machine")
def test_lines_that_cannot_be_read_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('not json\n{"k":"opened","at":1.0,"lesson":"a.b","step":"c"}\n')
    assert main(["progress", "merge", str(bad)]) == 1
    captured = capsys.readouterr()
    assert "1 new record added" in captured.out
    assert "1 line of" in captured.err


def test_a_class_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ada, eve = tmp_path / "ada.jsonl", tmp_path / "=eve.jsonl"
    ada.write_text(
        '{"k":"opened","at":0,"lesson":"basics.leaf","step":"run"}\n'
        '{"k":"tried","at":60,"lesson":"basics.leaf","step":"run","revision":1,"status":"failed"}\n'
        '{"k":"helped","at":61,"lesson":"basics.leaf","step":"run","what":"1"}\n'
        '{"k":"tried","at":90,"lesson":"basics.leaf","step":"run","revision":1,"status":"passed"}\n'
        '{"k":"tried","at":99,"lesson":"basics.leaf","step":"run","revision":1,"status":"failed"}\n'
        '{"k":"opened","at":86400,"lesson":"basics.leaf","step":"next"}\n'
        '{"k":"recalled","at":86401,"lesson":"basics.leaf","card":"a","good":true}\n'
    )
    eve.write_text(
        '{"k":"helped","at":5,"lesson":"basics.leaf","step":"run","what":"solution"}\n'
        '{"k":"skipped","at":6,"lesson":"basics.leaf","step":"run","revision":1}\n'
        "not a record\n"
    )
    assert main(["progress", "table", str(ada), str(eve)]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "learner,lesson,step,status,tries,hints,solution shown,first,last",
        "ada,basics.leaf,run,done,2,1,no,1970-01-01 00:00:00,1970-01-01 00:01:39",
        "ada,basics.leaf,next,opened,0,0,no,1970-01-02 00:00:00,1970-01-02 00:00:00",
        "'=eve,basics.leaf,run,skipped,0,0,yes,1970-01-01 00:00:05,1970-01-01 00:00:06",
    ]
    assert err == f"1 line of {eve} left out: not readable.\n"
    table = tmp_path / "class.csv"
    assert main(["progress", "table", str(ada), "-o", str(table)]) == 0
    assert table.read_text() == "\n".join(out.splitlines()[:3]) + "\n"
    assert main(["progress", "table", str(tmp_path / "gone.jsonl")]) != 0
    assert "There is no file" in capsys.readouterr().err
