"""Answers that were not handed in yet: kept as edits of code are, and shown in the code."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tutor.app.model.answers import Arrangement, asks
from tutor.app.model.step import Work

if TYPE_CHECKING:
    from tutor.lesson import AnyStep


def draft_of(work: Work) -> str:
    """Answers that were not handed in yet, as one line of text."""
    data: dict[str, object] = {}
    if work.picked:
        data["picked"] = {name: list(ids) for name, ids in work.picked.items()}
    if work.blanks:
        data["blanks"] = dict(work.blanks)
    if work.order is not None:
        data["order"] = [list(work.order.inside), list(work.order.outside)]
    return json.dumps(data)


def with_draft(step: AnyStep, work: Work, text: str) -> Work:
    """The work with the answers of an earlier day; what no longer fits is left out."""
    try:
        data = json.loads(text)
        said = data.get("picked", {})
        picked = {
            ask.id: tuple(name for name, _ in ask.options if name in said.get(ask.id, ()))
            for ask in asks(step)
        }
        blanks = {str(k): str(v) for k, v in data.get("blanks", {}).items()}
        order = work.order
        if order is not None and "order" in data:
            inside, outside = data["order"]
            kept = Arrangement(tuple(map(int, inside)), tuple(map(int, outside)))
            order = kept if sorted(kept.every) == sorted(order.every) else order
    except (ValueError, TypeError, AttributeError):
        return work
    return replace(work, picked=picked, blanks=blanks, order=order)


def filled(step: Any, blanks: Any) -> str:
    """The code with what was typed, a rule where nothing was."""
    shown = {name: blanks.get(name) or "_" * blank.width for name, blank in step.blanks.items()}
    return str(step.filled(shown)).rstrip("\n")
