"""The catalogue: every id that is used exists, and every sentence can be filled in."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import tutor.explain
from tests.programs import everything, load
from tutor.explain import messages
from tutor.explain.patterns import kind_of
from tutor.explain.registry import BY_ID, KINDS

ROOM = Path(tutor.explain.__file__).parent
ENGLISH = messages.catalogue("en")
TESTS = Path(__file__).parent.parent


def calls(name: str) -> set[str]:
    """The first arguments of all calls of a function by name in the room's modules."""
    found: set[str] = set()
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == name
                and node.args
            ):
                found |= {
                    part.value
                    for part in ast.walk(node.args[0])
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    return found


def test_every_note_and_fix_has_words() -> None:
    assert not {f"note.{name}" for name in calls("note")} - set(ENGLISH)
    assert not {f"fix.{name}" for name in calls("fix")} - set(ENGLISH)


def test_every_title_has_a_text_and_the_other_way_round() -> None:
    titles = {key.removesuffix(".title") for key in ENGLISH if key.endswith(".title")}
    texts = {key.removesuffix(".text") for key in ENGLISH if key.endswith(".text")}
    assert titles == texts
    assert {name.split(".")[0] for name in titles} <= set(BY_ID)


def test_placeholders_are_names() -> None:
    for key, text in ENGLISH.items():
        assert set(re.findall(r"\{([^}]*)\}", text)) <= set(re.findall(r"\{([a-z_]+)\}", text)), key


def test_sentences_are_short_and_plain() -> None:
    for key, text in ENGLISH.items():
        if key.endswith(".title"):
            assert "`" not in text, key
            assert len(text) < 100, key
        if key.startswith("note."):
            assert len(text) < 45, key


def test_another_language_falls_back_to_english() -> None:
    assert messages.say("note.frees", {}, "xx") == ENGLISH["note.frees"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('msgid "a"\nmsgstr "b"\n', {"a": "b"}),
        ('# c\nmsgid "a"\nmsgstr ""\n"b\\n"\n"c"\n', {"a": "b\nc"}),
        ('msgid "a"\nmsgstr "say \\"b\\""\n\nmsgid "c"\nmsgstr "d"\n', {"a": 'say "b"', "c": "d"}),
    ],
)
def test_a_catalogue_is_read(text: str, wanted: dict[str, str]) -> None:
    assert messages.parse(text) == wanted


def test_a_broken_catalogue_names_the_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        messages.parse('msgid "a"\nmsgstr b\n')


def test_facts_are_written_as_people_write_them() -> None:
    assert messages.number(3.0) == "3"
    assert messages.number(0.1) == "0.1"
    assert messages.number(1.5e-8) == "1.5e-08"


def test_kinds_are_those_of_the_tests() -> None:
    asked = {load(path)["kind"] for path in (TESTS / "cases").glob("*.yaml")}  # type: ignore[index]
    assert asked <= {kind.id for kind in KINDS}
    assert len(everything()) > 400


def test_patterns_know_the_messages_of_torch() -> None:
    entries = load(TESTS / "programs" / "reproducers.yaml")
    assert isinstance(entries, list)
    errors = [e for e in entries if not e["is_warning"] and e.get("message")]
    right = [e for e in errors if kind_of(e["message"]) == e["finding"]]
    # One message may belong to several kinds: the state of the run decides between them.
    assert len(right) / len(errors) > 0.9
    assert kind_of("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)") is None
    assert kind_of("name 'x' is not defined") is None
