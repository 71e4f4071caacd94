"""Rows about runs: observed against the same program bare, in forks of the same template."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench import programs
from bench.measure import Compared, Measure, Row, exponent, interleaved, milliseconds
from tutor.run import Runner
from tutor.trace import Program, Trace, snippet

PATIENCE = 300.0
"""Seconds that one measured program may take."""


def _ready(runner: Runner) -> None:
    """Wait for the child that is forked ahead, as a person who reads between two runs does."""
    until = time.monotonic() + 60
    while not runner.ready:
        if time.monotonic() > until:
            raise SystemExit("bench: no process became ready within a minute")
        time.sleep(0.002)


def _run(runner: Runner, program: Program) -> tuple[Trace, float]:
    _ready(runner)
    began = time.perf_counter()
    trace = runner.run(program)
    _ = trace.last
    seconds = time.perf_counter() - began
    if trace.outcome != "ok":
        said = trace.last.text[-500:]
        raise SystemExit(f"bench: a measured program ended with {trace.outcome!r}: {said}")
    return trace, seconds


def _program(code: str, observed: bool) -> Program:
    return snippet(code, timeout=PATIENCE, observed=observed)


def _whole(runner: Runner, code: str, observed: bool) -> Measure:
    """Seconds from the request to the last event folded."""
    return lambda: _run(runner, _program(code, observed))[1]


def _inside(runner: Runner, code: str, observed: bool) -> Measure:
    """Seconds that the program itself measured and printed."""
    return lambda: float(_run(runner, _program(code, observed))[0].last.text.split()[0])


def compared_whole(runner: Runner, code: str, rounds: int) -> Compared:
    """A program from request to last event folded, observed against bare."""
    return interleaved(_whole(runner, code, True), _whole(runner, code, False), rounds)


def training(runner: Runner, rounds: int) -> Iterator[Row]:
    """What observing costs a program that trains."""
    for name, code, bar, goal, held in (
        ("training step, MLP 1024, batch 256", programs.TRAINING_STEP, 1.1, None, True),
        ("small training, MLP 64, Adam", programs.SMALL_TRAINING, 4.5, 2.5, False),
    ):
        compared = interleaved(_inside(runner, code, True), _inside(runner, code, False), rounds)
        yield Row(name, compared.ratio, bar, goal, held=held, detail=milliseconds(compared))


def loops(runner: Runner, rounds: int) -> Iterator[Row]:
    """What observing costs ops that do next to nothing."""
    for name, code, bar in (
        ("loop of one-element ops", programs.ONE_ELEMENT_OPS, 6.0),
        ("function whose ops save", programs.ONE_ELEMENT_FUNCTION, 9.0),
    ):
        compared = interleaved(_inside(runner, code, True), _inside(runner, code, False), rounds)
        yield Row(name, compared.ratio, bar, 3.0, detail=milliseconds(compared))


def chains(runner: Runner, rounds: int, sizes: tuple[int, ...]) -> Iterator[Row]:
    """Chains of nodes: run, decode and fold, and how time and memory grow."""
    times: list[tuple[float, float]] = []
    memory: list[tuple[float, float]] = []
    for size in sizes:
        code = programs.chain(size)
        compared = compared_whole(runner, code, rounds)
        yield Row(
            f"chain of {size:,} nodes".replace(",", " "),
            compared.ratio,
            6.0,
            detail=milliseconds(compared),
        )
        times.append((size, compared.ours))
        trace, _ = _run(runner, _program(code, True))
        memory.append((size, float(trace.last.text.split()[1])))
    yield Row("chain: exponent of time", exponent(*times[-2:]), 1.1, unit="")
    largest, grown = memory[-1]
    yield Row("chain: memory of an observed node", grown / largest / 1024, None, unit=" KB")
    if memory[-2][0] >= 10_000:  # a smaller one fits into pages that were there before
        yield Row("chain: exponent of memory", exponent(*memory[-2:]), 1.1, unit="")
