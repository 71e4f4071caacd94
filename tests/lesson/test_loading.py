"""A pack of faults: all of them are found, each at its place, and the rest still opens."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tutor.lesson import Fault, Fix, load_lesson, load_pack
from tutor.lesson.document import parse
from tutor.lesson.versions import BadRange, fits

BROKEN = Path(__file__).parent.parent / "broken-pack"

HEAD = """\
format: 1
id: a.b
title: T
revision: 1
level: core
minutes: 1
torch: ">=2.13"
"""


def load(tmp_path: Path, steps: str) -> tuple[object, list[Fault]]:
    path = tmp_path / "b.yaml"
    path.write_text(HEAD + steps, encoding="utf-8")
    lesson, _, faults = load_lesson(path, "a.b", "a/b.yaml")
    return lesson, faults


def test_faults_stand_where_they_point() -> None:
    """The caret of every fault underlines what its message quotes first, where it quotes."""
    for fault in load_pack(BROKEN).faults:
        words = fault.message.split('"')
        if fault.source and len(words) > 2 and fault.code in ("E204", "E206", "E110"):
            assert fault.source[fault.column - 1 :].startswith(words[1]), str(fault)


def test_a_faulty_lesson_does_not_stop_the_rest() -> None:
    pack = load_pack(BROKEN)
    assert list(pack.lessons) == [
        "inplace.later",
        "inplace.sooner",
        "inplace.good",
        "more.advice",
    ]


def test_a_folder_without_a_pack_is_named(tmp_path: Path) -> None:
    pack = load_pack(tmp_path / "nowhere")
    assert not pack.lessons
    assert "nowhere" in str(pack.faults[0])
    assert "no pack.yaml" in str(pack.faults[0])


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a: b\0", "not YAML"),
        (b"[" * 5000, "not YAML"),
        (b"- " * 3000 + b"x", "not YAML"),
        (b"a: " + b"{a: " * 60 + b"x" + b"}" * 60, "nest deeper"),
        (b"x" * 2_000_000, "bytes, the most is"),
        (b"just words", "a mapping (key: value) is needed"),
        (b"- a\n- b", "a mapping (key: value) is needed"),
        (b"%YAML 9.9\n---\na: b", ""),
        (b"\t- a", "not YAML"),
        (b"# only a comment\n", "the file is empty"),
    ],
)
def test_any_file_gives_faults_and_no_traceback(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "b.yaml"
    path.write_bytes(data)
    lesson, _, faults = load_lesson(path, "a.b", "a/b.yaml")
    assert lesson is None
    assert faults
    assert told in "\n".join(fault.shown() for fault in faults)


def test_every_scalar_stays_what_it_was_written_as() -> None:
    document = parse("lang: no\ntorch: 2.10\ndate: 2024-01-01\nnull: ~\n", "f.yaml")
    assert document.root is not None
    assert document.root.plain() == {
        "lang": "no",
        "torch": "2.10",
        "date": "2024-01-01",
        "null": "~",
    }


def test_a_comment_is_allowed_where_it_cuts_nothing(tmp_path: Path) -> None:
    lesson, faults = load(
        tmp_path,
        """\
steps:  # a list
  - id: a  # its id
    kind: run  # its kind
    text: "quoted"  # the quotes end it
    code: |
      x = 1  # belongs to the code
""",
    )
    assert faults == []
    assert lesson.steps[0].code == "x = 1  # belongs to the code\n"  # type: ignore[attr-defined]


def test_the_caret_stands_under_wide_text() -> None:
    document = parse("日本: &anchor x", "f.yaml")
    shown = document.faults[0].shown().splitlines()
    assert shown[1] == "    1 | 日本: &anchor x"
    # Four columns for two wide characters, then the colon and the space.
    assert shown[2] == "      |       ^"


def test_a_step_of_a_misspelt_kind_is_still_read_to_its_end(tmp_path: Path) -> None:
    _, faults = load(
        tmp_path,
        """\
steps:
  - {id: a, kind: rum, text: T, code: x = 1, pnaes: [graph]}
""",
    )
    assert [fault.code for fault in faults] == ["E206", "E204"]
    assert 'did you mean "panes"' in faults[1].help


def test_hints_are_text_or_text_with_a_condition(tmp_path: Path) -> None:
    lesson, faults = load(
        tmp_path,
        """\
steps:
  - id: a
    kind: fix
    text: T
    starter: x = 1
    solution: x = 2
    checks: [{value: {of: x, equals: 2}}]
    hints:
      - Plain text.
      - {say: Only while it raises., when: [{not: {raises: none}}]}
""",
    )
    assert faults == []
    step = lesson.steps[0]  # type: ignore[attr-defined]
    assert isinstance(step, Fix)
    assert [hint.say for hint in step.hints] == ["Plain text.", "Only while it raises."]


def test_forty_lessons_load_within_a_second(tmp_path: Path) -> None:
    source = BROKEN.parent.parent / "lessons" / "inplace" / "version-counter.yaml"
    began = time.perf_counter()
    for _ in range(40):
        lesson, _, faults = load_lesson(source, "inplace.version-counter", "x.yaml")
        assert lesson is not None
        assert not faults
    assert time.perf_counter() - began < 1.0


def test_a_renamed_lesson_is_found_by_its_earlier_id(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "pack.yaml").write_text(
        "{id: p, title: P, format: 1, version: '1', licence: MIT, authors: [x], torch: '>=2',"
        " tracks: [{id: a, title: A, lessons: [a.b]}]}"
    )
    (tmp_path / "a" / "b.yaml").write_text(
        HEAD + "was: [a.old]\nsteps: [{id: new, was: [older], kind: read, text: T}]\n"
    )
    pack = load_pack(tmp_path)
    assert pack.faults == ()
    assert pack.lesson("a.old") is pack.lessons["a.b"]
    assert pack.renames()["a.old", "older"] == ("a.b", "new")
    assert pack.renames()["a.b", "older"] == ("a.b", "new")


@pytest.mark.parametrize(
    ("wanted", "version", "inside"),
    [
        (">=2.13", "2.13.0+cpu", True),
        (">=2.13", "2.9.1", False),
        (">=2.13,<3", "3.0.0", False),
        ("!=2.14", "2.14", False),
        ("==2.13", "2.13.0", True),
    ],
)
def test_torch_ranges(wanted: str, version: str, inside: bool) -> None:
    assert fits(wanted, version) is inside


def test_a_lesson_for_another_torch_is_left_out_with_the_reason() -> None:
    lessons = BROKEN.parent.parent / "lessons"
    assert load_pack(lessons, torch="2.13.0+cpu").skipped == {}
    old = load_pack(lessons, torch="2.9.1")
    assert "start.tour" not in old.lessons
    assert old.skipped["start.tour"] == "it is for torch >=2.13, and torch 2.9.1 is installed"
    assert old.faults == ()


@pytest.mark.parametrize("text", ["", "2.13", ">= two", ">=2.13;<3", "~=2.1"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(BadRange):
        fits(text, "2.13")
