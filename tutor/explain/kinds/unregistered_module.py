"""Parameters that the module does not know, so that the optimizer gets none."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.explain.reads import read_after

KIND = "unregistered-module"


def raised(history: History, failure: Failure) -> Finding | None:
    """An optimizer that refused an empty list, in a program with parameters outside modules."""
    if not failure.inside("torch/optim/") or "empty parameter list" not in failure.message:
        return None
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    facts: dict[str, Fact] = {}
    variant = "empty"
    for tensor in sorted(history.last.tensors.values(), key=lambda t: t.moment):
        if tensor.meta.kind == "Parameter" or not tensor.meta.requires_grad or not tensor.meta.leaf:
            continue
        for named in tensor.names:
            if named.name.startswith("self.") and tensor.born:
                variant, words = "plain-tensor", note("no-parameter")
                facts.setdefault("name", named.name)
                causes.append(history.place("cause", tensor.born, tensor.moment, words))
                break
    for place in list(causes)[:1]:
        if place is not None:
            edit = _wrapped(history, place)
            fixes.append(fix("wrap-parameter", {"line": place.line}, edit))
    for file, line, name in _lists(history):
        if variant == "empty":
            variant, facts["name"] = "list", name
        causes.append(history.line_place("cause", file, line, note("plain-list")))
        fixes.append(fix("module-list", {"line": line}, _listed(history, file, line)))
    if variant == "empty":
        return None  # nothing says what should have been in the list
    causes.append(history.place("cause", failure.site, failure.moment))
    return finding(
        KIND, "error", variant, facts, cause=causes, surfaced=[surfaced(history)], fixes=fixes
    )


def ran(history: History) -> list[Finding]:
    """Layers in a plain list that get gradients, and that no optimizer steps on."""
    steps = [op for op in history.ops if op.func == "Optimizer.step" and op.event.args]
    held = {uid for op in steps for uid in op.event.args}
    given = {entry.uid for run in history.passes for entry in run.accumulated}
    if not steps or not given & held:
        return []
    for uid in sorted(given - held):
        known = history.tensor(uid)
        if known is None or known.meta.kind != "Parameter" or not known.born:
            continue
        for file, line, name in _lists(history):
            places = {(p.file, p.line) for p in known.born}
            if not any((file, n) in places for n in _span(history, file, line)):
                continue
            seen: list[FindingPlace | None] = []
            for other in sorted(given - held):
                seen = seen or read_after(
                    history, other, steps[0].moment, note("not-moved"), value=True
                )
            return [
                finding(
                    KIND,
                    "warning",
                    "hidden",
                    {"name": name},
                    cause=[history.line_place("cause", file, line, note("plain-list"))],
                    witness=[history.place("witness", steps[0].site, steps[0].moment)],
                    surfaced=[
                        *seen,
                        history.place("surfaced", steps[-1].site, steps[-1].moment),
                    ],
                    fixes=[fix("module-list", {"line": line}, _listed(history, file, line))],
                )
            ]
    return []


def _span(history: History, file: str, line: int) -> range:
    node = source.statement(history.text(file), line)
    return range(line, (node.end_lineno or line) + 1) if node is not None else range(line, line + 1)


def _wrapped(history: History, place: FindingPlace) -> Edit | None:
    """`self.w = torch.zeros(3, requires_grad=True)` with `nn.Parameter(…)` around the value."""
    text = history.text(place.file)
    node = source.simple_statement(text, place.line)
    if not isinstance(node, ast.Assign):
        return None
    value = edits.segment(text, node.value)
    value = re.sub(r",\s*requires_grad\s*=\s*True", "", value)
    wrapper = (
        "nn.Parameter"
        if re.search(r"^\s*from torch import .*\bnn\b", text, re.M)
        else ("torch.nn.Parameter")
    )
    return edits.splice(text, place.file, node.value, f"{wrapper}({value})")


def _lists(history: History) -> list[tuple[str, int, str]]:
    """(file, line, name) of each plain list of layers that is kept on self."""
    found = []
    for file, text in history.trace.texts.items():
        module = source.tree(text)
        for node in ast.walk(module) if module is not None else ():
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target, value = node.targets[0], node.value
            if not isinstance(value, ast.List | ast.ListComp | ast.Dict | ast.DictComp):
                continue
            made = {source.called(call) for call in source.calls(value)}
            layers = any(name[:1].isupper() for name in made)
            if (
                isinstance(target, ast.Attribute)
                and layers
                and (file, node.lineno) in (history.line_runs)
            ):
                found.append((file, node.lineno, edits.segment(text, target)))
    return found


def _listed(history: History, file: str, line: int) -> Edit | None:
    text = history.text(file)
    node = source.simple_statement(text, line)
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List | ast.ListComp):
        return None
    wrapper = (
        "nn.ModuleList"
        if re.search(r"^\s*from torch import .*\bnn\b", text, re.M)
        else ("torch.nn.ModuleList")
    )
    return edits.splice(text, file, node.value, f"{wrapper}({edits.segment(text, node.value)})")
