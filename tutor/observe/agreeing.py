"""Calls a function of the learner's and the same one of a solution on equal inputs.

Both run in this process, after the program has ended and unobserved: values and the gradients of
each input are compared. What either prints is dropped.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tutor.observe.evaluating import Scope, Undecided, described
from tutor.trace.expression import parse

NO_GRAD = "no gradient"
"""What stands for the gradient of an input that none reaches."""


def agree(args: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """`call`, a name, against the same name after `setup` and `solution`, on `cases` inputs.

    Answers {"agrees": bool} and, where not, which case, what differs (`what`), both sides
    (described tensors or text) and the case's inputs. Raises `Undecided`.
    """
    name = str(args.get("call"))
    mine = scope.reach(parse(name))
    if not callable(mine):
        raise Undecided("not-callable", name)
    theirs = _of_solution(args, name)
    shapes = [(str(key), one) for key, one in dict(args.get("inputs") or {}).items()]
    generator = torch.Generator().manual_seed(int(args.get("seed", 0)))
    cases = int(args.get("cases", 10))
    for case in range(cases):
        inputs = [_drawn(one, generator) for _, one in shapes]
        found = _compare(mine, theirs, inputs, [key for key, _ in shapes], args)
        if found is not None:
            what, left, right = found
            return {
                "agrees": False,
                "case": case + 1,
                "what": what,
                "left": left,
                "right": right,
                "inputs": {key: described(x) for (key, _), x in zip(shapes, inputs, strict=True)},
            }
    return {"agrees": True, "cases": cases}


def _of_solution(args: Mapping[str, Any], name: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        with _quiet(), torch.enable_grad():
            for part in ("setup", "solution"):
                exec(compile(str(args.get(part) or ""), f"{part}.py", "exec"), namespace)
    except BaseException as error:
        raise Undecided("solution", f"{type(error).__name__}: {error}"[:300]) from None
    found = namespace.get(name)
    if not callable(found):
        raise Undecided("solution", f"it defines no function {name}")
    return found  # type: ignore[no-any-return]


def _drawn(one: Any, generator: torch.Generator) -> torch.Tensor:
    """A tensor of the shape asked for, evenly drawn from the range."""
    data = one if isinstance(one, dict) else {}
    shape = [int(size) for size in data.get("shape") or ()]
    low, high = (float(x) for x in data.get("range") or (-2.0, 2.0))
    return torch.rand(shape, generator=generator) * (high - low) + low


Difference = tuple[str, Any, Any]


def _compare(
    mine: Callable[..., Any],
    theirs: Callable[..., Any],
    inputs: Sequence[torch.Tensor],
    names: Sequence[str],
    args: Mapping[str, Any],
) -> Difference | None:
    """What differs between two functions on one case: (what, the learner's, the solution's)."""
    left, right = _called(mine, inputs), _called(theirs, inputs)
    if isinstance(right, str):
        raise Undecided("solution", right)
    if isinstance(left, str):
        return "the call", left, "no error"
    if len(left[0]) != len(right[0]):
        return "the number of results", str(len(left[0])), str(len(right[0]))
    pairs: list[tuple[str, torch.Tensor | None, torch.Tensor | None]]
    pairs = [("the value", a, b) for a, b in zip(left[0], right[0], strict=True)]
    pairs += [
        (f"the gradient of {name}", a, b)
        for name, a, b in zip(names, left[1], right[1], strict=True)
    ]
    for what, a, b in pairs:
        if not _same(a, b, float(args.get("rtol", 1e-4)), float(args.get("atol", 1e-6))):
            return what, _told(a), _told(b)
    return None


Called = tuple[list[torch.Tensor], list[torch.Tensor | None]]


def _called(function: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> Called | str:
    """(results, gradient of each input), or what the call raised."""
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    try:
        with _quiet(), torch.enable_grad():
            torch.manual_seed(0)
            given = function(*leaves)
            parts = list(given) if isinstance(given, (tuple, list)) else [given]
            results = [torch.as_tensor(part) for part in parts]
            grads = _gradients(results, leaves)
    except BaseException as error:
        first = (str(error).strip().splitlines() or [""])[0]
        return f"{type(error).__name__}: {first}"[:300].rstrip(": ")
    return [result.detach() for result in results], grads


def _gradients(
    results: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """The gradients of a sum in which each element of the results has a weight of its own."""
    total: torch.Tensor | None = None
    generator = torch.Generator().manual_seed(1)
    for result in results:
        weights = torch.rand(result.shape, generator=generator) + 0.5
        if result.requires_grad:
            part = (result * weights).sum().real
            total = part if total is None else total + part
    if total is None or not leaves:
        return [None for _ in leaves]
    return list(torch.autograd.grad(total, list(leaves), allow_unused=True))


def _same(a: torch.Tensor | None, b: torch.Tensor | None, rtol: float, atol: float) -> bool:
    if a is None or b is None:
        return a is b
    if a.shape != b.shape:
        return False
    wide = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
    return torch.allclose(a.to(wide), b.to(wide), rtol, atol, equal_nan=True)


def _told(value: torch.Tensor | None) -> Any:
    return NO_GRAD if value is None else described(value)


@contextlib.contextmanager
def _quiet() -> Any:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
