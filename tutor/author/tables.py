"""Tables of keys as the pages of the format show them, from the words of the schema."""

from __future__ import annotations

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tutor.lesson.checks import Check
from tutor.lesson.steps import (
    BaseStep,
    Break,
    ChoiceStep,
    Fill,
    Fix,
    Order,
    Predict,
    Read,
    Run,
    Write,
)

STEPS: dict[str, type[BaseStep]] = {
    "read": Read,
    "run": Run,
    "predict": Predict,
    "choice": ChoiceStep,
    "fill": Fill,
    "fix": Fix,
    "write": Write,
    "break": Break,
    "order": Order,
}


def checks() -> dict[str, type[BaseModel] | None]:
    """Each check's name with the model of its arguments, None where these are checks."""
    found: dict[str, type[BaseModel] | None] = {}
    for name, field in Check.model_fields.items():
        if name != "why":
            parts = getattr(field.annotation, "__args__", ())
            model = next((p for p in parts if isinstance(p, type) and p is not type(None)), None)
            known = model is not None and issubclass(model, BaseModel) and model is not Check
            found[field.alias or name] = model if known else None
    return found


def table(model: type[BaseModel], leave_out: frozenset[str] = frozenset()) -> str:
    """A Markdown table of a model's keys; those that must be given are in bold."""
    rows = ["| key | meaning |", "| --- | --- |"]
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key in leave_out:
            continue
        shown = f"**`{key}`**" if field.is_required() else f"`{key}`"
        default = field.default
        told = field.description or ""
        if not field.is_required() and default not in (None, (), "", False, PydanticUndefined):
            text = "true" if default is True else default
            text = f"[{default[0]:g}, {default[1]:g}]" if isinstance(default, tuple) else text
            told += f" ({text} if not given)"
        rows.append(f"| {shown} | {told} |")
    return "\n".join(rows)


def own_keys(kind: str) -> str:
    """The table of the keys that a kind of step has beyond those of every step."""
    return table(STEPS[kind], frozenset(BaseStep.model_fields) | {"kind"})
