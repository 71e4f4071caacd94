"""Every rule, and its page: what it means, an example that breaks it, and one that does not."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files

from tutor.attempt import proofs
from tutor.author import advice, todo, versions
from tutor.lesson import faults, translation

RULES: Mapping[str, str] = {
    **faults.RULES,
    **proofs.RULES,
    **todo.RULES,
    **versions.RULES,
    **translation.RULES,
    **advice.RULES,
}
"""Every rule: code to name."""


class NoRule(ValueError):
    """No rule has this code or name; the text names some that are near."""


def found(word: str) -> str:
    """The code of a rule that is given by its code or its name. Raises `NoRule`."""
    names = {name: code for code, name in RULES.items()}
    known = word.upper() if word.upper() in RULES else names.get(word.lower())
    if known is None:
        near = get_close_matches(word, [*RULES, *names], n=3, cutoff=0.4) or list(RULES)[:3]
        raise NoRule(f"There is no rule {word}. Some that are: {', '.join(near)}.")
    return known


def page(code: str) -> str:
    """The page of a rule, in Markdown."""
    return (files("tutor.author") / "rules" / f"{code}.md").read_text(encoding="utf-8")


def summary(code: str) -> str:
    """The first sentence of a rule's page."""
    body = page(code).split("\n", 2)[2].strip()
    return " ".join(body.split("\n\n")[0].split())
