"""Answers, in the learner's process, the questions that came with a program.

`snapshot` is called right after the setup ran, `answer` after the program ended (also after an
exception), both with the observer switched off. Nothing here changes what the learner made:
expressions are computed on detached clones, without recording, within a second, and reads that
could raise are guarded. An answer is plain data; the sentences are made elsewhere.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tutor.observe.agreeing import agree
from tutor.observe.evaluating import (
    Evaluator,
    Scope,
    Started,
    UidOf,
    Undecided,
    described,
    reach,
)
from tutor.trace.events import NONE, Answer
from tutor.trace.expression import Refused, is_path, parse, start_paths
from tutor.trace.program import Nudge, Probe, Program

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
    scope = Scope(namespace, start or Started(), uid_of)
    return [_answer(probe, scope) for probe in program.probes]


def _answer(probe: Probe, scope: Scope) -> Answer:
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
            found = reach(parse(path), namespace)
        except (Undecided, Refused):
            continue
        if isinstance(found, torch.Tensor):
            started.clones[path] = found.detach().clone()
    if is_path(whole):
        try:
            found = reach(whole, namespace)
        except Undecided:
            return
        if isinstance(found, torch.Tensor):
            started.versions[text] = (weakref.ref(found), _version(found))


# -- the kinds of question -----------------------------------------------------------------


def _text(args: Mapping[str, Any], key: str) -> str:
    value = args.get(key)
    if not isinstance(value, str):
        raise Undecided("refused", key)
    return value


def _value(args: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """`of`, an expression: what it holds."""
    return described(torch.as_tensor(Evaluator(scope).run(_text(args, "of"))))


def _compare(args: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """`left` and `right`, expressions: equal in shape, and in value within rtol and atol?"""
    left = torch.as_tensor(Evaluator(scope).run(_text(args, "left")))
    right = torch.as_tensor(Evaluator(scope).run(_text(args, "right")))
    same_shape = left.shape == right.shape
    equal = False
    if same_shape:
        wide = torch.complex128 if left.is_complex() or right.is_complex() else torch.float64
        rtol, atol = float(args.get("rtol", 1e-4)), float(args.get("atol", 1e-6))
        equal = torch.allclose(left.to(wide), right.to(wide), rtol, atol, equal_nan=True)
    return {
        "equal": equal,
        "same_shape": same_shape,
        "left": described(left),
        "right": described(right),
    }


def _tensor(args: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
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


def _along(args: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
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


_KINDS: dict[str, Callable[[Mapping[str, Any], Scope], dict[str, Any]]] = {
    "value": _value,
    "compare": _compare,
    "tensor": _tensor,
    "along": _along,
    "agree": agree,
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
            found = reach(parse(nudge.name), namespace)
        except (Undecided, Refused):
            return  # the questions about this name stay undecided by themselves
        if isinstance(found, torch.Tensor):
            found.data = found.data + nudge.step * _direction(found, nudge.seed)
