"""The JSON Schema takes what the loader takes, and refuses what has the wrong shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.author.pages import build, section
from tutor.author.lint import lint
from tutor.author.rulebook import page
from tutor.author.schema import MODELS, schema_of
from tutor.cli import main

ROOT = Path(__file__).parents[2]
LESSONS = sorted(p for p in (ROOT / "lessons").glob("*/*.yaml") if p.parent.name != "i18n")
SHAPE = {"E201", "E202", "E203", "E204", "E206"}
"""Rules on the shape of data."""


def errors(kind: str, data: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema_of(kind))  # type: ignore[arg-type]
    return [error.message for error in validator.iter_errors(data)]


def loaded(path: Path) -> Any:
    """A file as an editor reads it: numbers and truth values are no text."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", list(MODELS))
def test_it_is_a_schema_and_every_key_is_described(kind: str) -> None:
    schema = schema_of(kind)  # type: ignore[arg-type]
    jsonschema.Draft202012Validator.check_schema(schema)
    for name, definition in {"": schema, **schema.get("$defs", {})}.items():
        for part in (definition, *definition.get("anyOf", ())):
            for key, value in part.get("properties", {}).items():
                assert value.get("description"), f"{name}.{key} has no description"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_first_party_lesson_fits(path: Path) -> None:
    assert errors("lesson", loaded(path)) == []


def test_the_other_files_of_the_pack_fit() -> None:
    assert errors("pack", loaded(ROOT / "lessons" / "pack.yaml")) == []
    assert errors("concepts", loaded(ROOT / "lessons" / "concepts.yaml")) == []


@pytest.mark.parametrize("code", sorted(SHAPE))
def test_what_has_the_wrong_shape_does_not_fit(code: str, tmp_path: Path) -> None:
    for name, fits in (("Refused", False), ("Accepted", True)):
        folder = build(tmp_path / name, section(page(code), name))
        assert (errors("lesson", loaded(folder / "group" / "sample.yaml")) == []) is fits


@pytest.mark.parametrize("name", ["basics/shape", "more/kinds", "more/limits", "basics/keys"])
def test_broken_lessons_of_a_wrong_shape_do_not_fit(name: str) -> None:
    path = ROOT / "tests" / "broken-pack" / f"{name}.yaml"
    wrong = [fault for fault in lint([path]).faults if fault.code in SHAPE]
    assert wrong
    if name != "basics/keys":  # Python has no mapping whose key is a list
        assert errors("lesson", loaded(path)) != []


CHECK = {"format": 1, "id": "a.b", "title": "T", "revision": 1, "level": "core", "minutes": 1,
         "torch": ">=2.13"}  # fmt: skip


@pytest.mark.parametrize(
    ("check", "fits"),
    [
        ({"raises": "none"}, True),
        ({"raises": {}}, True),
        ({"raises": "never"}, False),
        ({"grad": {"of": "x", "equals": 6}, "why": "So."}, True),
        ({"grad": {"of": "x", "equals": [6]}}, False),
        ({"graph": {"of": "y", "has": "ExpBackward0"}}, True),
        ({"graph": {"of": "y", "has": ["ExpBackward0", "leaf x"]}}, True),
        ({"graph": {"of": "y", "nodes": {"max": 3}}}, True),
        ({"graph": {"of": "y", "nodes": 3}}, False),
        ({"value": {"of": "y", "shape": [2, "three"]}}, False),
        ({"raises": "none", "finding": "none"}, False),
        ({"why": "Nothing is asked."}, False),
        ({"not": {"any": [{"raises": "none"}, {"finding": {"kind": "data-bypass"}}]}}, True),
    ],
)
def test_checks(check: dict[str, Any], fits: bool) -> None:
    steps = [{"id": "a", "kind": "run", "text": "T", "code": "x = 1", "checks": [check]}]
    assert (errors("lesson", {**CHECK, "steps": steps}) == []) is fits


def test_hints_are_text_or_a_mapping() -> None:
    step = {"id": "a", "kind": "read", "text": "T"}
    hints = ["Text.", {"say": "Text.", "when": [{"raises": "none"}]}]
    assert errors("lesson", {**CHECK, "steps": [{**step, "hints": hints}]}) == []
    assert errors("lesson", {**CHECK, "steps": [{**step, "hints": [{"tell": "T"}]}]}) != []


def test_the_command_prints_it_or_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["author", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema_of("lesson")
    out = tmp_path / "lesson.schema.json"
    assert main(["author", "schema", "--of", "pack", "--out", str(out)]) == 0
    assert json.loads(out.read_text(encoding="utf-8")) == schema_of("pack")
    assert main(["author", "schema", "--out", str(tmp_path / "no" / "x")]) == 2
