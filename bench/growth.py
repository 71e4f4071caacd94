"""How what the parent process needs grows with the length of a run, up to a million nodes.

Each size runs in a process of its own, because the peak of a process never falls again. Measured
are the parent's CPU seconds, for folding and for explaining, and what its peak grew by. Run as a
module with a kind and a size it measures one run and prints it as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.measure import Row, exponent
from bench.programs import LONG_PEAK, LONG_RUNS
from tutor.explain import findings
from tutor.run import Runner
from tutor.trace import Program, Source

SMALLEST = 0.01
"""Seconds, and as many times 100 MB: less than this is noise, and counts as this much."""

BAR = 1.1


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run cost: CPU seconds and megabytes of the parent; `child` megabytes at the peak."""

    size: int
    events: int
    kept: int
    fold: float
    explain: float
    memory: float
    child: float
    found: str


def measured(kind: str, size: int) -> Cost:
    """Run one program in this process, explain it, and say what that cost."""
    program = LONG_PEAK + LONG_RUNS[kind].format(size=size)
    with tempfile.TemporaryDirectory() as folder, Runner() as runner:
        file = str(Path(folder) / "long.py")
        before = _reset_peak()
        began = time.process_time()
        trace = runner.run(
            Program((Source(file, program),), profile="script", cwd=folder, timeout=None, seed=None)
        )
        folded = time.process_time()
        found = findings(trace)
        explained = time.process_time()
    if trace.end is None or trace.outcome not in ("ok", "error"):
        raise SystemExit(f"bench: {kind} {size} ended with {trace.outcome}")
    return Cost(
        size,
        len(trace),
        len(trace.events),
        folded - began,
        explained - folded,
        _peak() - before,
        float(trace.end.output.rpartition("peak ")[2].split()[0]),
        ", ".join(f"{one.kind} on line {one.places[0].line}" for one in found if one.places),
    )


def _peak() -> float:
    """The peak of this process's memory since it was reset, in megabytes."""
    with open("/proc/self/status", encoding="ascii") as stream:
        return next(int(row.split()[1]) for row in stream if row.startswith("VmHWM")) / 1024


def _reset_peak() -> float:
    """Let the peak be what is used now, in megabytes (a process begins with its parent's)."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
        stream.write("5")
    return _peak()


def elsewhere(kind: str, size: int) -> Cost:
    """The same in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.growth", kind, str(size)], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return Cost(**json.loads(done.stdout))


def growth(chain: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[Row]:
    """Rows of a chain of nodes and of training steps: exponents of time and memory."""
    for kind, sizes in (("chain", chain), ("steps", steps), ("kept", chain)):
        costs = []
        for size in sizes:
            cost = elsewhere(kind, size)
            costs.append(cost)
            yield Row(
                f"{kind} of {size:,}: parent".replace(",", " "),
                cost.fold + cost.explain,
                None,
                unit=" s",
                detail=told(cost),
            )
        first, last = costs[0], costs[-1]
        for name in ("fold", "explain", "memory"):
            smallest = SMALLEST * (100 if name == "memory" else 1)
            points = [(c.size, max(float(getattr(c, name)), smallest)) for c in (first, last)]
            yield Row(f"{kind}: exponent of {name}", exponent(*points), BAR, unit="", held=True)


def million() -> Iterator[Row]:
    """A chain of a million nodes: run, decoded, folded and explained once."""
    cost = elsewhere("chain", 1_000_000)
    yield Row("chain of a million: parent", cost.fold + cost.explain, None, unit=" s",
              detail=told(cost))  # fmt: skip


def told(cost: Cost) -> str:
    """A cost in one line."""
    return (
        f"{cost.events:,} events, {cost.kept:,} kept, fold {cost.fold:.2f} s, "
        f"explain {cost.explain:.2f} s, +{cost.memory:.0f} MB, child {cost.child:.0f} MB"
        + (f"; {cost.found}" if cost.found else "")
    )


if __name__ == "__main__":
    print(json.dumps(asdict(measured(sys.argv[1], int(sys.argv[2])))))
