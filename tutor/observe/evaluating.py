"""Looks up and computes what a question asks for, without running code of the learner's.

Expressions are trees that `tutor.trace.expression` has accepted; they are computed on detached
clones, within a second.
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

from tutor.trace.expression import ATTRIBUTES, dotted, is_path, parse

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


def described(value: torch.Tensor) -> dict[str, Any]:
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


# -- reaching objects ----------------------------------------------------------------------


@dataclass(slots=True)
class Scope:
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
        return reach(tree, self.namespace)

    def tensor(self, text: str) -> torch.Tensor:
        """The live tensor of a path. Raises `Undecided`."""
        found = self.reach(parse(text))
        if found is None:
            raise Undecided("none", text)
        if not isinstance(found, torch.Tensor):
            raise Undecided("not-a-tensor", text)
        return found


def reach(tree: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """Follow a path without running the learner's code (no properties, no `__getattr__`)."""
    if isinstance(tree, ast.Name):
        if tree.id not in namespace:
            raise Undecided("no-name", tree.id)
        return namespace[tree.id]
    if isinstance(tree, ast.Attribute):
        return _attribute(reach(tree.value, namespace), tree)
    if isinstance(tree, ast.Subscript):
        owner, key = reach(tree.value, namespace), ast.literal_eval(tree.slice)
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


class Evaluator:
    """Computes one expression on detached clones."""

    def __init__(self, scope: Scope) -> None:
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
