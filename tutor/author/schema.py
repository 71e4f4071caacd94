"""The JSON Schema of the files of a pack, for editors that complete and explain keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel

from tutor.lesson.checks import Check
from tutor.lesson.checks.trouble import FindingCheck, Raises
from tutor.lesson.fields import keys_of
from tutor.lesson.lesson import Glossary, Lesson, PackInfo
from tutor.lesson.steps import Hint

Kind = Literal["lesson", "pack", "concepts"]
MODELS: Mapping[Kind, type[BaseModel]] = {
    "lesson": Lesson,
    "pack": PackInfo,
    "concepts": Glossary,
}
"""What each kind of file is read into."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: Kind) -> dict[str, Any]:
    """The schema of one kind of file.

    It takes the shorthands that the loader takes, and numbers and truth values wherever text is
    asked for: to the loader every plain value is text.
    """
    made = MODELS[kind].model_json_schema(by_alias=True)
    definitions = made.get("$defs", {})
    for model, widen in _SHORTHANDS.items():
        if model.__name__ in definitions:
            definitions[model.__name__] = widen(definitions[model.__name__])
    return {"$schema": DIALECT, **_tidy(made)}


def _none_too(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": schema.pop("description", ""),
        "anyOf": [{"const": "none"}, schema],
    }


def _text_too(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": schema.pop("description", ""),
        "anyOf": [{"type": "string", "minLength": 1}, schema],
    }


def _one_name(schema: dict[str, Any]) -> dict[str, Any]:
    """A check has one key besides `why`."""
    names = [name for name in keys_of(Check) if name != "why"]
    return {**schema, "oneOf": [{"required": [name]} for name in names]}


_SHORTHANDS: Mapping[type[BaseModel], Callable[[dict[str, Any]], dict[str, Any]]] = {
    Raises: _none_too,
    FindingCheck: _none_too,
    Hint: _text_too,
    Check: _one_name,
}


def _tidy(schema: Any, *, names: bool = False) -> Any:
    """Without pydantic's made-up titles and null defaults; text may look like a number.

    `names` says that the keys here are names of fields, not words of the schema language.
    """
    if isinstance(schema, list):
        return [_tidy(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if names:
        return {key: _tidy(value) for key, value in schema.items()}
    kept = {
        key: _tidy(value, names=key in ("properties", "$defs"))
        for key, value in schema.items()
        if key != "title" and not (key == "default" and value is None)
    }
    if kept.get("type") == "string" and not {"pattern", "enum", "const"} & set(kept):
        kept["type"] = ["string", "number", "boolean"]
    choices = kept.get("anyOf")
    if choices is not None and {"type": "null"} in choices:
        choices = [each for each in choices if each != {"type": "null"}]
        rest = {key: value for key, value in kept.items() if key != "anyOf"}
        kept = {**choices[0], **rest} if len(choices) == 1 else {"anyOf": choices, **rest}
    return kept
