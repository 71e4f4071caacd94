"""Checks on the text of the program: what it uses, and what it must not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Self

from pydantic import Field, model_validator

from tutor.lesson.checks.body import Body, Names
from tutor.lesson.checks.evidence import Evidence, Outcome, decided, undecided
from tutor.lesson.checks.tensors import needs_one
from tutor.lesson.checks.words import listed
from tutor.trace.expression import dotted

_STATEMENTS: dict[type[ast.AST], str] = {
    ast.For: "for",
    ast.While: "while",
    ast.With: "with",
    ast.If: "if",
    ast.Try: "try",
    ast.FunctionDef: "def",
    ast.ClassDef: "class",
    ast.Lambda: "lambda",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Delete: "del",
}

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
}


def used(text: str) -> frozenset[str]:
    """What a program uses: dotted names and each of their tails, statements, operators.

    `torch.no_grad()` uses "torch.no_grad" and "no_grad"; `b *= c` uses "*=". Raises SyntaxError.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        found.update(_uses(node))
    return frozenset(found)


def _uses(node: ast.AST) -> Iterator[str]:
    if type(node) in _STATEMENTS:
        yield _STATEMENTS[type(node)]
    if isinstance(node, ast.AugAssign):
        yield _SIGNS.get(type(node.op), "?") + "="
    elif isinstance(node, ast.BinOp):
        yield _SIGNS.get(type(node.op), "?")
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
        name = dotted(node)
        if name is not None:
            parts = name.split(".")
            yield from (".".join(parts[i:]) for i in range(len(parts)))
    elif isinstance(node, ast.keyword) and node.arg:
        yield node.arg + "="
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


class SourceCheck(Body):
    """What the learner's text uses, must not use, and how long it may be."""

    uses: Names | None = Field(
        None, description="Names, statements or operators that must be in the code."
    )
    forbids: Names | None = Field(None, description="Those that must not.")
    max_lines: int | None = Field(None, description="Lines of code at most.")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        needs_one(self, ("uses", "forbids", "max_lines"))
        return self

    def says(self) -> str:
        parts = []
        if self.uses is not None:
            parts.append(f"uses {listed([f'`{name}`' for name in self.uses])}")
        if self.forbids is not None:
            parts.append(f"does without {listed([f'`{name}`' for name in self.forbids])}")
        if self.max_lines is not None:
            parts.append(f"has at most {self.max_lines} lines")
        return f"the code {listed(parts)}"

    def judge(self, evidence: Evidence) -> Outcome:
        text = evidence.source
        try:
            there = used(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return undecided(self.says(), "the code is not valid Python yet")
        absent = [name for name in self.uses or () if name not in there]
        present = [name for name in self.forbids or () if name in there]
        lines = sum(1 for line in text.splitlines() if line.split("#")[0].strip())
        long = self.max_lines is not None and lines > self.max_lines
        got = [f"no {listed(absent, 'or')}"] if absent else []
        got += [f"{listed(present)} is there"] if present else []
        got += [f"{lines} lines"] if long else []
        return decided(not got, self.says(), listed(got) if got else "so it is")
