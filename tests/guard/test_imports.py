"""What gets loaded: torch only where a run is observed, Textual only where the app is shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tutor

PACKAGE = Path(tutor.__file__).parent
ROOMS = sorted(folder.parent.name for folder in PACKAGE.glob("*/__init__.py"))


def loaded(program: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after a program."""
    tell = "import sys\nprint(); print(*{name.split('.')[0] for name in sys.modules})"
    out = subprocess.run(
        [sys.executable, "-c", f"{program}\n{tell}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert out.returncode == 0, out.stderr
    return set(out.stdout.splitlines()[-1].split())


def modules(room: str) -> list[str]:
    """Every module of a room, by name."""
    names = []
    for path in sorted((PACKAGE / room).rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in ("observe", "attach")])
def test_a_room_loads_no_torch_and_only_the_app_loads_textual(room: str) -> None:
    names = loaded("\n".join(f"import {name}" for name in modules(room)))
    assert "tutor" in names
    assert "torch" not in names
    if room != "app":
        assert "textual" not in names


def test_the_package_itself_loads_no_torch() -> None:
    assert "torch" not in loaded("import tutor")
    assert "torch" in loaded("import tutor; tutor.watch")


@pytest.mark.parametrize("room", ["observe", "attach"])
def test_the_observer_shows_nothing(room: str) -> None:
    names = loaded("\n".join(f"import {name}" for name in modules(room)))
    assert "torch" in names  # so the test above would notice
    assert "textual" not in names


@pytest.mark.parametrize("words", ["--help", "--version", "doctor"])
def test_help_loads_neither_torch_nor_textual(words: str) -> None:
    names = loaded(f"from tutor.cli import main\nmain({words.split()!r})")
    assert not {"torch", "textual"} & names


def test_the_help_loads_no_command() -> None:
    program = (
        "import sys\nfrom tutor.cli import main\nmain(['--help'])\n"
        "loaded = [m for m in sys.modules if m.startswith('tutor.') and m.count('.') == 2]\n"
        "assert sorted(loaded) == ['tutor.cli.late', 'tutor.cli.root'], loaded"
    )
    loaded(program)
