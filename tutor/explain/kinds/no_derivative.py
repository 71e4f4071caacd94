"""An op that torch cannot differentiate, in general or with respect to one argument."""

from __future__ import annotations

import re

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.patterns import kind_of
from tutor.trace.state import OpState

KIND = "no-derivative"

_ARGUMENT = re.compile(r"not differentiable with respect to argument '(?P<name>\w+)'")
_DECOMPOSED = ("svd", "eig", "eigh", "qr")
"""Which derivatives torch lacks is known to torch alone: its words decide."""


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused op, or a node whose backward is missing."""
    if kind_of(failure.message) != KIND or not failure.site:
        return None
    op = failure.op
    node = history.nodes.get(failure.run.failing) if failure.run is not None else None
    facts: dict[str, Fact] = {"message": failure.said, "op": "this op"}
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    variant = "op"
    if op is not None:
        facts["op"] = bare(op.func)
        found = _ARGUMENT.search(failure.message)
        if found is not None:
            variant, facts["argument"] = "argument", found["name"]
            fixes += _argument(history, failure, op, facts)
    elif node is not None:
        facts["op"] = op_name(node.name)
        causes.append(history.place("cause", node.site, node.moment, note("no-derivative")))
        if "In-place" in failure.message:
            variant = "inplace"
            fixes += _out_of_place(history, causes)
        elif any(part in str(facts["op"]) for part in _DECOMPOSED):
            variant = "decomposition"
            fixes += _reduced(history, causes)
    causes.append(history.place("cause", failure.site, failure.moment))
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=causes[:1] if node is not None and len(causes) > 1 else causes,
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _argument(
    history: History, failure: Failure, op: OpState, facts: dict[str, Fact]
) -> list[Fix | None]:
    """The argument that may not require grad: detached where the call names it."""
    here = failure.site[-1]
    text = history.text(here.file)
    wanting = [uid for uid in op.event.args if history.requires_grad(uid, op.moment)]
    found: list[Fix | None] = []
    # The first argument is what the op works on; the refused one is among the others.
    wanting = [uid for uid in wanting if uid != op.event.args[0]] or wanting
    for uid in wanting:
        known = history.tensor(uid)
        names = [n.name for n in known.names if n.frame == here.frame] if known is not None else []
        if known is not None and known.meta.label:
            names += source.attributes(text, here.line, known.meta.label.rpartition(".")[2])
        for name in names[:1]:
            facts.setdefault("tensor", name)
            edit = rewrites.detached_name(text, here.file, here.line, name)
            found.append(fix("detach-argument", {"line": here.line, "name": name}, edit))
    facts.setdefault("tensor", history.name(wanting[-1], op.moment) if wanting else "the argument")
    return found


def _out_of_place(history: History, causes: list[FindingPlace | None]) -> list[Fix | None]:
    found: list[Fix | None] = []
    for place in causes:
        if place is not None:
            text = history.text(place.file)
            edit = edits.out_of_place(text, place.file, place.line)
            edit = edit or edits.drop_keyword(text, place.file, place.line, "inplace")
            found.append(fix("out-of-place", {"line": place.line}, edit))
    for file, text in history.trace.texts.items():
        for number, row in enumerate(text.splitlines(), 1):
            if "inplace=True" in row and ("LeakyReLU" in row or "ELU" in row or "relu" in row):
                edit = edits.drop_keyword(text, file, number, "inplace")
                found.append(fix("drop-inplace", {"line": number}, edit))
    return found


def _reduced(history: History, causes: list[FindingPlace | None]) -> list[Fix | None]:
    found: list[Fix | None] = []
    for place in causes:
        if place is None:
            continue
        text = history.text(place.file)
        for old in ("complete", "r"):
            for quote in "'\"":
                row = text.splitlines()[place.line - 1]
                given = f"{quote}{old}{quote}"
                if given in row and "qr" in row:
                    new = row.replace(given, f"{quote}reduced{quote}", 1)
                    edit = edits.replaced(place.file, place.line, new)
                    found.append(fix("reduced", {"line": place.line}, edit))
    return found
