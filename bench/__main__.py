"""`python -m bench`: measure, print the table, and fail where a held bar is exceeded."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator

from bench.answer import answer
from bench.growth import growth, million
from bench.measure import Row
from bench.runs import chains, loops, training
from bench.terminal import start
from tutor.run import Runner

SHORT = (1_000, 10_000)
LONG = (*SHORT, 100_000)
SHORT_STEPS = (100, 1_000)
LONG_STEPS = (*SHORT_STEPS, 10_000, 100_000)


def groups(rounds: int, long: bool) -> dict[str, Callable[[], Iterator[Row]]]:
    """The groups of rows by name; each measures when its rows are asked for."""

    def with_runner(rows: Callable[[Runner], Iterator[Row]]) -> Callable[[], Iterator[Row]]:
        def measured() -> Iterator[Row]:
            with Runner() as runner:
                yield from rows(runner)

        return measured

    return {
        "answer": lambda: answer(rounds),
        "start": lambda: start(rounds),
        "training": with_runner(lambda runner: training(runner, rounds)),
        "loops": with_runner(lambda runner: loops(runner, rounds)),
        "chains": with_runner(
            lambda runner: chains(runner, max(3, rounds // 2), LONG if long else SHORT)
        ),
        "growth": lambda: growth(LONG if long else SHORT, LONG_STEPS if long else SHORT_STEPS),
    }


def main() -> int:
    """Print each row as it comes; 1 if a held bar was exceeded twice."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--long", action="store_true", help="also the chain of 100 000 nodes")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (7)")
    parser.add_argument("--only", default="", help="groups, by commas: answer,start,…")
    parser.add_argument(
        "--million", action="store_true", help="only a chain of a million nodes, once"
    )
    wanted = parser.parse_args()
    if wanted.million:
        printed(million())
        return 0
    table = groups(wanted.rounds, wanted.long)
    names = [name for name in wanted.only.split(",") if name] or list(table)
    unknown = [name for name in names if name not in table]
    if unknown:
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(table)}")
    print(f"medians of {wanted.rounds} interleaved rounds, load {os.getloadavg()[0]:.1f}")
    failed = [name for name in names if printed(table[name]())]
    if failed:
        # Something else may have kept the machine busy: only what fails twice is too slow.
        print(f"again, {wanted.rounds * 2} rounds, load {os.getloadavg()[0]:.1f}")
        table = groups(wanted.rounds * 2, wanted.long)
        rows = [row for name in failed for row in printed(table[name]())]
        if rows:
            print(f"Held bars exceeded: {'; '.join(row.name for row in rows)}", file=sys.stderr)
            return 1
    return 0


def printed(rows: Iterator[Row]) -> list[Row]:
    """Print rows as they come; those that failed."""
    failed = []
    for row in rows:
        print(row.line, flush=True)
        if row.failed:
            failed.append(row)
    return failed


if __name__ == "__main__":
    sys.exit(main())
