"""What all tests share: one warm runner for each worker process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tutor.run import Runner
from tutor.trace import Trace, snippet


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    with Runner() as made:
        yield made


@pytest.fixture
def run(runner: Runner) -> Callable[..., Trace]:
    """Run a snippet under observation, with torch's real answer as its output."""

    def go(code: str, **options: object) -> Trace:
        return runner.run(snippet(code, **options))

    return go
