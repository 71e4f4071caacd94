"""Looking into tensors within a budget of time."""

from __future__ import annotations

import pytest
import torch

from tutor.observe import values
from tutor.observe.values import ALLOWANCE, BURST, PAUSE, SHARE, Values


class Clock:
    """Time that passes only where a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(values, "time", made)
    return made


def test_large_tensors_are_read_until_the_time_granted_is_spent(clock: Clock) -> None:
    looking = Values()

    def slow(tensor: torch.Tensor) -> int:
        clock.now += 0.001
        return tensor.numel()

    big = torch.zeros(100)
    read = 0
    while looking._within(slow, big) is not None:
        read += 1
    # Each look costs 1 ms and earns 2 % of it back: 20 ms last for 21 looks.
    assert read == int(ALLOWANCE / (0.001 * (1 - SHARE))) + 1
    assert looking.skipped == 1


def test_reading_goes_on_in_bursts(clock: Clock) -> None:
    looking = Values()

    def slow(tensor: torch.Tensor) -> int:
        clock.now += 0.0005
        return tensor.numel()

    big = torch.zeros(100)
    while looking._within(slow, big) is not None:
        pass
    clock.now += 0.9 * BURST / SHARE
    assert looking._within(slow, big) is None, "too little is saved up"
    clock.now += 0.3 * BURST / SHARE
    for _ in range(PAUSE - 1):
        assert looking._within(slow, big) is None, "the clock is not asked at each look"
    read = 0
    while looking._within(slow, big) is not None:
        read += 1
    assert read >= 6, "what was saved up is spent in one go"


def test_small_tensors_are_read_whole() -> None:
    value = Values().read(torch.tensor([[1.0, float("inf")], [float("nan"), -2.0]]))
    assert value is not None
    assert value.shape == (2, 2)
    assert value.flat is not None
    assert value.flat[:2] == (1.0, float("inf"))
    assert (value.low, value.high, value.nonfinite) == (-2.0, 1.0, 2)
