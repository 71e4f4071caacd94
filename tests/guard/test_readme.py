"""What the README says is so: its lesson is sound, its commands, pictures and files are there."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tutor.attempt import Attempts
from tutor.attempt.proofs import prove
from tutor.cli.lessons import require_lesson
from tutor.cli.root import COMMANDS
from tutor.lesson import load_pack
from tutor.locations import lessons_dir
from tutor.run import Runner

CHECKOUT = Path(__file__).parents[2]
TEXTS = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md"]


def test_the_lesson_in_the_readme_keeps_its_promises(tmp_path: Path, runner: Runner) -> None:
    found = re.search(r"```yaml\n(.*?)```", TEXTS[0].read_text(encoding="utf-8"), re.DOTALL)
    assert found
    (tmp_path / "basics").mkdir()
    (tmp_path / "basics" / "square.yaml").write_text(found[1])
    (tmp_path / "concepts.yaml").write_text((lessons_dir() / "concepts.yaml").read_text())
    (tmp_path / "pack.yaml").write_text(
        "id: readme\ntitle: The README\nformat: 1\nversion: 0.1.0\nlicence: MIT\n"
        "authors: [us]\ntorch: '>=2.13'\n"
        "tracks:\n  - {id: basics, title: Basics, lessons: [basics.square]}\n"
    )
    pack = load_pack(tmp_path)
    assert [fault.shown() for fault in pack.faults] == []
    lesson, document = pack.lessons["basics.square"], pack.documents["basics.square"]
    faults = asyncio.run(prove(Attempts(runner), lesson, document))
    assert [fault.shown() for fault in faults] == []


def test_each_command_in_the_readme_is_there() -> None:
    words = re.findall(r"(?:^    |`)autograd-tutor (\S+?)[`\s]", TEXTS[0].read_text(), re.MULTILINE)
    assert {"explain", "open", "plain", "doctor"} <= set(words)
    for word in words:
        if word not in COMMANDS:
            require_lesson(word)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_each_file_that_is_linked_or_made_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert [target for target in targets if not (CHECKOUT / target).exists()] == []
    made = set(re.findall(r"(?:`|^    )make ([a-z]+)", text, re.MULTILINE))
    assert made
    rules = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    assert [name for name in made if not re.search(rf"^{name}:", rules, re.MULTILINE)] == []
