"""The words of `why`: `catalogue/why/<language>.po`, English where a language lacks them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources

from tutor.explain import messages
from tutor.explain.finding import Fact

_CONDITION = re.compile(r"\{\?(\w+)\}")
_FACT = re.compile(r"\{(\w+)\}")


@lru_cache(maxsize=4)
def catalogue(language: str) -> dict[str, str]:
    """The entries of a language by id, empty where there is no catalogue for it."""
    if not language.replace("_", "").isalpha():
        return {}
    file = resources.files("tutor.explain").joinpath(f"catalogue/why/{language}.po")
    return messages.parse(file.read_text(encoding="utf-8")) if file.is_file() else {}


def rows(ids: Iterable[str], facts: Mapping[str, Fact]) -> list[str]:
    """The lines of the first id that has words, without those whose facts are missing."""
    for name in ids:
        text = catalogue(messages.preferred()).get(name) or catalogue("en").get(name)
        if text:
            filled = [_filled(row, facts) for row in text.split("\n")]
            return [row for row in filled if row is not None]
    return []


def line(ids: Iterable[str], facts: Mapping[str, Fact]) -> str:
    """The same in one line, "" where no id has words."""
    return " ".join(rows(ids, facts))


def _filled(row: str, facts: Mapping[str, Fact]) -> str | None:
    wanted = [*_CONDITION.findall(row), *_FACT.findall(row)]
    if any(facts.get(name) in (None, "") for name in wanted):
        return None
    return _FACT.sub(lambda found: str(facts[found[1]]), _CONDITION.sub("", row))
