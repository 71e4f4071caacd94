"""`author record`, `stats`, `diff` and `migrate`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.author.packs import LESSON, write_pack
from tutor.author.changes import changes
from tutor.author.migrating import NotMigrated, migrated
from tutor.author.recording import flow, record
from tutor.author.statistics import grade
from tutor.cli import main
from tutor.lesson import Check, load_pack
from tutor.run import Runner

WORK = """\
- id: mend
  kind: fix
  text: Mend it.
  starter: |
    y = x.detach() * 2
    print("y", y)
  checks: [{raises: none}]
  hints: [One., Two.]
  solution: |
    def seen(grad):
        pass
    y = x * 2
    x.register_hook(seen)
    y.backward()
    y.data.add_(1)
    print("y", y.item())
"""


def test_what_was_observed_is_proposed_as_checks(tmp_path: Path, runner: Runner) -> None:
    pack = load_pack(write_pack(tmp_path, {"a.b": WORK}))
    lesson = pack.lessons["a.b"]
    found = {p.text: p.starter for p in record(runner, lesson, lesson.steps[0])}
    # x is 3, so y is 6 and its slope 2; the write through .data adds 1 and moves no version.
    assert found["{raises: none}"] is True
    assert found["{grad: {of: x, equals: 2.}}"] is False
    assert found["{value: {of: y, equals: 7.}}"] is False
    assert found["{graph: {of: y, path: [MulBackward0, leaf x]}}"] is False
    assert found["{output: {contains: [y 7.0]}}"] is False
    assert found["{hooks: {order: [seen]}}"] is False
    assert not any("version" in text for text in found)
    for text in found:
        Check.model_validate(yaml.load(text, yaml.BaseLoader))


def test_an_error_is_proposed_by_its_kind(tmp_path: Path, runner: Runner) -> None:
    steps = WORK.replace("y.data.add_(1)", "y.backward()").replace("y = x * 2", "y = x.exp()")
    lesson = load_pack(write_pack(tmp_path, {"a.b": steps})).lessons["a.b"]
    texts = [p.text for p in record(runner, lesson, lesson.steps[0])]
    assert texts[:2] == ["{raises: {kind: freed-graph}}", "{finding: {kind: freed-graph}}"]


def test_record_prints_what_can_be_pasted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_pack(tmp_path, {"a.b": LESSON})
    assert main(["author", "record", str(tmp_path), "a.b", "--step", "mend"]) == 0
    out = capfd.readouterr().out
    assert {"grad": {"of": "x", "equals": 12.0}} in yaml.safe_load(out)["checks"]
    assert "- {raises: none}  # the starter passes this too" in out
    assert main(["author", "record", str(tmp_path), "a.b", "--step", "mind"]) == 2


@pytest.mark.parametrize(
    "data",
    [
        {"output": {"contains": ["a: b", "#", "", " x", "é", "[1]", "yes", "12", 'say "it"']}},
        {"graph": {"of": "net.weight", "path": ["AddBackward0", "leaf x"]}},
    ],
)
def test_flow_reads_back(data: object) -> None:
    assert yaml.load(flow(data), yaml.BaseLoader) == data


def test_stats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uses = "teaches: [slope]\n"
    write_pack(tmp_path, {"a.b": LESSON, "a.c": LESSON}, concepts=["slope", "leaf"])
    for name, line in (("b", uses), ("c", "requires: [slope]\n")):
        path = tmp_path / "a" / f"{name}.yaml"
        path.write_text(line + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["author", "stats", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Pack: 2 lessons, 10 minutes"
    row = next(line for line in lines if line.startswith("a.b "))
    # 1 step, 5 minutes, "Make the gradient 12." and the hints One. Two.: 6 words, 2 hints, 1 check.
    assert row.split()[:7] == ["a.b", "1", "5", "6", "2.0", "1", "0"]
    assert "  slope: a.b → a.c" in lines
    assert "  leaf: nowhere" in lines


def test_the_grade_of_a_text() -> None:
    # "The cat sat on the mat.": 6 words, 6 syllables, 1 sentence.
    assert grade("The cat sat on the mat.") == pytest.approx(0.39 * 6 + 11.8 - 15.59)
    # "Autograd": Au-to-grad, 3 syllables in 1 word.
    assert grade("Autograd.") == pytest.approx(0.39 + 11.8 * 3 - 15.59)
    assert grade("") == 0.0


Edit = Callable[[str], str]


@pytest.mark.parametrize(
    ("edit", "asks", "told"),
    [
        (lambda text: text, False, ""),
        (lambda text: text.replace("Make", "Please make"), False, ""),
        (lambda text: text.replace("id: mend", "id: repair"), True, "a.b/mend is gone"),
        (lambda text: text.replace("id: mend", "id: repair\n    was: [mend]"), False,
         "a.b/mend is called repair now; progress follows"),
        (lambda text: text.replace("equals: 12", "equals: 13"), True,
         "what decides mend changed; write  revision: 2"),
        (lambda text: text.replace("equals: 12", "equals: 13").replace("sion: 1", "sion: 2"),
         False, "a.b: revision 2; old passes show as revised"),
        (lambda text: text + "  - {id: more, kind: read, text: More.}\n", False,
         "a.b/more is new"),
    ],
)  # fmt: skip
def test_diff_says_whose_progress_a_change_touches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: Edit, asks: bool, told: str
) -> None:
    old = write_pack(tmp_path / "old", {"a.b": LESSON})
    new = write_pack(tmp_path / "new", {"a.b": LESSON})
    path = new / "a" / "b.yaml"
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert main(["author", "diff", str(old), str(new)]) == int(asks)
    out = capsys.readouterr().out
    assert told in out
    assert out.startswith("LOOK") is asks
    if not told:
        assert out == "Nothing that touches progress.\n"


def test_lessons_that_go_come_or_move(tmp_path: Path) -> None:
    old = load_pack(write_pack(tmp_path / "old", {"a.b": LESSON, "a.c": LESSON}))
    write_pack(tmp_path / "new", {"a.d": LESSON, "a.e": LESSON})
    path = tmp_path / "new" / "a" / "d.yaml"
    path.write_text("was: [a.b]\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    told = [(c.weight, c.text.split(";")[0]) for c in changes(old, load_pack(tmp_path / "new"))]
    assert told == [
        ("tell", "a.b is called a.d now"),
        ("ask", "a.c is gone, and with it all progress in it"),
        ("tell", "a.e is new"),
    ]


def test_diff_takes_a_git_revision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack = write_pack(tmp_path / "pack", {"a.b": LESSON})
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*names, "commit", "-qm", "old"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    write_pack(pack, {"a.b": LESSON.replace("id: mend", "id: repair")})
    assert main(["author", "diff", "HEAD", str(pack)]) == 1
    assert "a.b/mend is gone" in capsys.readouterr().out
    assert main(["author", "diff", "nowhere", str(pack)]) == 2
    assert "git cannot tell" in capsys.readouterr().err


STEPS = {1: lambda text: text.replace("old-key:", "new-key:"), 2: lambda text: text + "# 3\n"}


def test_migrations_follow_each_other() -> None:
    assert migrated("format: 1\nold-key: a\n", 2, STEPS) == "format: 2\nnew-key: a\n"
    assert migrated("format: 1\nold-key: a\n", 3, STEPS) == "format: 3\nnew-key: a\n# 3\n"
    assert migrated("format: 2\nold-key: a\n", 3, STEPS) == "format: 3\nold-key: a\n# 3\n"
    assert migrated("concepts: {}\n", 3, STEPS) == "concepts: {}\n"
    with pytest.raises(NotMigrated, match="no way back"):
        migrated("format: 3\n", 2, STEPS)
    with pytest.raises(NotMigrated, match="formats up to 3"):
        migrated("format: 1\n", 4, STEPS)


def test_migrate_shows_the_diff_and_writes_only_when_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pack(tmp_path, {"a.b": LESSON})
    assert main(["author", "migrate", str(tmp_path), "--to", "1"]) == 0
    assert "All 2 files have format 1." in capsys.readouterr().err
    assert main(["author", "migrate", str(tmp_path), "--to", "2"]) == 2
    monkeypatch.setattr("tutor.author.migrating.MIGRATIONS", {1: lambda text: text})
    assert main(["author", "migrate", str(tmp_path), "--to", "2"]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^\+format: 2$", out, re.MULTILINE)) == 2
    path = tmp_path / "a" / "b.yaml"
    assert path.read_text(encoding="utf-8").startswith("format: 1\n")
    assert main(["author", "migrate", str(tmp_path), "--to", "2", "--write"]) == 0
    assert path.read_text(encoding="utf-8").startswith("format: 2\n")
