"""The command as a person at a shell meets it: what it reads, prints, and ends with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tutor.cli import main
from tutor.report.style import width

CHECKOUT = Path(__file__).parents[2]
PASTES = CHECKOUT / "tests" / "explain" / "pastes"
LEAF = "a leaf Variable that requires grad is being used in an in-place operation."


def run(
    *words: str, text: bytes = b"", folder: Path = CHECKOUT, columns: int = 80
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tutor", "why", *words],
        input=text,
        cwd=folder,
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "COLUMNS": str(columns), "LANGUAGE": "en"},
    )


def test_a_message_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", LEAF]) == 0
    out = capsys.readouterr().out
    assert out.startswith("✗ error   A leaf that requires grad was changed in place (inplace-leaf)")
    assert "with torch.no_grad():" in out
    assert "paste that too" in " ".join(out.split())


def test_quotes_may_be_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "RuntimeError:", *LEAF.split()]) == 0
    assert "(inplace-leaf)" in capsys.readouterr().out


@pytest.mark.parametrize("words", [(), ("-",)])
def test_standard_input(words: tuple[str, ...]) -> None:
    done = run(*words, text=(PASTES / "anomaly.txt").read_bytes())
    assert done.returncode == 0, done.stderr
    out = done.stdout.decode()
    assert "✗ /home/ann/net/mod.py:6 in step\n      loss.backward()" in out
    assert "◇ /home/ann/net/mod.py:3 in step\n      b = a.exp()" in out
    assert "Run it: autograd-tutor explain /home/ann/net/anom.py" in out
    assert "Learn more: autograd-tutor inplace.version-counter" in out
    assert done.stderr == b""


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_what_shells_write_is_read(encoding: str) -> None:
    text = f"Caf\xe9\n\nRuntimeError: {LEAF}\n"
    done = run(text=text.encode(encoding))
    assert done.returncode == 0, done.stderr
    assert "(inplace-leaf)" in done.stdout.decode()


def test_json_has_it_all() -> None:
    done = run("--format", "json", text=(PASTES / "warnings.txt").read_bytes())
    told = json.loads(done.stdout)
    assert (told["format"], told["recognised"], told["hint"]) == (1, True, None)
    first, second, third = told["findings"]
    assert (first["kind"], first["severity"]) == ("nan-grad", "error")
    assert first["error"]["type"] == "RuntimeError"
    assert first["facts"]["anomaly"] == "LogBackward"
    roles = [(place["role"], place["file"], place["line"]) for place in first["places"]]
    assert roles == [("surfaced", "a.py", 5), ("witness", "a.py", 3)]
    assert first["explain"]["command"] == "autograd-tutor explain a.py"
    assert second["severity"] == third["severity"] == "warning"
    assert {one["kind"] for one in second["kinds"]} == {"grad-none-nonleaf", "retain-grad"}
    assert all(one["tell"] for one in second["kinds"])


@pytest.mark.parametrize("form", ["text", "json"])
def test_prose_ends_with_1_and_says_what_to_paste(form: str) -> None:
    done = run("hello", "--format", form)
    assert done.returncode == 1
    if form == "json":
        told = json.loads(done.stdout)
        assert (told["recognised"], told["findings"]) == (False, [])
        assert "traceback" in told["hint"]
    else:
        assert done.stdout == b""
        assert "whole" in done.stderr.decode() or "all of it" in done.stderr.decode()


def test_nothing_at_all_ends_with_1() -> None:
    done = run()
    assert (done.returncode, done.stderr) == (1, b"Nothing was pasted.\n")


def test_a_file_is_pointed_at_standard_input(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(LEAF)
    done = run("log.txt", folder=tmp_path)
    assert done.returncode == 2
    assert b"autograd-tutor why < log.txt" in done.stderr


def test_a_wrong_option_ends_with_2() -> None:
    assert run("--nope", LEAF).returncode == 2


def test_on_a_terminal_it_says_how_to_paste() -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "tutor", "why"],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=30,
        dimensions=(40, 100),
    )
    child.expect("press Ctrl-D")
    child.sendline(f"RuntimeError: {LEAF}")
    child.sendeof()
    child.expect(r"\(inplace-leaf\)")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_lines_fit_the_terminal(columns: int) -> None:
    # Code in backticks and commands are not broken, so some lines may be as long as these are.
    for name in ("chained", "rich", "ranks"):
        done = run(text=(PASTES / f"{name}.txt").read_bytes(), columns=columns)
        long = [row for row in done.stdout.decode().splitlines() if width(row) > columns]
        assert all("`" in row or "autograd-tutor " in row or "/" in row for row in long), long


def test_the_example_in_the_readme_is_what_is_printed() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    section = readme.split("## You have only the message")[1].split("\n## ")[0]
    command = re.search(r'^    autograd-tutor why "(.*)"$', section, re.MULTILINE)
    shown = re.search(r"```\n(.*?)```", section, re.DOTALL)
    assert command
    assert shown
    done = run(command[1], columns=84)
    assert done.returncode == 0
    assert done.stdout.decode() == shown[1]
