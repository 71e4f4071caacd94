"""The command: exit statuses, what goes where, what bad input gets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from tutor.cli import main

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


# --- the script sees what it sees under python -------------------------------------------

WHO = '''\
"""What a program can tell of how it was started."""
import os, sys
print(sys.argv, __name__, __file__, sys.path[0], __package__, __doc__, os.getcwd())
print(getattr(__spec__, "name", None), type(__loader__).__name__ or __loader__)
print(sys.modules["__main__"].__dict__ is globals(), sys.stdin.read().upper())
import helper, lib.core
print(helper.WORD, lib.core.WORD)
'''


def project(folder: Path) -> Path:
    """A package, a namespace package, a folder and an archive that run, and files beside them."""
    for name, text in {
        "who.py": WHO,
        "helper.py": "WORD = 'beside'\n",
        "lib/__init__.py": "",
        "lib/core.py": "from .word import WORD\n",
        "lib/word.py": "WORD = 'relative'\n",
        "space/inner/who.py": WHO,
        "runs/__main__.py": WHO,
        "runs/helper.py": "WORD = 'inside'\n",
        "runs/lib/__init__.py": "",
        "runs/lib/core.py": "WORD = 'inside too'\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with zipfile.ZipFile(folder / "runs.zip", "w") as archive:
        for path in (folder / "runs").rglob("*.py"):
            archive.write(path, path.relative_to(folder / "runs"))
    (folder / "linked").mkdir()
    (folder / "linked" / "go.py").symlink_to("../who.py")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("who.py", "a", "--", "-b"),
        ("linked/go.py",),
        ("-m", "space.inner.who", "a"),
        ("runs", "a"),
        ("runs.zip",),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_program_finds_itself_as_under_python(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = project(tmp_path)
    plain = subprocess.run(
        [sys.executable, *(word for word in words if word != "--")],
        cwd=folder, input="typed", capture_output=True, text=True, timeout=60,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip
    done = explain(*words, folder=folder, text="typed")
    assert done.returncode == 0, done.stderr
    shown = done.stdout.split("\n\n✓ nothing wrong")[0].splitlines()
    wanted = plain.stdout.splitlines()
    assert plain.returncode == 0, plain.stderr
    if words[0].startswith("runs"):  # a script there, a module of an empty package here
        shown[0] = shown[0].replace(" None ", "  ")
        del shown[1], wanted[1]
    assert shown == wanted


def test_a_script_on_standard_input_finds_itself_too(tmp_path: Path) -> None:
    code = "import sys\nprint(sys.argv, repr(sys.path[0]), __name__)\n"
    done = explain("-", "a", folder=tmp_path, text=code)
    assert done.stdout.startswith("['-', 'a'] '' __main__\n"), done.stderr


def test_lines_of_a_source_folder_beside_the_script_are_named(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "src" / "net").mkdir(parents=True)
    (tmp_path / "src" / "net" / "__init__.py").write_text("from .ops import grow\n")
    # A module in its own encoding, with tabs and the line ends of another system.
    (tmp_path / "src" / "net" / "ops.py").write_bytes(
        b"# coding: latin-1\r\ndef grow(x):\r\n\t# caf\xe9\r\n\ty = x.exp()\r\n\ty += 1\r\n"
        b"\treturn y\r\n"
    )
    (tmp_path / "scripts" / "train.py").write_text(
        "import pathlib, sys, torch\n"
        "sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'src'))\n"
        "from net import grow\n"
        "grow(torch.ones(2, requires_grad=True)).sum().backward()\n"
    )
    done = explain("scripts/train.py", "--format", "json", folder=tmp_path)
    finding = json.loads(done.stdout)["findings"][0]
    at = {(p["role"], Path(p["file"]).name, p["line"], p["text"]) for p in finding["places"]}
    assert ("cause", "ops.py", 5, "y += 1") in at
    assert ("witness", "ops.py", 4, "y = x.exp()") in at


def test_a_script_may_move_and_remove_itself(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_bytes(
        b"\xef\xbb\xbfimport os, torch\r\nos.remove(__file__)\r\nos.chdir('/')\r\n"
        b"x = torch.ones(2, requires_grad=True)\r\nif True:\r\n\ty = x.exp()\r\n\ty += 1\r\n"
        b"\ty.sum().backward()\r\n"
    )
    done = explain("bad.py", folder=tmp_path)
    assert done.returncode == 1
    assert " ◆  7      y += 1               y  v0 → v1" in done.stdout
    assert " ✗  8      y.sum().backward()   wanted v0, found v1" in done.stdout


def test_bytes_pass_through_and_processes_are_told(tmp_path: Path) -> None:
    (tmp_path / "all.py").write_text(
        "import multiprocessing as mp, sys\n"
        "def work(n):\n"
        "    return n * n\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [3]), flush=True)\n"
        "    sys.stdout.buffer.write(bytes(range(256)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tutor", "explain", "all.py"],
        cwd=tmp_path,
        capture_output=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )
    assert done.stdout.startswith(b"[9]\n" + bytes(range(256)) + b"\n")
    assert "Not seen: what other processes" in done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0


def test_a_program_that_becomes_another_was_not_watched_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "go.py").write_text(
        "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(1)'])\n"
    )
    done = explain("go.py", folder=tmp_path)
    assert done.stdout.startswith("1\n")
    assert "not watched" in done.stdout


def test_the_place_of_a_syntax_error_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import torch\nimport broken\n")
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n    pass\n")
    done = explain("main.py", folder=tmp_path)
    title = next(row for row in done.stdout.splitlines() if "✗ error" in row)
    assert title == "✗ error   broken.py is not Python yet: invalid syntax"
    assert "✗◆  2  def f(:" in done.stdout
    assert "so it could not be imported" in done.stdout
    own = explain("broken.py", folder=tmp_path)
    assert "✗ error   This is not Python yet: invalid syntax\n" in own.stdout


def test_notes_go_on_below_where_there_is_no_room(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(
        "import torch\nx = torch.ones(3, requires_grad=True)\nfor i in range(3):\n"
        "    (x * 2).sum().backward()\n    print(x.grad)\n"
    )
    done = explain("sums.py", folder=tmp_path)
    assert "…" not in done.stdout
    assert "was already in x.grad" in " ".join(done.stdout.split())
    assert "(iteration 2)" in done.stdout


def test_a_relative_import_is_explained(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text("from .other import x\n")
    done = explain("part.py", folder=tmp_path)
    assert "explain -m package.module" in " ".join(done.stdout.split())


# --- wrong calls: one form, and what to do ------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("train.py", "--lr", "0.1"), "autograd-tutor explain train.py -- --lr 0.1"),
        (("-m", "pytest", "-q", "x.py"), "autograd-tutor explain -m pytest -- -q x.py"),
        (("-m", "train.py"), "train.py is a file, not a module. Leave -m out."),
        (("-m", "no such"), "is no name of a module"),
        (("notes.ipynb",), "autograd-tutor explain notes.py"),
        (("gone.py",), "There is no file gone.py."),
        (("empty",), "empty is a folder without a __main__.py."),
        (("train.py", "-o", "empty"), "empty is a folder. Name a file."),
        (("train.py", "-o", "train.py"), "train.py is the script itself."),
        (("odd.py",), "its encoding is nope, which Python does not know."),
        (("lies.py",), "its encoding is ascii, and is not written in it."),
        (("data.zip",), "data.zip is an archive without a __main__.py."),
        (("",), "Name a script"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_call_ends_with_2_and_says_what_to_do(
    words: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("x = 1\n")
    Path("notes.ipynb").write_text('{"cells": []}')
    Path("empty").mkdir()
    Path("odd.py").write_text("# coding: nope\n")
    Path("lies.py").write_bytes(b"# coding: ascii\n# caf\xe9\n")
    with zipfile.ZipFile("data.zip", "w") as archive:
        archive.writestr("x.txt", "x")
    assert main(["explain", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("Error: ")
    assert says in err
    assert "Usage:" not in err
    assert Path("train.py").read_text() == "x = 1\n"


def test_the_help_tells_the_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--help"]) == 0
    out = capsys.readouterr().out
    assert "\n    0  the script ran, and nothing is wrong\n    1  it failed" in out
