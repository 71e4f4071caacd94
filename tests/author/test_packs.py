"""Packs of other people: archives that stay in their folder, and code that is trusted once."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.author.packs import LESSON, write_pack
from tutor.author.archives import MOST_BYTES, MOST_FILES, BadArchive, build, unpack
from tutor.cli import main
from tutor.lesson import load_course, load_pack
from tutor.lesson.shelf import digest_of, files_of, read_shelf
from tutor.locations import DATA_VARIABLE, lessons_dir


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder of its own."""
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = write_pack(tmp_path / "pack", {"other.one": LESSON, "other.two": LESSON})
    text = (folder / "other" / "two.yaml").read_text(encoding="utf-8")
    (folder / "other" / "two.yaml").write_text(text.replace("title: other.two", "title: Two"))
    (folder / "LICENSE").write_text("Do what you like.", encoding="utf-8")
    (folder / "secret.txt").write_text("not part of it", encoding="utf-8")
    return folder


# -- archives -------------------------------------------------------------------------------


def test_a_pack_goes_into_an_archive_and_comes_out_the_same(pack: Path, tmp_path: Path) -> None:
    assert build(pack, tmp_path / "x.agpack") == 4
    again = tmp_path / "y.agpack"
    os.utime(pack / "pack.yaml", (0, 0))
    build(pack, again)
    assert again.read_bytes() == (tmp_path / "x.agpack").read_bytes()
    out = tmp_path / "out"
    out.mkdir()
    unpack(again, out)
    assert [name for name, _ in files_of(out)] == [
        "LICENSE",
        "other/one.yaml",
        "other/two.yaml",
        "pack.yaml",
    ]
    assert digest_of(out) == digest_of(pack)
    assert not (out / "secret.txt").exists()


def archive(*entries: tuple[str, bytes, int]) -> bytes:
    """A zip file with these (name, data, mode)."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        warnings.simplefilter("ignore")  # about names that are there twice
        for name, data, mode in entries:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(info, data)
    return file.getvalue()


FILE = stat.S_IFREG | 0o644


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([("../outside.yaml", b"x", FILE)], "outside of the pack"),
        ([("a/../../outside.yaml", b"x", FILE)], "outside of the pack"),
        ([("/outside.yaml", b"x", FILE)], "outside of the pack"),
        ([("C:/outside.yaml", b"x", FILE)], "outside of the pack"),
        ([("..\\outside.yaml", b"x", FILE)], "signs that no file here has"),
        ([("pack.yaml", b"/etc/passwd", stat.S_IFLNK | 0o777)], "a link or a device"),
        ([("a", b"..", stat.S_IFLNK | 0o777), ("a/b.yaml", b"x", FILE)], "a link or a device"),
        ([("pack.yaml", b"", stat.S_IFCHR | 0o666)], "a link or a device"),
        ([("pack.yaml", b"", stat.S_IFIFO | 0o666)], "a link or a device"),
        ([("pack.yaml", b"a", FILE), ("pack.yaml", b"b", FILE)], "is there twice"),
        ([("pack.yaml", b"a", FILE), ("PACK.yaml", b"b", FILE)], "is there twice"),
        ([("pack.yaml", b"\0" * (MOST_BYTES + 1), FILE)], "more than 20 MB"),
        ([(f"a/b{n}.yaml", b"", FILE) for n in range(MOST_FILES + 1)], "2000 are the most"),
    ],
)
def test_an_archive_that_tries_something_is_refused_and_writes_nothing_outside(
    tmp_path: Path, entries: list[tuple[str, bytes, int]], told: str
) -> None:
    source = tmp_path / "in" / "x.agpack"
    source.parent.mkdir()
    source.write_bytes(archive(*entries))
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    with pytest.raises(BadArchive, match=told):
        unpack(source, out)
    inside = {path for path in tmp_path.rglob("*") if out in path.parents}
    assert set(tmp_path.rglob("*")) - inside == {source, source.parent, out, out.parent}


def test_an_archive_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    """The size in the header says 1 byte; what comes out is counted."""
    data = archive(("pack.yaml", b"\0" * 100_000, FILE))
    size = (100_000).to_bytes(4, "little")
    source = tmp_path / "x.agpack"
    source.write_bytes(data.replace(size, (1).to_bytes(4, "little")))
    (tmp_path / "out").mkdir()
    try:
        unpack(source, tmp_path / "out")
    except BadArchive:
        return
    assert (tmp_path / "out" / "pack.yaml").stat().st_size <= 1


@pytest.mark.parametrize("cut", [0, 10, 100, 300])
def test_any_bytes_are_a_pack_or_refused(pack: Path, tmp_path: Path, cut: int) -> None:
    build(pack, tmp_path / "x.agpack")
    whole = (tmp_path / "x.agpack").read_bytes()
    for number, broken in enumerate(
        [whole[:cut], whole[cut:], whole[:cut] + b"\xff" * 40 + whole[cut + 40 :]]
    ):
        source = tmp_path / f"{number}.agpack"
        source.write_bytes(broken)
        out = tmp_path / f"out{number}"
        out.mkdir()
        try:
            unpack(source, out)
        except BadArchive:
            continue
        assert {name for name, _ in files_of(out)} <= {name for name, _ in files_of(pack)}


# -- installing -----------------------------------------------------------------------------

Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(data: Path, capfd: pytest.CaptureFixture[str]) -> Say:
    """Run `pack …`: its exit status and all it said."""

    def go(*words: str) -> tuple[int, str]:
        capfd.readouterr()
        status = main(["pack", *words])
        out, err = capfd.readouterr()
        return status, out + err

    return go


def test_a_pack_is_shown_before_it_is_installed_and_then_part_of_the_course(
    pack: Path, tmp_path: Path, say: Say
) -> None:
    out = tmp_path / "x.agpack"
    assert say("build", str(pack), "-o", str(out)) == (0, f"4 files written to {out}.\n")
    status, told = say("install", str(out), "--yes")
    assert status == 0
    assert "Pack (pack 0.1.0), by nobody" in told
    assert "holds    2 lessons: other.one, other.two" in told
    # Two setups, and a starter and a solution in each lesson.
    assert "runs     6 programs, which import torch" in told
    course = load_course()
    own = load_pack(lessons_dir())
    assert list(course.lessons) == [*own.lessons, "other.one", "other.two"]
    assert course.tracks[-1].title == "Pack: other"
    assert "pack 0.1.0  Pack  (trusted" in say("list")[1]
    assert say("remove", "pack") == (0, "pack is gone.\n")
    assert list(load_course().lessons) == list(own.lessons)
    assert say("remove", "pack")[0] == 2


def test_plain_opens_a_lesson_of_an_installed_pack(
    pack: Path, say: Say, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    say("install", str(pack), "--yes")
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    assert main(["plain", "other.two"]) == 0
    assert "Lesson other.two: Two" in capfd.readouterr().out


def test_nobody_is_asked_where_nobody_can_answer(
    pack: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    status, told = say("install", str(pack))
    assert status == 2
    assert "Nobody can be asked here" in told
    assert "No packs are installed." in say("list")[1]


@pytest.mark.parametrize(("answer", "installed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_trust_is_asked_for_once(
    pack: Path, say: Say, monkeypatch: pytest.MonkeyPatch, answer: str, installed: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(answer))
    status, told = say("install", str(pack))
    assert "Do you trust this pack? [y/N]" in told
    assert (status == 0) is installed
    assert ("other.one" in load_course().lessons) is installed


def test_a_pack_that_changed_is_closed_until_it_is_trusted_again(
    pack: Path, data: Path, say: Say
) -> None:
    say("install", str(pack), "--no-trust")
    assert "not trusted yet" in say("list")[1]
    assert "other.one" not in load_course().lessons
    assert say("trust", "pack", "--yes")[0] == 0
    assert "other.one" in load_course().lessons
    file = data / "packs" / "pack" / "other" / "one.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("  import torch\n", "  import torch, os\n"), encoding="utf-8")
    assert "other.one" not in load_course().lessons
    assert "changed since it was trusted" in say("list")[1]
    status, told = say("trust", "pack", "--yes")
    assert status == 0
    assert "look     os can reach files, processes or the network" in told
    assert "other.one" in load_course().lessons


def test_a_newer_version_takes_the_place_of_an_older(pack: Path, data: Path, say: Say) -> None:
    say("install", str(pack), "--yes")
    file = pack / "pack.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("0.1.0", "0.2.0"), encoding="utf-8")
    assert say("install", str(pack), "--yes")[0] == 0
    assert read_shelf(data / "packs").packs["pack"].version == "0.2.0"
    assert sorted(path.name for path in (data / "packs").iterdir()) == ["pack", "packs.json"]


def test_lessons_that_others_have_are_refused(tmp_path: Path, say: Say) -> None:
    double = write_pack(tmp_path / "double", {"start.tour": LESSON})
    status, told = say("install", str(double), "--yes")
    assert status == 2
    assert "start.tour would be there twice" in told


def test_a_pack_with_faults_is_refused(pack: Path, tmp_path: Path, say: Say) -> None:
    file = pack / "other" / "one.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("kind: fix", "kind: fex"))
    status, told = say("install", str(pack), "--yes")
    assert status == 2
    assert "is no sound pack" in told
    assert "E206" in told
    out = tmp_path / "x.agpack"
    assert say("build", str(pack), "-o", str(out))[0] == 1
    assert not out.exists()


def test_links_in_a_folder_are_not_followed(pack: Path, data: Path, say: Say) -> None:
    (pack / "README.md").symlink_to("/etc/hostname")
    (pack / "linked").symlink_to(pack / "other")
    assert say("install", str(pack), "--yes")[0] == 0
    place = data / "packs" / "pack"
    assert not (place / "README.md").exists()
    assert not (place / "linked").exists()


def test_a_git_revision_is_installed(pack: Path, say: Say) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*names, "commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run(["git", *words], cwd=pack, check=True)
    (pack / "other" / "one.yaml").write_text("broken", encoding="utf-8")
    status, told = say("install", f"file://{pack}@v1", "--yes")
    assert status == 0, told
    assert "other.one" in load_course().lessons
    status, told = say("install", f"file://{pack}@v9", "--yes")
    assert status == 2
    assert "git cannot fetch it" in told


@pytest.mark.parametrize(
    "source", ["ext::sh -c touch% /tmp/x@HEAD", "--upload-pack=x@HEAD", "nowhere", "a@--output=x"]
)
def test_what_is_no_source_is_refused(data: Path, say: Say, source: str) -> None:
    status, _ = say("install", "--yes", "--", source)
    assert status == 2
    assert not (data / "packs").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"packs": {"../x": {}}}', "\0", "[" * 100_000])
def test_a_damaged_list_of_packs_is_an_empty_one(data: Path, say: Say, text: str) -> None:
    (data / "packs").mkdir(parents=True)
    (data / "packs" / "packs.json").write_text(text, encoding="utf-8")
    assert say("list") == (0, "No packs are installed.\n")
    assert load_course().lessons
