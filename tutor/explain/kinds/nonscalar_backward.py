"""A backward of a value that is no scalar, without a gradient to start from, or a wrong one."""

from __future__ import annotations

import ast
from math import prod

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace
from tutor.explain.history import Failure, History
from tutor.trace import NONE

KIND = "nonscalar-backward"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused pass whose root has several elements, or whose seed has another shape."""
    run = failure.run
    if run is None or run.order or not run.event.roots:
        return None
    seeds = run.event.seeds
    call = history.place("cause", failure.site, failure.moment, "")
    for index, (uid, node) in enumerate(run.event.roots):
        root = history.meta(uid, run.moment)
        if root is None or (node == NONE and not root.requires_grad):
            continue
        seed = seeds[index] if index < len(seeds) else None
        name = history.name(uid, run.moment)
        facts: dict[str, Fact] = {"root": name, "shape": shape(root.shape)}
        maker = history.last.nodes.get(root.node)
        made = None
        if maker is not None:
            made = history.place("witness", maker.site, maker.moment, note("makes", tensor=name))
        if seed is None and len(seeds) <= index and prod(root.shape) != 1:
            here = failure.site[-1]
            edit = _reduced(history, here.file, here.line)
            causes: list[FindingPlace | None] = []
            if maker is not None:
                words = note("not-reduced", shape=shape(root.shape))
                causes.append(history.place("cause", maker.site, maker.moment, words))
            return finding(
                KIND, "error", "no-gradient", facts, cause=[*causes, call], witness=[made],
                surfaced=[surfaced(history, note("needs-scalar"))],
                fixes=[fix("reduce", {"line": here.line}, edit)],
            )  # fmt: skip
        if seed is not None and tuple(seed.shape) != tuple(root.shape):
            facts["given"] = shape(seed.shape)
            return finding(
                KIND, "error", "wrong-shape", facts, cause=[call], witness=[made],
                surfaced=[surfaced(history)],
            )  # fmt: skip
    if seeds and len(seeds) != len(run.event.roots):
        facts = {"roots": len(run.event.roots), "seeds": len(seeds)}
        return finding(
            KIND, "error", "wrong-count", facts, cause=[call], surfaced=[surfaced(history)]
        )
    return None


def shape(sizes: tuple[int, ...]) -> str:
    """`(2, 3)`, `(3,)` or `()`, as torch prints it."""
    return "(" + ", ".join(str(n) for n in sizes) + ("," if len(sizes) == 1 else "") + ")"


def _reduced(history: History, file: str, line: int) -> Edit | None:
    text = history.text(file)

    def summed(call: ast.Call) -> str | None:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
            return None
        if call.args or call.keywords:
            return None
        return f"{edits.segment(text, call.func.value)}.sum().backward()"

    return edits.rewrite_calls(text, file, line, summed)
