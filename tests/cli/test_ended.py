"""The command, ended from outside, read by nobody, and with what cannot be read or written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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


# -- ended from outside, and read by nobody

DEAF = """\
import time, torch
x = torch.ones(2, requires_grad=True)
y = x.exp()
while True:
    try:
        print("ready", flush=True)
        time.sleep(60)
    except KeyboardInterrupt: print("no", flush=True)
"""


def started(folder: Path, *words: str, **options: Any) -> subprocess.Popen[bytes]:
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen(
        [sys.executable, "-m", "tutor", "explain", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
        **options,
    )


@pytest.mark.parametrize(
    "numbers",
    [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM), (signal.SIGINT,) * 5],
    ids=["Ctrl-C twice", "SIGTERM twice", "a storm"],
)
def test_a_script_that_does_not_stop_is_ended_and_explained(
    tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    (tmp_path / "deaf.py").write_text(DEAF, encoding="utf-8")
    process = started(tmp_path, "deaf.py", "--format", "json", "-o", "told.json")
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.01)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (1, b"")
    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert (told["outcome"], told["exit"]["signal"]) == ("cancelled", signal.SIGKILL)
    assert told["output"].startswith("ready\n")


def test_sigterm_once_lets_the_script_end_in_its_own_way(tmp_path: Path) -> None:
    code = "import time\ntry: print('ready', flush=True); time.sleep(60)\n"
    code += "except KeyboardInterrupt: print('saved')\n"
    (tmp_path / "long.py").write_text(code, encoding="utf-8")
    process = started(tmp_path, "long.py")
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (1, b"")
    assert output.startswith(b"saved\n")
    assert b"The program was stopped" in output


def test_a_reader_that_goes_away_gets_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "much.py").write_text("for i in range(200_000): print(i)\n", encoding="utf-8")
    process = started(tmp_path, "much.py")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 1


def test_input_comes_through_a_pipe_to_the_script(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text("import sys\nprint(sys.stdin.read().upper())\n")
    done = explain("ask.py", folder=tmp_path, text="from a pipe")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("FROM A PIPE\n")


@pytest.mark.parametrize(
    ("closed", "status", "says"),
    [(">&-", 0, ""), ("<&-", 0, ""), ("2>&-", 0, ""), (">/dev/full", 2, "No space left")],
)
def test_streams_that_are_closed_or_full(
    tmp_path: Path, closed: str, status: int, says: str
) -> None:
    (tmp_path / "say.py").write_text("print('said')\n")
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m tutor explain say.py {closed}'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )
    assert done.returncode == status, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert "fault of autograd-tutor" not in done.stderr
    if closed == "2>&-":
        assert done.stdout.startswith("said\n")


def test_a_path_with_spaces_a_line_end_and_other_letters(tmp_path: Path) -> None:
    folder = tmp_path / "a folder\nof Øystein 梯度"
    folder.mkdir()
    (folder / "my script.py").write_text(BAD, encoding="utf-8")
    done = explain("my script.py", "--format", "json", "--no-verify", folder=folder)
    assert done.returncode == 1, done.stderr
    place = json.loads(done.stdout)["findings"][0]["places"][0]
    assert (place["file"], place["line"]) == (str(folder / "my script.py"), 5)


def test_a_pipe_as_the_script(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    process = started(tmp_path, "pipe.py")
    (tmp_path / "pipe.py").write_text("print('from a pipe')\n", encoding="utf-8")
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
    assert output.startswith(b"from a pipe\n")


def test_a_device_without_an_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    done = explain("endless.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds NUL bytes" in done.stderr


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (tmp_path / name).write_text("print(1)\n", encoding="utf-8")
    done = explain(name, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'caf\\udce9.py' is not UTF-8" in done.stderr


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "say.py").write_text("print('said')\n")
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["/bin/sh", "-c", f'rmdir "$PWD"; exec "{sys.executable}" -P -m tutor explain ../say.py'],
        cwd=gone,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "no longer there" in done.stderr
