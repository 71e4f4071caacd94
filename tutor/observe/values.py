"""What a tensor holds, within a budget of time."""

from __future__ import annotations

import math
import time

import torch

from tutor.trace.events import Value

WHOLE = 64
"""Elements up to which a value is recorded whole (design: "values")."""

SHARE = 0.05
"""Part of the running time that values of large tensors may cost."""

ALLOWANCE = 0.25
"""Seconds of that time granted at the start."""


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for torch.float32."""
    name = _DTYPES.get(dtype)
    if name is None:
        name = _DTYPES[dtype] = str(dtype).removeprefix("torch.")
    return name


_DTYPES: dict[torch.dtype, str] = {}


class Values:
    """Reads values. Counts what it had to leave out in `skipped`."""

    def __init__(self) -> None:
        self.skipped = 0
        self._spent = 0.0
        self._began = time.perf_counter()

    def read(self, tensor: torch.Tensor) -> Value | None:
        """The value of a tensor, None where it cannot or may not be read now.

        Small tensors are always read; large ones within the budget, on the CPU only (reading
        would synchronise a device).
        """
        try:
            count = tensor.numel()
            if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
                return None
            if count <= WHOLE:
                return self._whole(tensor, count)
            now = time.perf_counter()
            if self._spent > ALLOWANCE + SHARE * (now - self._began):
                self.skipped += 1
                return None
            value = self._summary(tensor, count)
            self._spent += time.perf_counter() - now
            return value
        except Exception:
            return None

    def _whole(self, tensor: torch.Tensor, count: int) -> Value:
        shape = tuple(tensor.shape)
        plain = tensor.tolist()
        for _ in range(len(shape) - 1):
            plain = [item for row in plain for item in row]
        flat = plain if shape else [plain]
        dtype = tensor.dtype
        if dtype.is_floating_point:
            low = high = mean = None
            finite = [x for x in flat if math.isfinite(x)]
            if finite:
                low, high, mean = min(finite), max(finite), math.fsum(finite) / len(finite)
            return Value(
                shape, dtype_name(dtype), tuple(flat), low, high, mean, count - len(finite)
            )
        if dtype.is_complex:
            bad = sum(1 for x in flat if not (math.isfinite(x.real) and math.isfinite(x.imag)))
            return Value(
                shape, dtype_name(dtype), tuple(str(x) for x in flat), None, None, None, bad
            )
        if dtype is torch.bool or not flat:
            return Value(shape, dtype_name(dtype), tuple(flat))
        return Value(
            shape, dtype_name(dtype), tuple(flat), min(flat), max(flat), sum(flat) / len(flat)
        )

    def _summary(self, tensor: torch.Tensor, count: int) -> Value | None:
        shape = tuple(tensor.shape)
        name = dtype_name(tensor.dtype)
        with torch.no_grad():
            plain = tensor.detach()
            if plain.is_complex():
                bad = count - int(torch.isfinite(plain).sum())
                return Value(shape, name, None, None, None, None, bad)
            if not plain.is_floating_point():
                if plain.dtype is torch.bool:
                    return Value(shape, name, None)
                low, high = torch.aminmax(plain)
                return Value(shape, name, None, float(low), float(high), None)
            low, high = torch.aminmax(plain)
            mean = plain.mean(dtype=torch.float64) if plain.dtype is not torch.float64 else plain.mean()
            values = (float(low), float(high), float(mean))
            if all(math.isfinite(x) for x in values):
                return Value(shape, name, None, *values, 0)
            finite = plain[torch.isfinite(plain)]
            bad = count - finite.numel()
            if finite.numel() == 0:
                return Value(shape, name, None, None, None, None, bad)
            return Value(
                shape,
                name,
                None,
                float(finite.min()),
                float(finite.max()),
                float(finite.mean(dtype=torch.float64)),
                bad,
            )


def fingerprint(tensor: torch.Tensor) -> str | None:
    """A text that changes when the memory of a tensor does; None where it cannot be taken.

    Exact for small tensors. For larger ones torch's hash, an exclusive or in which equal
    elements cancel, is joined by the sum.
    """
    try:
        if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
            return None
        count = tensor.numel()
        if count <= WHOLE:
            return str(tensor.tolist())
        if count > 1_000_000 or tensor.is_complex():
            return None
        with torch.no_grad():
            plain = tensor.detach()
            return f"{int(torch.hash_tensor(plain))} {float(plain.sum(dtype=torch.float64))}"
    except Exception:
        return None
