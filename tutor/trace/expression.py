"""The small language of expressions that a lesson's checks may ask for.

Parsed here, without torch, so that a lesson can be refused before anything runs; evaluated in
the learner's process by `tutor.observe.probes`. An expression is a tree of Python's `ast` in
which every node, name and call is on a list: text is never evaluated as code.
"""

from __future__ import annotations

import ast
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTIONS = _words(
    """abs acos add allclose amax amin arange argmax argmin asin atan atan2 bmm cat ceil clamp
    complex cos cosh cumprod cumsum det diag diagonal div dot eq erf exp expm1 eye flatten flip
    floor full full_like gather ge gt hypot imag index_select inverse isfinite isinf isnan le
    lerp linspace log log10 log1p log2 logical_and logical_not logical_or logsumexp lt masked_fill
    matmul max maximum mean median min minimum mm mul mv ne neg norm numel ones ones_like outer
    permute pow prod real reciprocal relu reshape round rsqrt sigmoid sign sin sinh softmax
    log_softmax sort sqrt square squeeze stack std sub sum t tan tanh tensor trace transpose tril
    triu trunc unsqueeze var view where zeros zeros_like expand expand_as repeat
    contiguous item double float int long bool to size dim view_as"""
)
"""Functions of `torch` and methods of a tensor (none writes, draws or leaves torch)."""

CONSTANTS = _words(
    """inf nan pi e float16 bfloat16 float32 float64 float double half int8 int16 int32 int64
    uint8 int long bool complex64 complex128"""
)
"""Names under `torch.` that are values."""

ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "real", "imag", "grad", "shape", "ndim", "dtype"})
"""Attributes of a tensor. Names of anything else are looked up without running code."""

FUNCTIONAL = _words(
    """elu gelu leaky_relu log_softmax mse_loss l1_loss cross_entropy nll_loss relu sigmoid silu
    softmax softplus tanh linear binary_cross_entropy binary_cross_entropy_with_logits
    huber_loss smooth_l1_loss normalize"""
)
"""Functions under `torch.nn.functional.`."""

MAX_LENGTH = 1000
"""Characters of one expression at most."""

_OPERATORS = (
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.MatMult,
    ast.USub,
    ast.UAdd,
    ast.Invert,
    ast.BitAnd,
    ast.BitOr,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
)


class Refused(ValueError):
    """The text is not an expression of this language; `offset` is a column from 0."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


@lru_cache(maxsize=1024)
def parse(text: str) -> ast.expr:
    """The tree of an expression. Raises `Refused` with a message that says what to change."""
    if len(text) > MAX_LENGTH:
        raise Refused(f"this has {len(text)} characters, the most is {MAX_LENGTH}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        _check(tree)
    except SyntaxError as error:
        raise Refused("this is not a Python expression", max((error.offset or 1) - 1, 0)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused("this is not a Python expression") from None
    return tree


@lru_cache(maxsize=1024)
def parse_path(text: str) -> ast.expr:
    """The tree of a path to a tensor: a name, then attributes and constant indices."""
    tree = parse(text)
    if not is_path(tree):
        raise Refused('a name is needed here, like "x", "net.weight" or "layers[0].bias"')
    return tree


def is_path(tree: ast.expr) -> bool:
    """Whether a tree is a name followed by attributes and constant indices only."""
    while True:
        if isinstance(tree, ast.Name):
            return tree.id != "torch"
        keyed = isinstance(tree, ast.Subscript) and _is_key(tree.slice)
        if not keyed and not isinstance(tree, ast.Attribute):
            return False
        assert isinstance(tree, (ast.Attribute, ast.Subscript))
        tree = tree.value


def dotted(tree: ast.expr) -> str | None:
    """`a.b.c` of a chain of attributes, None for anything else."""
    parts: list[str] = []
    while isinstance(tree, ast.Attribute):
        parts.append(tree.attr)
        tree = tree.value
    if not isinstance(tree, ast.Name):
        return None
    return ".".join([tree.id, *reversed(parts)])


def start_paths(text: str) -> tuple[str, ...]:
    """The paths that an expression asks of `start`, as text: "x", "net.weight"."""
    found: list[str] = []

    def look(tree: ast.AST) -> None:
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
            for part in (tree.func.value, *tree.args, *tree.keywords):
                look(part)  # the method's name is no part of the path
            return
        if isinstance(tree, ast.expr) and is_path(tree):
            rest = _below_start(tree)
            if rest is not None:
                found.append(rest)
                return
        for child in ast.iter_child_nodes(tree):
            look(child)

    look(parse(text))
    return tuple(dict.fromkeys(found))


def _below_start(tree: ast.expr) -> str | None:
    """What follows `start.` in a path, None for another path."""
    text = ast.unparse(tree)
    return text.removeprefix("start.") if text.startswith("start.") else None


def _is_key(tree: ast.expr) -> bool:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        tree = tree.operand
    return isinstance(tree, ast.Constant) and type(tree.value) in (int, str)


def _check(tree: ast.expr) -> None:
    """Raise `Refused` for the first node that is not on a list."""
    offset = tree.col_offset
    if isinstance(tree, ast.Constant):
        if tree.value is not None and type(tree.value) not in (int, float, bool, complex, str):
            raise Refused("only numbers are written out here", offset)
        if type(tree.value) is int and abs(tree.value) > 2**63:
            raise Refused("this number is too large", offset)
    elif isinstance(tree, ast.Name):
        _plain(tree.id, offset)
        if tree.id == "torch":
            raise Refused("torch alone is no value", offset)
    elif isinstance(tree, ast.Attribute):
        _plain(tree.attr, offset)
        name = dotted(tree)
        if name is not None and name.split(".")[0] == "torch":
            if name.removeprefix("torch.") not in CONSTANTS:
                raise Refused(f'"{name}" is not on the list of values', offset)
        else:
            _check(tree.value)
    elif isinstance(tree, ast.Subscript):
        _check(tree.value)
        _check_index(tree.slice)
    elif isinstance(tree, (ast.List, ast.Tuple)):
        for item in tree.elts:
            _check(item)
    elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, _OPERATORS):
        _check(tree.operand)
    elif isinstance(tree, ast.BinOp) and isinstance(tree.op, _OPERATORS):
        _check(tree.left)
        _check(tree.right)
    elif isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        if not isinstance(tree.ops[0], _OPERATORS):
            raise Refused("this comparison is not on the list", offset)
        _check(tree.left)
        _check(tree.comparators[0])
    elif isinstance(tree, ast.Call):
        _check_call(tree)
    else:
        kind = type(tree).__name__
        raise Refused(f"{kind} has no place here; write names, numbers, arithmetic", offset)


def _check_index(tree: ast.expr) -> None:
    for part in tree.elts if isinstance(tree, ast.Tuple) else [tree]:
        if isinstance(part, ast.Slice):
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    _check(bound)
        elif not (isinstance(part, ast.Constant) and part.value is Ellipsis):
            _check(part)


def _check_call(tree: ast.Call) -> None:
    offset = tree.col_offset
    if not isinstance(tree.func, ast.Attribute):
        raise Refused("only functions of torch and methods of a tensor may be called", offset)
    name, method = dotted(tree.func), tree.func.attr
    if name is not None and name.startswith("torch.nn.functional."):
        if method not in FUNCTIONAL or name != f"torch.nn.functional.{method}":
            raise Refused(f'"{name}" is not on the list of functions', offset)
    elif name is not None and name.startswith("torch."):
        if method not in FUNCTIONS or name != f"torch.{method}":
            raise Refused(f'"{name}" is not on the list of functions', offset)
    else:
        if method not in FUNCTIONS:
            raise Refused(f'the method "{method}" is not on the list', offset)
        _check(tree.func.value)
    for argument in tree.args:
        _check(argument)
    for keyword in tree.keywords:
        if keyword.arg is None or keyword.arg in ("out", "inplace"):
            raise Refused("this argument is not taken here", offset)
        _check(keyword.value)


def _plain(name: str, offset: int) -> None:
    if name.startswith("_"):
        raise Refused(f'"{name}" begins with an underscore; private names stay private', offset)
