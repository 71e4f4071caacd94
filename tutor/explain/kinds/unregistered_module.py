"""Parameters that the module does not know, so that the optimizer gets none."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History
from tutor.explain.optimizers import Optimizer, optimizers, written_by_hand
from tutor.explain.shown import shown_places
from tutor.trace import Place
from tutor.trace.state import TensorState

KIND = "unregistered-module"


def raised(history: History, failure: Failure) -> Finding | None:
    """An optimizer that refused an empty list, in a program with parameters outside modules."""
    if not failure.inside("torch/optim/") or "empty parameter list" not in failure.message:
        return None
    causes: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    facts: dict[str, Fact] = {}
    variant = "empty"
    for tensor in sorted(history.tensors.values(), key=lambda t: t.moment):
        if tensor.meta.kind == "Parameter" or not tensor.meta.requires_grad or not tensor.meta.leaf:
            continue
        for named in tensor.names:
            if named.name.startswith("self.") and tensor.born:
                variant, words = "plain-tensor", note("no-parameter")
                facts.setdefault("name", named.name)
                causes.append(history.place("cause", tensor.born, tensor.moment, words))
                break
    plain = [place for place in causes if place is not None]
    if plain:
        wrapped = {(p.file, p.line): _wrapped(history, p) for p in plain}
        fixes.append(fix("wrap-parameter", {"line": plain[0].line}, *wrapped.values()))
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
    """Layers in a plain list, or a plain tensor, that get gradients and that nothing steps on."""
    known = optimizers(history)
    held = {uid for one in known for uid in one.held}
    first: dict[int, int] = {}
    for run in history.passes:
        for entry in run.accumulated:
            first.setdefault(entry.uid, entry.moment)
    if not known or not held & set(first):
        return []
    loose = [uid for uid in first if uid not in held]
    for uid in loose:
        if written_by_hand(history, uid, first[uid]):
            continue
        kept = _kept_out(history, uid)
        if kept is not None:
            return [_silent(history, kept, loose, known)]
    return []


@dataclass(frozen=True, slots=True)
class _Kept:
    """The line that keeps a parameter from its module: `variant` is "hidden" or "hidden-tensor"."""

    variant: str
    name: str
    places: tuple[FindingPlace | None, ...]
    proposed: Fix | None


def _kept_out(history: History, uid: int) -> _Kept | None:
    """How a leaf that a module's `__init__` made stays unknown to that module."""
    known = history.tensor(uid)
    if known is None:
        return None
    for place in reversed(known.born):
        if not place.function.endswith("__init__"):
            continue
        text = history.text(place.file)
        node = source.statement(text, place.line)
        if node is None:
            continue
        if known.meta.kind != "Parameter":
            return _plain_tensor(history, node, place, known)
        return _container(history, node, place, known)
    return None


def _plain_tensor(
    history: History, node: ast.stmt, place: Place, known: TensorState
) -> _Kept | None:
    """`self.w = torch.zeros(3, requires_grad=True)` in a module."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    name = next((t.attr for t in targets if isinstance(t, ast.Attribute)), "")
    cls = _class_around(history.text(place.file), place.line)
    if not name or cls is None or not cls.bases:
        return None
    here = history.place("cause", known.born, known.moment, note("no-parameter"))
    edit = _wrapped(history, here) if here is not None else None
    proposed = fix("wrap-parameter", {"line": place.line}, edit)
    return _Kept("hidden-tensor", f"self.{name}", (here,), proposed)


def _container(history: History, node: ast.stmt, place: Place, known: TensorState) -> _Kept | None:
    """A layer that is put into a plain list, tuple or dict on self."""
    text = history.text(place.file)
    cls = _class_around(text, place.line)
    if cls is None or not cls.bases:
        return None
    for line, name in _plain_containers(text, cls):
        inside = line <= place.line <= _last_line(text, line)
        if not inside and name not in _put_into(text, node):
            continue
        causes = [history.line_place("cause", place.file, line, note("plain-list"))]
        if not inside:
            causes.append(history.line_place("cause", place.file, place.line, note("plain-list")))
        proposed = fix("module-list", {"line": line}, _listed(history, place.file, line))
        return _Kept("hidden", name, tuple(causes), proposed)
    return None


_PLAIN = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Tuple, ast.GeneratorExp)


def _class_around(text: str, line: int) -> ast.ClassDef | None:
    return next((n for n in source.around(text, line) if isinstance(n, ast.ClassDef)), None)


def _plain_containers(text: str, cls: ast.ClassDef) -> list[tuple[int, str]]:
    """(line, name) of the assignments of plain containers in a class, of self's or a local name."""
    found = []
    for node in ast.walk(cls):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        value = node.value
        plain = isinstance(value, _PLAIN) or (
            isinstance(value, ast.Call) and source.called(value) in ("list", "dict", "tuple")
        )
        name = edits.segment(text, target)
        if plain and (name.startswith("self.") or _ends_on_self(text, cls, name)):
            found.append((node.lineno, name))
    return found


def _ends_on_self(text: str, cls: ast.ClassDef, name: str) -> bool:
    """Whether a local container is kept on self as it is: `self.layers = layers`."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(cls)
    )


def _put_into(text: str, node: ast.stmt) -> set[str]:
    """The containers that a statement puts something into: of `.append(…)` and `x[k] = …`."""
    found = set()
    if isinstance(node, ast.Assign):
        found |= {
            edits.segment(text, t.value) for t in node.targets if isinstance(t, ast.Subscript)
        }
    if isinstance(node, ast.AugAssign):
        found.add(edits.segment(text, node.target))
    for call in source.calls(node):
        if isinstance(call.func, ast.Attribute) and source.called(call) in _PUTS:
            found.add(edits.segment(text, call.func.value))
    return found


_PUTS = frozenset(["append", "extend", "insert", "update", "setdefault"])


def _last_line(text: str, line: int) -> int:
    node = source.statement(text, line)
    return (node.end_lineno or line) if node is not None else line


def _silent(history: History, kept: _Kept, loose: list[int], known: list[Optimizer]) -> Finding:
    first = known[0].steps[0]
    last = known[0].steps[-1]
    return finding(
        KIND,
        "warning",
        kept.variant,
        {"name": kept.name},
        cause=kept.places,
        witness=[history.place("witness", first.site, first.moment)],
        surfaced=[
            *shown_places(history, loose, first.moment, note("not-moved"), values=True),
            history.place("surfaced", last.site, last.moment),
        ],
        fixes=[kept.proposed],
    )


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
    if not isinstance(node, ast.Assign):
        return None
    if not isinstance(node.value, ast.List | ast.ListComp | ast.Dict | ast.DictComp):
        return None
    wrapper = (
        "nn.ModuleList"
        if re.search(r"^\s*from torch import .*\bnn\b", text, re.M)
        else ("torch.nn.ModuleList")
    )
    if isinstance(node.value, ast.Dict | ast.DictComp):
        wrapper = wrapper.replace("List", "Dict")
    return edits.splice(text, file, node.value, f"{wrapper}({edits.segment(text, node.value)})")
