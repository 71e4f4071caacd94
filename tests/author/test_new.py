"""A pack from nothing: skeletons whose TODOs are filled pass, for each kind of step."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tutor.author.lint import lint
from tutor.author.schema import schema_of
from tutor.author.skeleton import FIRST
from tutor.cli import main
from tutor.lesson import load_pack
from tutor.lesson.steps import KINDS

WORK = {
    "value: {of: x, equals: start.x}": "value: {of: y, equals: 2 * start.x}",
    "# TODO code that has it": "y = x * 3",
    "when: [{raises: none}]": "when: [{value: {of: y, equals: 3 * start.x}}]",
    "# TODO code that passes": "y = x * 2",
}

FILLED: dict[str, dict[str, str]] = {
    "read": {},
    "run": {
        "# TODO the program": "y = x * 2",
        "value: {of: x, equals: start.x}": "value: {of: y, equals: 2 * start.x}",
    },
    "predict": {"# TODO the program": "x.sum().backward()"},
    "choice": {},
    "fill": {
        "y = x * ⟦gap⟧  # TODO the program, with its gaps": "y = x * ⟦gap⟧",
        "value: {of: x, equals: start.x}": "value: {of: y, equals: 2 * start.x}",
    },
    "fix": {"# TODO a program that does not work yet": "y = x.detach()", **WORK},
    "write": {
        "# TODO what is there to begin with (or leave starter: out)": "y = x.detach()",
        **WORK,
    },
    "break": {
        "# TODO a program that works": "x.sum().backward()",
        "- {raises: none}\n": "- {raises: {}}\n",
        "value: {of: x, equals: start.x}": "raises: {kind: no-grad-fn}",
        "# TODO code that has it": "x.backward()",
        "when: [{raises: none}]": "when: [{raises: {kind: nonscalar-backward}}]",
        "# TODO code that passes": "x.detach().sum().backward()",
    },
    "order": {
        '"# TODO the first line"': "y = x.sum()",
        '"# TODO the second line"': "y.backward()",
        '"pass  # TODO a line that must stay out"': "y.backwards()",
        "value: {of: x, equals: start.x}": 'grad: {of: x, equals: "[1., 1., 1.]"}',
    },
}
"""What an author writes in place of the TODOs that need more than words."""


def fill(path: Path, changes: dict[str, str], numbers: Iterator[int]) -> None:
    """Write something in every place that says TODO."""
    text = path.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, f"{old} is not in the skeleton"
        text = text.replace(old, new, 1)
    text = re.sub(r"TODO[^\n\]]*", lambda _: f"These words are number {next(numbers)}.", text)
    path.write_text(text, encoding="utf-8")


def codes(folder: Path) -> set[str]:
    return {fault.code for fault in lint([folder]).faults}


def test_filled_skeletons_of_all_kinds_pass(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pack = tmp_path / "pack"
    assert main(["author", "new", str(pack)]) == 0
    for kind in KINDS:
        assert main(["author", "add", str(pack), f"more.{kind}-step", "--kind", kind]) == 0
    # Nothing is wrong but what is still to be written, and it is pointed at.
    assert codes(pack) == {"E230"}
    numbers = count()
    fill(pack / "pack.yaml", {}, numbers)
    fill(pack / "concepts.yaml", {}, numbers)
    fill(pack / "first-steps" / "hello.yaml", FILLED["fix"], numbers)
    for kind in KINDS:
        fill(pack / "more" / f"{kind}-step.yaml", FILLED[kind], numbers)
    status = main(["author", "check", str(pack), "--repeat", "1", "--strict"])
    assert (status, capfd.readouterr().out.count("made ")) == (0, 6)
    assert list(load_pack(pack).lessons) == [FIRST, *(f"more.{kind}-step" for kind in KINDS)]


def test_a_new_pack_holds_what_an_author_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = tmp_path / "my-pack"
    assert main(["author", "new", str(pack), "--licence", "MIT"]) == 0
    assert "author lint" in capsys.readouterr().out
    assert "licence: MIT" in (pack / "pack.yaml").read_text(encoding="utf-8")
    schema = json.loads((pack / "lesson.schema.json").read_text(encoding="utf-8"))
    assert schema == schema_of("lesson")
    lesson = (pack / "first-steps" / "hello.yaml").read_text(encoding="utf-8")
    assert lesson.startswith("# yaml-language-server: $schema=../lesson.schema.json\n")
    workflow = (pack / ".github" / "workflows" / "lessons.yml").read_text(encoding="utf-8")
    assert "autograd-tutor author check --format github" in workflow
    assert main(["author", "fmt", "--check", str(pack)]) == 0


def test_todos_are_pointed_at_and_not_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pack = tmp_path / "pack"
    main(["author", "new", str(pack)])
    capfd.readouterr()
    assert main(["author", "check", str(pack)]) == 1
    out, err = capfd.readouterr()
    assert "E230 todo: still to be written: what the lesson is about" in out
    assert f"{FIRST} is not run: it has TODOs" in err
    assert "0 runs" in err
    for fault in lint([pack]).faults:
        assert fault.source[fault.column - 1 :].startswith("TODO")


def test_steps_are_added_to_a_lesson_that_is_there(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    main(["author", "new", str(pack)])
    path = pack / "first-steps" / "hello.yaml"
    recall = "\n# Cards.\nrecall:\n  - {id: a, ask: What?, answer: That.}\n"
    path.write_text(path.read_text(encoding="utf-8") + recall, encoding="utf-8")
    for kind in ("choice", "choice", "run"):
        assert main(["author", "add", str(pack), FIRST, "--kind", kind]) == 0
    lesson = load_pack(pack).lessons[FIRST]
    assert [step.id for step in lesson.steps] == ["welcome", "mend", "choice", "choice-2", "run"]
    assert lesson.recall
    assert path.read_text(encoding="utf-8").endswith(recall)


def test_lessons_go_into_their_track_however_it_is_written(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    main(["author", "new", str(pack)])
    main(["author", "add", str(pack), "other.one", "--kind", "read"])
    path = pack / "pack.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("lessons: [other.one]", "lessons:\n      - other.one  # first\n")
        + "# The end.\n",
        encoding="utf-8",
    )
    for name in ("first-steps.two", "other.two", "third.one"):
        assert main(["author", "add", str(pack), name, "--kind", "read"]) == 0
    loaded = load_pack(pack)
    assert [(t.id, list(t.lessons)) for t in loaded.tracks] == [
        ("first-steps", [FIRST, "first-steps.two"]),
        ("other", ["other.one", "other.two"]),
        ("third", ["third.one"]),
    ]
    assert "# first" in path.read_text(encoding="utf-8")
    assert "# The end." in path.read_text(encoding="utf-8")


def test_what_cannot_be_made_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine", encoding="utf-8")
    for words, told in [
        (["new", str(tmp_path / "full")], "not empty"),
        (["new", str(tmp_path / "Not A Name")], "no name for a pack"),
        (["add", str(tmp_path / "full"), "a.b", "--kind", "read"], "is no pack"),
        (["add", str(tmp_path / "full"), "a.b", "--kind", "reed"], "is not one of"),
    ]:
        assert main(["author", *words]) == 2
        assert told in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full"]
    main(["author", "new", str(tmp_path / "pack")])
    before = (tmp_path / "pack" / "pack.yaml").read_text(encoding="utf-8")
    assert main(["author", "add", str(tmp_path / "pack"), "../x", "--kind", "read"]) == 2
    assert (tmp_path / "pack" / "pack.yaml").read_text(encoding="utf-8") == before


LESSON = Path(__file__).parents[2] / "lessons" / "inplace" / "version-counter.yaml"


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("y = x.exp()\ny = y + 1\ny.sum().backward()\n", 0, ["passed", "✓ 1."]),
        (
            "y = x.exp()\ny.data.add_(1)\ny.sum().backward()\n",
            1,
            ["failed", "warning data-bypass", "✗ 3.", "wanted", 'mistake "data" fires'],
        ),
        ("y = (", 1, ["SyntaxError", "?", "missing"]),
    ],
)
def test_explain_says_check_by_check_why(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], code: str, status: int, told: list[str]
) -> None:
    mine = tmp_path / "my.py"
    mine.write_text(code, encoding="utf-8")
    words = ["author", "explain", str(LESSON), "--step", "repair", "--code", str(mine)]
    assert main(words) == status
    out = capfd.readouterr().out
    for text in told:
        assert text in out


def test_explain_refuses_what_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    base = ["author", "explain", str(LESSON), "--code", str(LESSON)]
    assert main([*base, "--step", "repare"]) == 2
    assert "It has: promise, guess-exp" in capfd.readouterr().err
    assert main([*base, "--step", "promise"]) == 2
    assert "runs no code" in capfd.readouterr().err
    assert main(["author", "explain", "no.yaml", "--step", "a", "--code", "b"]) == 2
