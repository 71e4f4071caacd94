"""Every case with a known answer, its repaired program, and every healthy program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.score import HERE, score_case, score_healthy
from tutor.run import Runner

CASES = sorted(p for p in (HERE / "cases").glob("*.py"))
HEALTHY = sorted((HERE / "healthy").glob("*.py"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_case_is_explained(
    runner: Runner, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = score_case(path, runner.run, "snippet")
    assert result.good, result.detail
    assert not caplog.records, "a kind could not look at this run"


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_a_healthy_program_is_left_alone(
    runner: Runner, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = score_healthy(path, runner.run, "snippet")
    assert result.good, result.detail
    assert not caplog.records, "a kind could not look at this run"


def test_there_are_cases() -> None:
    assert len(CASES) >= 89
    assert len(HEALTHY) >= 20
