"""Message ids and facts to words: one gettext catalogue (`catalogue/<language>.po`) a language.

A catalogue is read by its ids ("inplace-saved.plain.title"), never by English sentences, so
that the English can be improved without breaking a translation. English fills what another
language lacks.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from tutor.explain.finding import Fact, Finding


@dataclass(frozen=True, slots=True)
class Words:
    """What a finding says: one line without markup, and a few sentences of markdown."""

    title: str
    explanation: str


def words(finding: Finding, language: str | None = None) -> Words:
    """The words of a finding in a language (by default that of the environment)."""
    return Words(
        say(f"{finding.message}.title", finding.facts, language),
        say(f"{finding.message}.text", finding.facts, language),
    )


def say(message: str, facts: Mapping[str, Fact] | None = None, language: str | None = None) -> str:
    """One message with its facts filled in. Raises KeyError for an unknown id.

    A fact that is missing leaves a gap ("…"): half a sentence is better than a traceback.
    """
    template = _lookup(message, language or preferred())
    return template.format_map(_Facts({k: _shown(v) for k, v in (facts or {}).items()}))


class _Facts(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "…"


def known(message: str) -> bool:
    """Whether the English catalogue has this id."""
    return message in catalogue("en")


def preferred() -> str:
    """The language that the environment asks for, "en" where there is no catalogue for it."""
    for variable in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        for wanted in os.environ.get(variable, "").split(":"):
            code = wanted.split(".")[0].split("@")[0]
            for name in (code, code.split("_")[0]):
                if name and catalogue(name):
                    return name
            if code:
                return "en"
    return "en"


@lru_cache(maxsize=8)
def catalogue(language: str) -> dict[str, str]:
    """The messages of a language by id, empty where there is no catalogue."""
    if not language.replace("_", "").isalpha():
        return {}
    file = resources.files("tutor.explain").joinpath(f"catalogue/{language}.po")
    if not file.is_file():
        return {}
    return parse(file.read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, str]:
    """The entries of a .po file: msgid and msgstr, each in one or several quoted lines.

    Raises ValueError for a line that is none of comment, msgid, msgstr and quoted text.
    """
    found: dict[str, str] = {}
    key, parts, target = "", {"msgid": "", "msgstr": ""}, ""
    for number, raw in enumerate([*text.splitlines(), 'msgid ""'], 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word in parts:
            if word == "msgid":
                key = parts["msgid"]
                if key and parts["msgstr"]:
                    found[key] = parts["msgstr"]
                parts = {"msgid": "", "msgstr": ""}
            target, line = word, rest.strip()
        if not target or not (line.startswith('"') and line.endswith('"')):
            raise ValueError(f"line {number} of the catalogue is not understood: {raw!r}")
        parts[target] += ast.literal_eval(line)
    return found


def _lookup(message: str, language: str) -> str:
    found = catalogue(language).get(message)
    return found if found is not None else catalogue("en")[message]


def _shown(fact: Fact) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, float):
        return number(fact)
    if isinstance(fact, tuple):
        return ", ".join(_shown(part) for part in fact)
    return str(fact)


def number(value: float | int) -> str:
    """A number as a person writes it: `3`, `0.25`, `1.5e-08`."""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.6g}"
    return text[:-2] if text.endswith(".0") else text
