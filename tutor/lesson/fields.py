"""From what pydantic found in a file's data to faults with a place and a way out."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from tutor.lesson.checks import Check
from tutor.lesson.document import Document, Loc
from tutor.lesson.faults import Fault, did_you_mean, nearest
from tutor.lesson.model import KEBAB, LESSON_ID, UnknownId
from tutor.lesson.steps import KINDS
from tutor.trace.expression import Refused

M = TypeVar("M", bound=BaseModel)

_PATTERNS = {
    KEBAB: "an id is lower-case words joined by hyphens, like second-backward",
    LESSON_ID: "a lesson's id is track.name in lower case, like inplace.views",
}

_LIMITS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
}

_NEEDED = {
    "int_parsing": "a whole number is needed here",
    "int_from_float": "a whole number is needed here",
    "int_type": "a whole number is needed here",
    "float_parsing": "a number is needed here",
    "float_type": "a number is needed here",
    "bool_parsing": "true or false is needed here",
    "bool_type": "true or false is needed here",
    "string_type": "text is needed here",
    "tuple_type": "a list is needed here",
    "list_type": "a list is needed here",
    "dict_type": "a mapping (key: value) is needed here",
    "model_type": "a mapping (key: value) is needed here",
    "model_attributes_type": "a mapping (key: value) is needed here",
}


def validated(model: type[M], document: Document) -> tuple[M | None, list[Fault]]:
    """The model of a document's data, or every fault that keeps it from being one."""
    if document.root is None:
        return None, []
    data = document.root.plain()
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=True)
    # A step of a misspelt kind is not looked into: look again as if it were spelt right.
    if any(_is_kind_error(one) for one in found) and _spelt_right(data, found):
        try:
            model.model_validate(data)
        except ValidationError as error:
            again = error.errors(include_url=False, include_input=True)
            found = [one for one in found if _is_kind_error(one)] + again
    below = {tuple(one["loc"][:-size]) for one in found for size in range(1, len(one["loc"]))}
    # An item that does not fit is left out, and then its list is too short: said once.
    told = [one for one in found if one["type"] != "too_short" or one["loc"] not in below]
    return None, [_fault(model, document, one) for one in told]


def _is_kind_error(error: Any) -> bool:
    return bool(error["type"] == "union_tag_invalid")


def _spelt_right(data: Any, found: Iterable[Any]) -> bool:
    """Correct the misspelt kinds of steps in the data, where one is near."""
    changed = False
    for error in found:
        step = error["input"]
        if _is_kind_error(error) and isinstance(step, dict):
            near = nearest(str(step.get("kind")), KINDS)
            if near is not None:
                step["kind"] = near
                changed = True
    return changed


def _fault(model: type[BaseModel], document: Document, error: Any) -> Fault:
    loc: Loc = error["loc"]
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "missing":
        name = str(loc[-1])
        return document.fault(loc[:-1], "E201", f'"{name}" is missing', help=_needs(model, loc))
    if kind == "extra_forbidden":
        return _unknown(model, document, loc)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _unknown_kind(document, loc, context)
    if kind == "literal_error":
        known = _literals(context.get("expected", ""))
        message = f'"{given}" is not one of the words for "{_name(loc)}"'
        return document.fault(loc, "E203", message, help=did_you_mean(str(given), known))
    if kind == "value_error":
        return _refused(document, loc, context.get("error"), given)
    if kind == "string_pattern_mismatch":
        told = _PATTERNS.get(context.get("pattern", ""), "this does not fit")
        return document.fault(loc, "E203", f'"{given}" cannot stand here', help=told)
    if kind in ("too_short", "string_too_short"):
        least = context.get("min_length", 1)
        what = "nothing is written here" if not given else f"at least {least} are needed"
        return document.fault(loc, "E203", f'"{_name(loc)}": {what}')
    if kind in _NEEDED:
        return document.fault(loc, "E202", f'{_NEEDED[kind]}, "{_name(loc)}" has {_told(given)}')
    message = (
        f'"{_name(loc)}": {error["msg"][:1].lower()}{error["msg"][1:]}, this is {_told(given)}'
    )
    return document.fault(loc, "E203", message)


def _name(loc: Loc) -> str:
    """The last key of a place."""
    return next((part for part in reversed(loc) if isinstance(part, str)), "the file")


def _told(given: object) -> str:
    if isinstance(given, str):
        return f'"{given[:40]}"' if given else "nothing"
    return "a list" if isinstance(given, (list, tuple)) else "a mapping"


def _needs(model: type[BaseModel], loc: Loc) -> str:
    """What the schema says of a missing field."""
    owner = next(iter(_models_at(model, loc[:-1])), None)
    for name, field in (owner.model_fields if owner else {}).items():
        if loc[-1] in (name, field.alias) and field.description:
            return field.description
    return ""


def _unknown(model: type[BaseModel], document: Document, loc: Loc) -> Fault:
    name = str(loc[-1])
    owners = list(_models_at(model, loc[:-1]))
    known = sorted({key for owner in owners for key in keys_of(owner)})
    if any(owner is Check for owner in owners):
        known.remove("why")
        return document.fault(
            loc, "E204", f'"{name}" is not a check', help=did_you_mean(name, known), key=True
        )
    what = next((f' of "{part}"' for part in reversed(loc[:-1]) if isinstance(part, str)), "")
    message = f'"{name}" is not a key{what} here'
    return document.fault(loc, "E204", message, help=did_you_mean(name, known), key=True)


def _unknown_kind(document: Document, loc: Loc, context: Any) -> Fault:
    kind = context.get("tag")
    if kind is None:
        return document.fault(loc, "E201", '"kind" is missing', help=", ".join(KINDS))
    message = f'"{kind}" is not a kind of step'
    return document.fault([*loc, "kind"], "E206", message, help=did_you_mean(str(kind), KINDS))


def _refused(document: Document, loc: Loc, error: object, given: object) -> Fault:
    if isinstance(error, Refused):
        node = document.node(loc)
        fault = document.fault(loc, "E205", f'"{given}": {error}')
        if node is None or node.block:
            return fault
        quoted = document.text.lines[node.line][node.column : node.column + 1] in ("'", '"')
        column = node.column + quoted + error.offset
        return document.text.fault(
            node.line, column, (fault.code, fault.rule), fault.message, help=fault.help
        )
    if isinstance(error, UnknownId):
        near = nearest(error.word, error.known)
        help = f'did you mean "{near}"?' if near else f"known: {', '.join(sorted(error.known))}"
        return document.fault(loc, "E212", str(error), help=help)
    return document.fault(loc, "E213", str(error))


def _literals(text: str) -> list[str]:
    """The words in pydantic's `'a', 'b' or 'c'`."""
    return [word.strip(" '\"") for word in text.replace(" or ", ",").split(",")]


# -- which model stands at a place --------------------------------------------------------


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys that a model takes, as they are written."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_at(model: type[BaseModel], loc: Loc) -> Iterator[type[BaseModel]]:
    """The models that a place of the data may be, following a location of pydantic's."""
    here: set[Any] = {model}
    for part in loc:
        following: set[Any] = set()
        for each in here:
            following.update(_below(each, part))
        here = following or here  # the tag of a union names no place of the data
    for each in here:
        if isinstance(each, type) and issubclass(each, BaseModel):
            yield each


def _below(model: Any, part: str | int) -> Iterable[Any]:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return
    for name, field in model.model_fields.items():
        if part in (name, field.alias):
            yield from _unwrapped(field.annotation)
    if isinstance(part, str) and "kind" in model.model_fields:
        annotation = model.model_fields["kind"].annotation
        if get_origin(annotation) is Literal and part in get_args(annotation):
            yield model


def _unwrapped(annotation: Any) -> Iterator[Any]:
    """The models in an annotation: through optional, lists, mappings and unions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Union, types.UnionType, Annotated, tuple, list, dict):
        for inner in get_args(annotation):
            yield from _unwrapped(inner)
