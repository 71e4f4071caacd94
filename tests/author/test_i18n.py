"""Translations: laid over string by string, and kept up with their source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.author.packs import LESSON, write_pack
from tutor.author.lint import lint
from tutor.cli import main
from tutor.lesson import load_pack
from tutor.lesson.translation import mark, strings_of

STEPS = (
    LESSON
    + """\
- id: guess
  kind: predict
  text: What is it?
  code: (x * 2).backward()
  choices:
    - {id: two, text: Two., holds: [{grad: {of: x, equals: 2}}], say: Not that.}
    - {id: six, text: Six., holds: [{grad: {of: x, equals: 6}}]}
  answer: two
  after: |
    It is `2`.

    Twice.
"""
)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write_pack(tmp_path / "pack", {"a.b": STEPS})


def overlay(pack: Path) -> Path:
    return pack / "i18n" / "de" / "a" / "b.yaml"


def translate(pack: Path, **texts: str) -> None:
    """Write translations over the TODOs of an extracted file."""
    path = overlay(pack)
    text = path.read_text(encoding="utf-8")
    for old, new in texts.items():
        assert f"TODO {old}" in text
        text = text.replace(f"TODO {old}", new)
    path.write_text(text, encoding="utf-8")


def test_what_a_learner_reads_is_what_is_translated(pack: Path) -> None:
    lesson = load_pack(pack).lessons["a.b"]
    assert strings_of(lesson) == {
        "title": "a.b",
        "steps.mend.text": "Make the gradient 12.",
        "steps.mend.hints.1.say": "One.",
        "steps.mend.hints.2.say": "Two.",
        "steps.guess.text": "What is it?",
        "steps.guess.choices.two.text": "Two.",
        "steps.guess.choices.two.say": "Not that.",
        "steps.guess.choices.six.text": "Six.",
        "steps.guess.after": "It is `2`.\n\nTwice.\n",
    }


def test_each_string_falls_back_by_itself(pack: Path) -> None:
    assert main(["author", "i18n", "extract", "de", str(pack)]) == 0
    translate(pack, **{"What is it?": "Was ist es?", "Six.": "Sechs.", "Two.": "Zwei."})
    german = load_pack(pack, language="de").lessons["a.b"]
    guess = german.step("guess")
    assert guess is not None
    assert guess.text == "Was ist es?"
    assert [choice.text for choice in guess.choices] == ["Zwei.", "Sechs."]  # type: ignore[union-attr]
    assert guess.after == "It is `2`.\n\nTwice.\n"
    assert german.title == "a.b"
    # What decides is the same, and so is the pack in its own language.
    english = load_pack(pack).lessons["a.b"]
    assert guess.choices[0].holds == english.step("guess").choices[0].holds  # type: ignore[union-attr]
    assert load_pack(pack, language="fr").lessons["a.b"] == english


def test_extract_is_the_source_in_a_form_that_reads_back(pack: Path) -> None:
    main(["author", "i18n", "extract", "de", str(pack)])
    path = overlay(pack)
    path.write_text(path.read_text(encoding="utf-8").replace("TODO ", ""), encoding="utf-8")
    assert load_pack(pack, language="de").lessons == load_pack(pack).lessons
    assert [fault.code for fault in lint([pack]).faults] == []


def test_status_counts(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["author", "i18n", "status", "de", str(pack)]) == 1
    assert capsys.readouterr().out == "a.b: 0 of 9 ready, 9 missing\n"
    main(["author", "i18n", "extract", "de", str(pack)])
    translate(pack, **{"What is it?": "Was ist es?", "Six.": "Sechs."})
    source = pack / "a" / "b.yaml"
    source.write_text(source.read_text(encoding="utf-8").replace("What is it?", "What?"))
    capsys.readouterr()
    assert main(["author", "i18n", "status", "de", str(pack)]) == 1
    assert capsys.readouterr().out == "a.b: 1 of 9 ready, 1 stale, 7 missing\n"
    stale = [fault for fault in lint([pack]).faults if fault.code == "W601"]
    assert len(stale) == 1
    assert f"{mark('What is it?')} → {mark('What?')}" in stale[0].message
    assert stale[0].path.endswith("i18n/de/a/b.yaml")


def test_sync_adds_what_is_new_and_takes_out_what_is_gone(
    pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["author", "i18n", "extract", "de", str(pack)])
    translate(pack, **{"What is it?": "Was ist es?", "Not that.": "Das nicht."})
    source = pack / "a" / "b.yaml"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace(", say: Not that.", "").replace("text: Six.", "text: 6, say: N"))
    capsys.readouterr()
    assert main(["author", "i18n", "sync", "de", str(pack)]) == 0
    assert capsys.readouterr().out == "a.b: 1 added, 1 taken out\n"
    made = overlay(pack).read_text(encoding="utf-8")
    assert "Was ist es?" in made
    assert "TODO N" in made
    assert "Das nicht." not in made
    assert main(["author", "i18n", "sync", "de", str(pack)]) == 0
    assert capsys.readouterr().out == ""


def test_a_broken_overlay_is_told_and_the_source_is_shown(pack: Path) -> None:
    overlay(pack).parent.mkdir(parents=True)
    overlay(pack).write_text("lesson: a.b\nstrings: [none]\n", encoding="utf-8")
    assert load_pack(pack, language="de").lessons == load_pack(pack).lessons
    assert "E202" in {fault.code for fault in lint([pack]).faults}


@pytest.mark.parametrize("language", ["../x", "", "de/..", "-x"])
def test_what_is_no_language_is_refused(pack: Path, language: str) -> None:
    assert main(["author", "i18n", "status", "--", language, str(pack)]) == 2
