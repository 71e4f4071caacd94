"""The flag or a parameter's slot misused."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare
from tutor.trace import Place

KIND = "requires-grad-flag"

_SLOT = re.compile(r"cannot assign .* (?:as|to) parameter '(?P<name>[\w.]+)'", re.IGNORECASE)
"""The refused tensor does not cross to us: the message names the slot."""


def raised(history: History, failure: Failure) -> Finding | None:
    """requires_grad of a non-leaf, detach_ of a view, a tensor over a Parameter."""
    op = failure.op
    slot = _SLOT.search(failure.message)
    here = failure.site[-1] if failure.site else None
    if slot is not None and failure.kind in ("TypeError", "ValueError") and here is not None:
        facts: dict[str, Fact] = {"slot": slot["name"]}
        return _finding(history, failure, "slot", facts, [_local(history, here, slot["name"])])
    if op is None or not op.event.args:
        return None
    func = bare(op.func)
    target = history.tensor(op.event.args[0])
    meta = history.meta(op.event.args[0], op.moment)
    if target is None or meta is None:
        return None
    facts = {"tensor": history.name(target.uid, op.moment), "func": func}
    if func.startswith("requires_grad") and not meta.leaf and not op.inference:
        maker = history.nodes.get(meta.node)
        witness = None
        if maker is not None:
            witness = history.place("witness", maker.site, maker.moment, note("computed"))
        edit = _detached(history, failure)
        line: dict[str, Fact] = {"line": failure.site[-1].line}
        return _finding(
            history, failure, "nonleaf", facts, [fix("use-detach", line, edit)], witness
        )
    if func in ("detach_", "resize_", "resize_as_") and meta.requires_grad:
        fixes: list[Fix | None] = []
        if func == "detach_":
            plain = _detached(history, failure)
            fixes.append(fix("use-detach", {"line": failure.site[-1].line}, plain))
        return _finding(history, failure, func.strip("_").split("_")[0], facts, fixes)
    return None


def _finding(
    history: History,
    failure: Failure,
    variant: str,
    facts: dict[str, Fact],
    fixes: list[Fix | None],
    witness: FindingPlace | None = None,
) -> Finding:
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[history.place("cause", failure.site, failure.moment, note("refused"))],
        witness=[witness],
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def _detached(history: History, failure: Failure) -> Edit | None:
    """`t.requires_grad = False` as `t = t.detach()`."""
    here = failure.site[-1]
    text = history.text(here.file)
    node = source.simple_statement(text, here.line)
    target: ast.expr | None = None
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        target = node.targets[0].value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        func = node.value.func
        target = func.value if isinstance(func, ast.Attribute) else None
    if node is None or not isinstance(target, ast.Name):
        return None
    return edits.splice(text, here.file, node, f"{target.id} = {target.id}.detach()")


def _local(history: History, here: Place, slot: str) -> Fix | None:
    """A local name instead of `self.slot`, in this line and the rest of its function."""
    text = history.text(here.file)
    around = source.function_at(text, here.line)
    node = source.simple_statement(text, here.line)
    if around is None or not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    target = node.targets[0]
    if not isinstance(target, ast.Attribute) or target.attr != slot:
        return None
    whole = edits.segment(text, target)
    value = edits.segment(text, node.value)
    changes = [edits.splice(text, here.file, node, f"{slot} = {value}")]
    for number in range((node.end_lineno or node.lineno) + 1, (around.end_lineno or 0) + 1):
        row = source.line(text, number)
        new = re.sub(rf"(?<![\w.]){re.escape(whole)}(?!\w)", slot, row)
        if new != row:
            changes.append(Edit(here.file, number, number, new))
    return fix("local-name", {"line": here.line, "name": slot}, *changes)
