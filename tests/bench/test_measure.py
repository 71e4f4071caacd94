"""The arithmetic of the bench: medians, ratios, exponents and which rows fail."""

from __future__ import annotations

import pytest

from bench.measure import Compared, Row, exponent, interleaved


def test_each_round_measures_both_and_the_first_is_not_counted() -> None:
    order: list[str] = []
    ours = iter([100.0, 3.0, 1.0, 2.0])
    bare = iter([100.0, 1.0, 1.0, 4.0])

    def measure(name: str) -> float:
        order.append(name)
        return next(ours if name == "ours" else bare)

    compared = interleaved(lambda: measure("ours"), lambda: measure("bare"), 3)
    assert compared == Compared(2.0, 1.0, 3)
    assert compared.ratio == 2.0
    assert order == ["ours", "bare", "bare", "ours", "ours", "bare", "bare", "ours"]


def test_the_exponent_of_a_square_is_two() -> None:
    assert exponent((10, 100), (1000, 1_000_000)) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("row", "failed", "word"),
    [
        (Row("a", 1.9, 2.0, held=True), False, "ok"),
        (Row("a", 2.1, 2.0, held=True), True, "FAIL"),
        (Row("a", 2.1, 2.0), False, "above"),
        (Row("a", 19.0, 20.0, held=True, at_least=True), True, "FAIL"),
        (Row("a", 21.0, 20.0, held=True, at_least=True), False, "ok"),
        (Row("a", 21.0, None), False, ""),
    ],
)
def test_only_a_held_bar_that_is_exceeded_fails(row: Row, failed: bool, word: str) -> None:
    assert row.failed is failed
    assert word in row.line
