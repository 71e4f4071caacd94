"""Answers, in the learner's process, the questions that came with a program.

`snapshot` is called right after the setup ran, `answer` after the program ended (also after an
exception), both with the observer switched off. Nothing here changes what the learner made:
expressions are computed on detached clones, without recording, within a second, and reads that
could raise are guarded. An answer is plain data; the sentences are made elsewhere.
"""

from __future__ import annotations

import ast
import inspect
import operator
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from tutor.trace.events import NONE, Answer
from tutor.trace.expression import ATTRIBUTES, Refused, dotted, is_path, parse, start_paths
from tutor.trace.program import Nudge, Probe, Program

SECONDS = 1.0
"""What one expression may take."""

MAX_ELEMENTS = 1_000_000
"""Elements of an intermediate result at most."""

SHOWN = 64
"""Elements sent back whole."""

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}

UidOf = Callable[[torch.Tensor], int]


class Undecided(Exception):
    """The question has no answer; `reason` is a code, `detail` what it is about."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


@dataclass(slots=True)
class Started:
    """What the setup gave: clones of what the questions want, and versions by path."""

    clones: dict[str, torch.Tensor] = field(default_factory=dict)
    versions: dict[str, tuple[weakref.ref[torch.Tensor], int | None]] = field(default_factory=dict)


# -- the two calls -------------------------------------------------------------------------


def snapshot(namespace: dict[str, Any], wanted: Program) -> Started:
    """Keep what the questions of `wanted` ask of the setup, and apply its nudge first."""
    if wanted.nudge is not None:
        _nudge(namespace, wanted.nudge)
    started = Started()
    with torch.no_grad():
        for probe in wanted.probes:
            for key, value in probe.args.items():
                if not isinstance(value, str) or key not in ("of", "left", "right"):
                    continue
                _keep(namespace, value, started)
    return started


def answer(
    program: Program, namespace: dict[str, Any], start: Started | None, uid_of: UidOf
) -> list[Answer]:
    """One answer for each probe of the program, in order."""
    scope = _Scope(namespace, start or Started(), uid_of)
    return [_answer(probe, scope) for probe in program.probes]


def _answer(probe: Probe, scope: _Scope) -> Answer:
    kind = _KINDS.get(probe.kind)
    try:
        if kind is None:
            raise Undecided("unknown-question", probe.kind)
        with torch.no_grad():
            return Answer(probe.id, "ok", kind(probe.args, scope))
    except Undecided as error:
        data = {"reason": error.reason, "detail": error.detail}
    except Refused as error:
        data = {"reason": "refused", "detail": str(error)}
    except Exception as error:  # the learner's objects may raise anything when they are read
        data = {"reason": "failed", "detail": f"{type(error).__name__}: {error}"[:500]}
    return Answer(probe.id, "undecided", data)


def _keep(namespace: dict[str, Any], text: str, started: Started) -> None:
    try:
        paths = start_paths(text)
        whole = parse(text)
    except Refused:
        return  # said again, with its reason, in the answer
    for path in paths:
        try:
            found = _reach(parse(path), namespace)
        except (Undecided, Refused):
            continue
        if isinstance(found, torch.Tensor):
            started.clones[path] = found.detach().clone()
    if is_path(whole):
        try:
            found = _reach(whole, namespace)
        except Undecided:
            return
        if isinstance(found, torch.Tensor):
            started.versions[text] = (weakref.ref(found), _version(found))


# -- reaching objects ----------------------------------------------------------------------


@dataclass(slots=True)
class _Scope:
    """Where names are looked up."""

    namespace: Mapping[str, Any]
    start: Started
    uid_of: UidOf

    def reach(self, tree: ast.expr) -> Any:
        """The live object of a path."""
        text = ast.unparse(tree)
        if text.startswith("start."):
            path = text.removeprefix("start.")
            if path not in self.start.clones:
                raise Undecided("no-start", path)
            return self.start.clones[path]
        return _reach(tree, self.namespace)

    def tensor(self, text: str) -> torch.Tensor:
        """The live tensor of a path. Raises `Undecided`."""
        found = self.reach(parse(text))
        if found is None:
            raise Undecided("none", text)
        if not isinstance(found, torch.Tensor):
            raise Undecided("not-a-tensor", text)
        return found


def _reach(tree: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """Follow a path without running the learner's code (no properties, no `__getattr__`)."""
    if isinstance(tree, ast.Name):
        if tree.id not in namespace:
            raise Undecided("no-name", tree.id)
        return namespace[tree.id]
    if isinstance(tree, ast.Attribute):
        return _attribute(_reach(tree.value, namespace), tree)
    if isinstance(tree, ast.Subscript):
        owner, key = _reach(tree.value, namespace), ast.literal_eval(tree.slice)
        if isinstance(owner, torch.nn.Module):
            owner = vars(owner).get("_modules", {})
            key = str(key)
            if key.startswith("-"):
                key = str(len(owner) + int(key))
        if not isinstance(owner, (list, tuple, dict, torch.Tensor)):
            raise Undecided("no-name", ast.unparse(tree))
        try:
            return owner[key]
        except (LookupError, TypeError):
            raise Undecided("no-name", ast.unparse(tree)) from None
    raise Undecided("refused", ast.unparse(tree))


def _attribute(owner: Any, tree: ast.Attribute) -> Any:
    name = tree.attr
    if isinstance(owner, torch.Tensor) and name in ATTRIBUTES:
        if name == "grad" and not owner.is_leaf and not owner.retains_grad:
            return None  # torch would warn, and the warning would be ours
        return getattr(owner, name)
    if isinstance(owner, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules"):
            known = vars(owner).get(table, {})
            if name in known:
                return known[name]
    try:
        found = vars(owner)[name]
    except (TypeError, KeyError):
        found = inspect.getattr_static(owner, name, None)
        if found is None or hasattr(type(found), "__get__"):
            raise Undecided("no-name", ast.unparse(tree)) from None
    return found


# -- evaluating ----------------------------------------------------------------------------


class _Evaluator:
    """Computes one expression on detached clones."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope
        self._until = time.monotonic() + SECONDS

    def run(self, text: str) -> Any:
        """The value of an expression. Raises `Undecided`, `Refused`, or what torch raises."""
        value = self._value(parse(text))
        if value is None:
            raise Undecided("none", text)
        return value

    def _value(self, tree: ast.expr) -> Any:
        if time.monotonic() > self._until:
            raise Undecided("slow")
        value = self._compute(tree)
        if isinstance(value, torch.Tensor) and value.numel() > MAX_ELEMENTS:
            raise Undecided("too-large")
        return value

    def _compute(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.Constant):
            return tree.value
        if is_path(tree):
            return self._clean(tree, self._scope.reach(tree))
        if isinstance(tree, ast.Attribute):
            name = dotted(tree)
            if name is not None and name.startswith("torch."):
                return getattr(torch, name.removeprefix("torch."))
            owner = self._value(tree.value)
            if isinstance(owner, torch.Tensor) and tree.attr in ATTRIBUTES:
                return getattr(owner, tree.attr)
            raise Undecided("no-name", ast.unparse(tree))
        if isinstance(tree, ast.List):
            return _as_tensor([self._value(item) for item in tree.elts])
        if isinstance(tree, ast.Tuple):
            return tuple(self._value(item) for item in tree.elts)
        if isinstance(tree, ast.UnaryOp):
            return _UNARY[type(tree.op)](self._value(tree.operand))
        if isinstance(tree, ast.BinOp):
            return self._arithmetic(tree)
        if isinstance(tree, ast.Compare):
            compare = _BINARY[type(tree.ops[0])]
            return compare(self._value(tree.left), self._value(tree.comparators[0]))
        if isinstance(tree, ast.Subscript):
            return self._value(tree.value)[self._index(tree.slice)]
        if isinstance(tree, ast.Call):
            return self._call(tree)
        raise Undecided("refused", ast.unparse(tree))

    def _arithmetic(self, tree: ast.BinOp) -> Any:
        left, right = self._value(tree.left), self._value(tree.right)
        plain = isinstance(left, (int, float)) and isinstance(right, (int, float))
        if plain and isinstance(tree.op, (ast.Pow, ast.Mult)):
            left = float(left)  # so that 9 ** 9 ** 9 overflows instead of filling the memory
        return _BINARY[type(tree.op)](left, right)

    def _clean(self, tree: ast.expr, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.numel() > MAX_ELEMENTS:
                raise Undecided("too-large", ast.unparse(tree))
            return value.detach().clone()
        if value is None or isinstance(value, (bool, int, float, complex, torch.dtype, torch.Size)):
            return value
        if isinstance(value, (list, tuple)) and len(value) <= SHOWN:
            return _as_tensor([self._clean(tree, item) for item in value])
        raise Undecided("not-a-tensor", ast.unparse(tree))

    def _index(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.Tuple):
            return tuple(self._index(part) for part in tree.elts)
        if isinstance(tree, ast.Slice):
            bounds = (tree.lower, tree.upper, tree.step)
            return slice(*(None if bound is None else self._value(bound) for bound in bounds))
        return self._value(tree)

    def _call(self, tree: ast.Call) -> Any:
        assert isinstance(tree.func, ast.Attribute)
        name = dotted(tree.func) or ""
        if name.startswith("torch.nn.functional."):
            function = getattr(torch.nn.functional, tree.func.attr)
        elif name.startswith("torch."):
            function = getattr(torch, tree.func.attr)
        else:
            owner = self._value(tree.func.value)
            if not isinstance(owner, torch.Tensor):
                raise Undecided("not-a-tensor", ast.unparse(tree.func.value))
            function = getattr(owner, tree.func.attr)
        arguments = [self._value(item) for item in tree.args]
        named = {item.arg: self._value(item.value) for item in tree.keywords if item.arg}
        return function(*arguments, **named)


def _as_tensor(items: list[Any]) -> Any:
    """A list of numbers or tensors as one tensor (float64 where any number is a float)."""
    if any(isinstance(item, torch.Tensor) for item in items):
        return torch.stack([torch.as_tensor(item) for item in items])
    if any(isinstance(item, float) for item in items):
        return torch.tensor(items, dtype=torch.float64)
    return torch.tensor(items)


# -- the kinds of question -----------------------------------------------------------------


def _text(args: Mapping[str, Any], key: str) -> str:
    value = args.get(key)
    if not isinstance(value, str):
        raise Undecided("refused", key)
    return value


def _described(value: torch.Tensor) -> dict[str, Any]:
    """Shape, dtype, finiteness, and all elements where there are few."""
    tensor = value.detach()
    numbers: list[Any] | None = None
    if tensor.numel() <= SHOWN:
        flat = tensor.reshape(-1)
        numbers = [str(item) if isinstance(item, complex) else item for item in flat.tolist()]
    finite = bool(torch.isfinite(tensor).all())
    low = high = None
    if numbers is None and not tensor.is_complex():
        low, high = float(tensor.min()), float(tensor.max())
    return {
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "flat": numbers,
        "low": low,
        "high": high,
        "finite": finite,
    }


def _value(args: Mapping[str, Any], scope: _Scope) -> dict[str, Any]:
    """`of`, an expression: what it holds."""
    return _described(torch.as_tensor(_Evaluator(scope).run(_text(args, "of"))))


def _compare(args: Mapping[str, Any], scope: _Scope) -> dict[str, Any]:
    """`left` and `right`, expressions: equal in shape, and in value within rtol and atol?"""
    left = torch.as_tensor(_Evaluator(scope).run(_text(args, "left")))
    right = torch.as_tensor(_Evaluator(scope).run(_text(args, "right")))
    same_shape = left.shape == right.shape
    equal = False
    if same_shape:
        wide = torch.complex128 if left.is_complex() or right.is_complex() else torch.float64
        rtol, atol = float(args.get("rtol", 1e-4)), float(args.get("atol", 1e-6))
        equal = torch.allclose(left.to(wide), right.to(wide), rtol, atol, equal_nan=True)
    return {
        "equal": equal,
        "same_shape": same_shape,
        "left": _described(left),
        "right": _described(right),
    }


def _tensor(args: Mapping[str, Any], scope: _Scope) -> dict[str, Any]:
    """`of`, a path: what torch says of the live tensor, and its uid in the trace."""
    text = _text(args, "of")
    tensor = scope.tensor(text)
    known = scope.start.versions.get(text)
    base = tensor._base
    return {
        "uid": scope.uid_of(tensor),
        "base": NONE if base is None else scope.uid_of(base),
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "retains_grad": tensor.retains_grad,
        "is_inference": tensor.is_inference(),
        "version": _version(tensor),
        "start_version": known[1] if known is not None and known[0]() is tensor else None,
        "storage": _storage(tensor),
        "grad_is_none": _grad(tensor) is None,
    }


def _along(args: Mapping[str, Any], scope: _Scope) -> dict[str, Any]:
    """`of`, a path: the gradient times the seeded unit direction that a nudge would take."""
    tensor = scope.tensor(_text(args, "of"))
    grad = _grad(tensor)
    if grad is None:
        raise Undecided("none", f"{args['of']}.grad")
    seed = args.get("seed")
    direction = _direction(tensor, seed if isinstance(seed, int) else 0)
    return {"slope": float((grad.detach().to(torch.float64) * direction).sum())}


def _grad(tensor: torch.Tensor) -> torch.Tensor | None:
    return tensor.grad if tensor.is_leaf or tensor.retains_grad else None


def _version(tensor: torch.Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version


def _storage(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return NONE


_KINDS: dict[str, Callable[[Mapping[str, Any], _Scope], dict[str, Any]]] = {
    "value": _value,
    "compare": _compare,
    "tensor": _tensor,
    "along": _along,
}


# -- moving a leaf -------------------------------------------------------------------------


def _direction(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    """A unit vector of the tensor's shape, float64, that depends on the seed alone."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
    length = drawn.norm()
    return drawn / length if float(length) > 0 else torch.ones_like(drawn)


def _nudge(namespace: dict[str, Any], nudge: Nudge) -> None:
    """Move a leaf by `step` along its direction, and let everything continue in float64.

    Central differences in float32 drown in rounding, so all floating leaves are widened.
    """
    with torch.no_grad():
        for value in list(namespace.values()):
            if isinstance(value, torch.nn.Module):
                value.double()
            elif isinstance(value, torch.Tensor) and value.is_leaf and value.is_floating_point():
                value.data = value.data.double()
        torch.set_default_dtype(torch.float64)
        try:
            found = _reach(parse(nudge.name), namespace)
        except (Undecided, Refused):
            return  # the questions about this name stay undecided by themselves
        if isinstance(found, torch.Tensor):
            found.data = found.data + nudge.step * _direction(found, nudge.seed)
