"""What comes again and again in a row, found and joined, inner repetitions first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

PERIOD = 64
"""Items in one copy at the most."""

COPIES = 3
"""Copies from which a repetition is told as one."""

AGAIN = 8
"""How often short periods are tried anew after a longer one was found."""


def repeats(
    items: list[T],
    signature: Callable[[T], int],
    join: Callable[[Sequence[Sequence[T]]], T],
    nearness: Callable[[T, T], int] = lambda before, after: 0,
) -> list[T]:
    """The items with each repetition replaced by `join(copies)`; short periods go first.

    An inner repetition that was joined is one item of an outer one, so that loops in loops
    fold. A copy begins where neighbours belong together least, by `nearness`. Takes time in
    proportion to the items and `PERIOD`.
    """
    period = 1
    again = AGAIN
    while period <= min(PERIOD, len(items) // COPIES):
        joined = _once(items, [signature(item) for item in items], period, join, nearness)
        if len(joined) < len(items) and again and period > 1:
            again -= 1
            period = 1  # what was joined may repeat in shorter steps now
        else:
            period += 1
        items = joined
    return items


def _once(
    items: list[T],
    signs: list[int],
    period: int,
    join: Callable[[Sequence[Sequence[T]]], T],
    nearness: Callable[[T, T], int],
) -> list[T]:
    """The repetitions of one period."""
    result: list[T] = []
    index = 0
    last = len(items) - period
    while index < len(items):
        end = index
        while end < last and signs[end] == signs[end + period]:
            end += 1
        if (end - index) // period + 1 >= COPIES:
            begin = index + _offset(items, index, end, period, nearness)
            stop = begin + ((end - begin) // period + 1) * period
            result += items[index:begin]
            result.append(join([items[at : at + period] for at in range(begin, stop, period)]))
            index = stop
            continue
        # The run of equal ones that ends here is too short, wherever a copy begins in it.
        result += items[index : end + 1]
        index = end + 1
    return result


def _offset(
    items: list[T], index: int, end: int, period: int, nearness: Callable[[T, T], int]
) -> int:
    """How many items after the first equal one the copies begin, so that each is a whole."""
    most = min(period - 1, end - index - (COPIES - 1) * period)
    if most <= 0:
        return 0
    # The second copy tells: before the first there may be nothing.
    near = [nearness(items[at - 1], items[at]) for at in range(index + period, index + 2 * period)]
    return min(range(most + 1), key=lambda offset: (near[offset], offset))
