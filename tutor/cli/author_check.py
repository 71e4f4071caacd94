"""`author check`: everything that lessons promise is run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from tutor.author.render import Format, counted, rendered
from tutor.author.targets import NoTarget
from tutor.cli.author_lint import FORMAT, MOST, PATHS, STRICT

WIDTH = 30
"""Columns of the bar."""


@click.command("check")
@PATHS
@click.option("--jobs", type=click.IntRange(1, 64), help="Runs at a time (one for each core).")
@click.option("--repeat", type=click.IntRange(1, 100), default=2, show_default=True,
              help="Run each thing so often; all must give the same.")  # fmt: skip
@click.option("--step", metavar="ID", help="Prove this step alone: its id, or lesson/id.")
@click.option("--since", metavar="REF", help="Only lessons that changed since a git revision.")
@FORMAT
@STRICT
@MOST
def check_command(
    paths: tuple[Path, ...],
    jobs: int | None,
    repeat: int,
    step: str | None,
    since: str | None,
    format: Format,
    strict: bool,
    most: int | None,
) -> int:
    """Find every fault of the packs or files at PATHS, and run all that their lessons promise.

    Solutions and alternatives must pass; starters, mistakes, no code at all and a solution cut
    short must not; each mistake gets its own message; of each prediction one choice comes true.
    """
    from tutor.author.check import Asked, NoStep, check
    from tutor.author.versions import NoHistory
    from tutor.run import Runner

    asked = Asked(paths, jobs or cores(), repeat, step, since)
    watcher = Progress(sys.stderr.isatty())
    runner = Runner()
    try:
        checked = check(asked, lambda: runner, watcher)
    except (NoTarget, NoStep, NoHistory) as error:
        raise click.UsageError(str(error)) from error
    finally:
        runner.close()
        watcher.end()
    for line in checked.skipped:
        click.echo(line, err=True)
    text = rendered(checked.faults, format, most)
    if text:
        click.echo(text)
    told = f"{counted(checked.faults, checked.lessons)}, {checked.runs} runs"
    click.echo(f"{told}, {watcher.seconds:.1f} s", err=True)
    sys.stdout.flush()
    wrong = [fault for fault in checked.faults if strict or fault.severity == "error"]
    return 1 if wrong else 0


def cores() -> int:
    """How many runs this machine can do at a time."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


class Progress:
    """How far the proofs are: a bar on a terminal, else a line a lesson; all of it on stderr."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._all = self._done = 0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.monotonic() - self._began

    def begin(self, runs: int) -> None:
        self._all = runs
        self._draw()

    def ran(self) -> None:
        self._done += 1
        self._draw()

    def lesson(self, lesson_id: str, told: str) -> None:
        if self._terminal:
            self._clear()
        click.echo(f"{lesson_id}: {told}", err=True)
        self._draw()

    def end(self) -> None:
        """Take the bar away."""
        if self._terminal:
            self._clear()

    def _draw(self) -> None:
        if self._terminal and self._all:
            done = min(self._done, self._all)
            bar = "█" * (WIDTH * done // self._all)
            click.echo(f"\r{bar:░<{WIDTH}} {done} of {self._all} runs", nl=False, err=True)

    def _clear(self) -> None:
        click.echo("\r\x1b[K", nl=False, err=True)
