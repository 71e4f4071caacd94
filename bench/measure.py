"""Measuring two things against each other, and what comes out of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

Measure = Callable[[], float]
"""Does something once and gives what it took (seconds, or bytes)."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Medians of two things over interleaved rounds, in the unit of what measured them."""

    ours: float
    bare: float
    rounds: int

    @property
    def ratio(self) -> float:
        return self.ours / self.bare if self.bare else math.inf


def interleaved(ours: Measure, bare: Measure, rounds: int) -> Compared:
    """Measure both in each round, in turns, so that a busy machine slows both alike.

    One round of each goes before and is not counted.
    """
    ours()
    bare()
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        for which in order:
            taken[which].append((ours, bare)[which]())
    return Compared(statistics.median(taken[0]), statistics.median(taken[1]), rounds)


def exponent(small: tuple[float, float], large: tuple[float, float]) -> float:
    """The power of the size that a cost grows with, from two points (size, cost)."""
    return math.log(large[1] / small[1]) / math.log(large[0] / small[0])


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table.

    `value` is compared with `bar`; `held` rows fail the bench beyond it, the others only say
    how far they are. `at_least` turns the comparison round. `goal` is what is aimed at.
    """

    name: str
    value: float
    bar: float | None
    goal: float | None = None
    unit: str = "×"
    held: bool = False
    at_least: bool = False
    detail: str = ""

    @property
    def met(self) -> bool:
        """Whether the value is on the right side of the bar."""
        if self.bar is None:
            return True
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    @property
    def failed(self) -> bool:
        return self.held and not self.met

    @property
    def line(self) -> str:
        sign = "≥" if self.at_least else "≤"
        bar = f"{sign} {self.bar:g}{self.unit}" if self.bar is not None else ""
        goal = f"goal {self.goal:g}{self.unit}" if self.goal is not None else ""
        verdict = "ok" if self.met else ("FAIL" if self.held else "above")
        if self.bar is None:
            verdict = ""
        shown = f"{self.value:.2f}{self.unit}"
        return f"{self.name:<34} {shown:>10}  {bar:<8} {verdict:<6} {goal:<10} {self.detail}"


def milliseconds(compared: Compared) -> str:
    """Both medians, for the end of a row."""
    return f"{compared.ours * 1e3:.1f} ms against {compared.bare * 1e3:.1f} ms"
