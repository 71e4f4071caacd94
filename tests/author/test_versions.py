"""What changed between two states of a pack, as git knows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.author.packs import LESSON, write_pack
from tests.author.pages import build, section
from tutor.author.rulebook import page
from tutor.author.versions import NoHistory, changed_since, unrevised
from tutor.lesson import load_pack


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack in a folder of a repository, as it was committed once."""
    folder = write_pack(tmp_path / "pack", {"a.b": LESSON, "a.c": LESSON})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "old")
    return folder


def test_the_page_of_the_rule(tmp_path: Path) -> None:
    refused = load_pack(build(tmp_path / "refused", section(page("W501"), "Refused")))
    assert [fault.code for fault in unrevised(refused, "HEAD")] == ["W501"]
    accepted = load_pack(build(tmp_path / "accepted", section(page("W501"), "Accepted")))
    assert list(unrevised(accepted, "HEAD")) == []


def test_changed_and_new_files_are_named(pack: Path) -> None:
    assert changed_since(pack, "HEAD") == frozenset()
    (pack / "a" / "c.yaml").write_text("changed", encoding="utf-8")
    (pack / "a" / "new one.yaml").write_text("new", encoding="utf-8")
    assert changed_since(pack, "HEAD") == {"a/c.yaml", "a/new one.yaml"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("equals: 12", "equals: 13", True),
        ("text: Make", "text: Please make", False),
        ("hints: [One., Two.]", "hints: [One.]", False),
        ("y = 2 * x", "y = 2.0 * x", False),
        ("{grad: {of: x, equals: 12}}", "{grad: {of: x, equals: 12}, why: So.}", False),
        ("id: mend", "id: repair\n    was: [mend]", False),
        ("kind: fix", "kind: write", True),
    ],
)
def test_only_what_decides_a_step_asks_for_a_revision(
    pack: Path, old: str, new: str, told: bool
) -> None:
    path = pack / "a" / "b.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    faults = list(unrevised(load_pack(pack), "HEAD"))
    assert [fault.code for fault in faults] == ["W501"] * told
    if told:
        assert faults[0].source == "revision: 1"
        assert "since HEAD but revision is still 1" in faults[0].message


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "", "-p"])
def test_what_is_no_revision_is_refused(pack: Path, revision: str) -> None:
    with pytest.raises(NoHistory):
        changed_since(pack, revision)
    assert not (pack / "x").exists()


def test_outside_a_repository_git_cannot_tell(tmp_path: Path) -> None:
    with pytest.raises(NoHistory, match="git cannot tell"):
        changed_since(tmp_path, "HEAD")
