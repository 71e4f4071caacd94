"""The command: exit statuses, what goes where, what bad input gets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BAD = """\
import sys, torch
print("from the script", sys.argv[1:])
x = torch.ones(2, requires_grad=True)
y = x.exp()
y += 1
y.sum().backward()
"""


def explain(*words: str, folder: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tutor", "explain", *words],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )


def test_json_on_stdout_and_the_script_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    done = explain("bad.py", "--format", "json", "--", "--flag", "a", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["findings"][0]["kind"] == "inplace-saved"
    assert told["findings"][0]["places"][0]["file"] == str(tmp_path / "bad.py")
    assert told["findings"][0]["fixes"][0]["verified"] is True
    assert "from the script ['--flag', 'a']" in done.stderr
    assert done.stderr.count("from the script") == 1  # the proofs run unheard


@pytest.mark.parametrize(("form", "begin"), [("html", "<!doctype html>"), ("svg", "<svg ")])
def test_a_document_on_stdout_and_the_script_on_stderr(
    tmp_path: Path, form: str, begin: str
) -> None:
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    done = explain("bad.py", "--format", form, "--no-verify", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(begin)
    assert "✗ result: y" in done.stdout.replace('<tspan class="dim">', "").replace(
        '<tspan class="bad">', ""
    ).replace('<tspan class="name">', "").replace("</tspan>", "")
    assert "from the script []" in done.stderr


def test_text_follows_the_output_of_the_script(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    done = explain("bad.py", "--no-verify", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("from the script []\n\n✗ error")
    assert "(not tried)" in done.stdout
    assert "RuntimeError: one of the variables" in done.stderr


def test_a_script_on_standard_input_into_a_file(tmp_path: Path) -> None:
    done = explain("-", "-o", "out.txt", folder=tmp_path, text="print(1 + 1)\n")
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert "nothing wrong" in (tmp_path / "out.txt").read_text(encoding="utf-8")


def test_a_module_by_name(tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_text("import sys\nsys.exit(4 if sys.argv[1:] else 0)\n")
    assert explain("-m", "mod", folder=tmp_path).returncode == 0
    failed = explain("-m", "mod", "x", folder=tmp_path)
    assert failed.returncode == 1
    assert "exit code 4" in failed.stdout


BAD_FILES = {
    "nuls.py": (b"x = 1\0\n", "NUL"),
    "latin.py": (b"# caf\xe9\nx = 1\n", "UTF-8"),
    "long.py": (b"x = 1\n" * 100_001, "100000"),
    "folder": (None, "folder"),
    "missing.py": (None, "no file"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_input_gets_a_clear_message(tmp_path: Path, name: str) -> None:
    data, says = BAD_FILES[name]
    if data is not None:
        (tmp_path / name).write_bytes(data)
    elif name == "folder":
        (tmp_path / name).mkdir()
    done = explain(name, folder=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_file_it_says_how(tmp_path: Path) -> None:
    done = explain(folder=tmp_path)
    assert done.returncode == 2
    assert "explain FILE" in done.stderr


def test_a_time_limit_and_ctrl_c_are_explained(tmp_path: Path) -> None:
    code = "import time\nprint('on', flush=True)\nwhile True:\n    time.sleep(0.05)\n"
    (tmp_path / "slow.py").write_text(code, encoding="utf-8")
    done = explain("slow.py", "--timeout", "0.5", folder=tmp_path)
    assert done.returncode == 1
    assert "took too long" in done.stdout
    running = subprocess.Popen(
        [sys.executable, "-m", "tutor", "explain", "slow.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "on\n"
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "interrupted" in rest


def test_a_module_that_is_not_there_is_no_fault_of_a_line(tmp_path: Path) -> None:
    result = explain("-m", "no_such_module_anywhere", folder=tmp_path)
    assert result.returncode == 1
    assert "No module named no_such_module_anywhere" in result.stdout
    assert "before any line of yours ran" in result.stdout
    assert "Line " not in result.stdout


def test_a_place_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("open('ran', 'w').close()\n", encoding="utf-8")
    done = explain("-o", str(tmp_path / "no" / "x"), "ok.py", folder=tmp_path)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert not (tmp_path / "ran").exists()
