"""The built wheel, installed and used from another folder, as a person would get it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tutor import __version__
from tutor.locations import lessons_dir

CHECKOUT = Path(__file__).parents[2]


def call(*words: str | Path, cwd: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """A command without the checkout on its path and without a terminal."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environ["XDG_DATA_HOME"] = str(cwd / "data")
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        input=given,
        env=environ,
        capture_output=True,
        text=True,
        timeout=110,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    made = call(
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "-o",
        folder,
        CHECKOUT,
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed command.

    Dependencies come from the environment that runs the tests: a second torch would be some
    hundred megabytes. A path line in a .pth file only appends to `sys.path`; it does not read
    the .pth files there, so the checkout itself stays out.
    """
    home = tmp_path_factory.mktemp("home") / "venv"
    made = call(sys.executable, "-m", "venv", "--without-pip", home, cwd=home.parent)
    assert made.returncode == 0, made.stderr
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    done = call(*pip, "install", "--no-deps", "--no-index", "--quiet", wheel, cwd=home.parent)
    assert done.returncode == 0, done.stderr
    packages = next(home.glob("lib/python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "autograd-tutor"


def test_the_wheel_holds_the_package_its_lessons_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "tutor",
        f"autograd_tutor-{__version__}.dist-info",
    }
    lessons = {str(path.relative_to(lessons_dir())) for path in lessons_dir().rglob("*.yaml")}
    assert lessons
    assert {n.removeprefix("tutor/lessons/") for n in names if n.endswith(".yaml")} >= lessons


def test_the_installed_package_is_not_the_checkout(program: Path, tmp_path: Path) -> None:
    where = call(
        program.with_name("python"),
        "-c",
        "import tutor, tutor.locations as l; print(tutor.__file__); print(l.lessons_dir())",
        cwd=tmp_path,
    )
    package, lessons = map(Path, where.stdout.split())
    assert package.is_relative_to(program.parents[1])
    assert lessons == package.parent / "lessons"


def test_the_installed_command_says_its_version(program: Path, tmp_path: Path) -> None:
    done = call(program, "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"autograd-tutor {__version__}\n")


def test_the_installed_command_finds_all_it_needs_and_runs_a_program(
    program: Path, tmp_path: Path
) -> None:
    done = call(program, "doctor", "--run", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok    runs" in done.stdout


def test_lessons_can_be_walked_by_lines_of_text(program: Path, tmp_path: Path) -> None:
    done = call(program, "plain", cwd=tmp_path, given="quit\n")
    assert done.returncode == 0, done.stderr
    assert "Step 1 of" in done.stdout
    wrong = call(program, "plain", "no.such", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "There is no lesson 'no.such'" in wrong.stderr


def test_a_script_is_explained(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "import torch\ny = torch.ones(2, requires_grad=True).exp()\ny.add_(1)\ny.sum().backward()\n"
    )
    done = call(program, "explain", "mine.py", "--no-verify", "--format", "json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    first = report["findings"][0]
    assert first["kind"] == "inplace-saved"
    assert [place["line"] for place in first["places"] if place["role"] == "cause"] == [3]
