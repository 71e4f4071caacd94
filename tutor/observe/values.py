"""What a tensor holds, within a budget of time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from tutor.trace.events import Value

T = TypeVar("T")

WHOLE = 64
"""Elements up to which a value is recorded whole (design: "values")."""

SHARE = 0.02
"""Part of the running time that looking into large tensors may cost."""

ALLOWANCE = 0.02
"""Seconds of that time granted at the start."""

PAUSE = 64
"""Looks that are left out before the clock is asked again."""

BURST = 0.003
"""Seconds that must have been saved up before reading goes on, so that a whole iteration of a
loop is read now and then: else its first lines would use up what the last ones need."""


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for torch.float32."""
    name = DTYPES.get(dtype)
    if name is None:
        name = DTYPES[dtype] = str(dtype).removeprefix("torch.")
    return name


_strided = torch.strided
DTYPES: dict[torch.dtype, str] = {}


class Values:
    """Reads values. Counts what it had to leave out in `skipped`."""

    def __init__(self) -> None:
        self.skipped = 0
        self.lean = False
        """Set once a run has been long: small tensors too are then read within the budget."""
        self._spent = 0.0
        self._resting = False
        self._wait = 0
        self._began = time.perf_counter()

    def read(self, tensor: torch.Tensor) -> Value | None:
        """The value of a tensor, None where it cannot or may not be read now.

        Small tensors are always read; large ones within the budget, on the CPU only (reading
        would synchronise a device).
        """
        if self._wait > 0 and self.lean:
            self._wait -= 1
            self.skipped += 1
            return None
        try:
            if not tensor.is_cpu or tensor.layout is not _strided:
                return None
            if tensor.numel() <= WHOLE:
                return self._within(_whole, tensor) if self.lean else _whole(tensor)
            return self._within(_summary, tensor)
        except Exception:
            return None

    def fingerprint(self, tensor: torch.Tensor) -> object:
        """What is another when the memory of a tensor is; None where it may not be taken.

        The elements themselves for small tensors. For larger ones torch's hash, an exclusive or
        in which equal elements cancel, is joined by the sum.
        """
        if self._wait > 0 and self.lean:
            self._wait -= 1
            self.skipped += 1
            return None
        try:
            if not tensor.is_cpu or tensor.layout is not _strided:
                return None
            if tensor.numel() <= WHOLE:
                return self._within(_elements, tensor) if self.lean else tensor.tolist()
            if tensor.is_complex():
                return None
            return self._within(_hashed, tensor)
        except Exception:
            return None

    def _within(self, look: Callable[[torch.Tensor], T], tensor: torch.Tensor) -> T | None:
        """Look into a large tensor if the budget still allows it."""
        if self._wait > 0:  # looking at the clock costs as much as some of what it would allow
            self._wait -= 1
            self.skipped += 1
            return None
        now = time.perf_counter()
        left = ALLOWANCE + SHARE * (now - self._began) - self._spent
        if left < 0:
            self._resting = True
        elif left > BURST:
            self._resting = False
        if self._resting or overheard():
            self._wait = PAUSE
            self.skipped += 1
            return None
        seen = look(tensor)
        self._spent += time.perf_counter() - now
        return seen


def overheard() -> bool:
    """Whether the program listens to all that torch computes in this thread, so to us too."""
    return _dispatch_modes() > 0 or _profiling()


_dispatch_modes = torch._C._len_torch_dispatch_stack
_profiling = torch._C._autograd._profiler_enabled


def _elements(tensor: torch.Tensor) -> object:
    return tensor.tolist()


def _whole(tensor: torch.Tensor) -> Value:
    return whole(tensor.tolist(), tuple(tensor.shape), tensor.dtype)


def whole(plain: Any, shape: tuple[int, ...], dtype: torch.dtype) -> Value:
    """The value of a small tensor, from what `tolist` gave."""
    name = DTYPES.get(dtype) or dtype_name(dtype)
    if not shape:
        flat = [plain]
    elif len(shape) == 1:
        flat = plain
    else:
        for _ in range(len(shape) - 1):
            plain = [item for row in plain for item in row]
        flat = plain
    if dtype.is_floating_point:
        if len(flat) == 1:
            one = flat[0]
            if one - one == 0:
                return Value(shape, name, (one,), one, one, one)
        total = sum(flat)
        if flat and total - total == 0:  # neither NaN nor infinity among them, nor in the sum
            return Value(shape, name, tuple(flat), min(flat), max(flat), total / len(flat))
        low = high = mean = None
        finite = [x for x in flat if math.isfinite(x)]
        if finite:
            low, high, mean = min(finite), max(finite), math.fsum(finite) / len(finite)
        return Value(shape, name, tuple(flat), low, high, mean, len(flat) - len(finite))
    if dtype.is_complex:
        bad = sum(1 for x in flat if not (math.isfinite(x.real) and math.isfinite(x.imag)))
        return Value(shape, name, tuple(str(x) for x in flat), None, None, None, bad)
    if dtype is torch.bool or not flat:
        return Value(shape, name, tuple(flat))
    return Value(shape, name, tuple(flat), min(flat), max(flat), sum(flat) / len(flat))


def _summary(tensor: torch.Tensor) -> Value | None:
    shape = tuple(tensor.shape)
    name = dtype_name(tensor.dtype)
    count = tensor.numel()
    with torch.no_grad():
        plain = tensor.detach()
        if plain.is_complex():
            bad = count - int(torch.isfinite(plain).sum())
            return Value(shape, name, None, None, None, None, bad)
        if plain.dtype is torch.bool:
            return Value(shape, name, None)
        low, high = torch.aminmax(plain)
        if not plain.is_floating_point():
            return Value(shape, name, None, float(low), float(high), None)
        values = (float(low), float(high), float(plain.mean(dtype=torch.float64)))
        if all(math.isfinite(x) for x in values):
            return Value(shape, name, None, *values, 0)
        finite = plain[torch.isfinite(plain)]
        bad = count - finite.numel()
        if finite.numel() == 0:
            return Value(shape, name, None, None, None, None, bad)
        mean = float(finite.mean(dtype=torch.float64))
        return Value(shape, name, None, float(finite.min()), float(finite.max()), mean, bad)


def _hashed(tensor: torch.Tensor) -> str:
    with torch.no_grad():
        plain = tensor.detach()
        return f"#{int(torch.hash_tensor(plain))} {float(plain.sum(dtype=torch.float64))}"


def differs(before: object, now: object) -> bool:
    """Whether two fingerprints show a change; those taken in different ways cannot."""
    if before is None or now is None or isinstance(before, str) != isinstance(now, str):
        return False
    # NaN is unlike itself, but its text is not.
    return before != now and str(before) != str(now)
