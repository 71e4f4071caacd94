"""Rows about one answer: the run of a short snippet, its painting, and both together."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row, milliseconds
from bench.paint import compared_paint
from bench.programs import TEN_LINES
from bench.runs import compared_whole
from tutor.run import Runner


def answer(rounds: int) -> Iterator[Row]:
    """How soon a warm run answers, and how soon the answer is on the screen."""
    with Runner() as runner:
        run = compared_whole(runner, TEN_LINES, rounds * 3)
    yield Row("run: 10 lines, warm", run.ratio, 2.0, 1.0, held=True, detail=milliseconds(run))
    paint = compared_paint(rounds * 2)
    yield Row(
        "paint: result → all visible panes",
        paint.ratio,
        2.0,
        held=True,
        detail=milliseconds(paint),
    )
    fresh = statistics.median(_fresh_python(TEN_LINES) for _ in range(3))
    yield Row(
        "both against fresh `python file`",
        fresh / (run.ours + paint.ours),
        20.0,
        60.0,
        held=True,
        at_least=True,
        detail=f"{fresh * 1e3:.0f} ms fresh",
    )


def _fresh_python(code: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "snippet.py"
        script.write_text(code, encoding="utf-8")
        began = time.perf_counter()
        subprocess.run([sys.executable, str(script)], check=True, capture_output=True)
        return time.perf_counter() - began
