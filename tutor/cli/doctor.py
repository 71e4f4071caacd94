"""`doctor`: whether what the app and its runs need is there, without importing torch."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from tutor import __version__
from tutor.cli.versions import at_least, installed, python_version, required, torch_version
from tutor.locations import lessons_dir

SMALLEST = (60, 18)
"""Columns and lines below which the app cannot show its panes."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One thing that was looked at. `advice` says what to do where it is not all right."""

    name: str
    found: str
    advice: str = ""

    @property
    def line(self) -> str:
        mark = "ok  " if not self.advice else "look"
        lines = [f"{mark}  {self.name:<10}  {self.found}"]
        if self.advice:
            lines.append(f"{'':18}{self.advice}")
        return "\n".join(lines)


def readings(run: bool = False) -> Iterator[Reading]:
    """Everything that is looked at, in the order in which it is printed; slow things last."""
    yield Reading("tutor", f"autograd-tutor {__version__}")
    yield _python()
    yield _torch()
    yield _textual()
    yield _back_end()
    yield _terminal()
    yield _colours()
    yield _lessons()
    yield _data()
    if run:
        yield run_one()


def _python() -> Reading:
    found = f"{python_version()} ({sys.executable}), {platform.system()}"
    old = sys.version_info < (3, 11)
    return Reading("python", found, "Python 3.11 or newer is needed." if old else "")


def _torch() -> Reading:
    version = torch_version()
    if version is None:
        return Reading("torch", "not installed", "Install it: pip install 'torch>=2.13'")
    old = not at_least(version, (2, 13))
    advice = "Lessons and explanations were checked on torch 2.13; older ones may differ."
    return Reading("torch", version, advice if old else "")


def _textual() -> Reading:
    version, wanted = installed("textual"), required("textual")
    if version is None:
        return Reading("textual", "not installed", f"Install it: pip install 'textual{wanted}'")
    other = wanted.startswith("==") and wanted[2:] != version
    advice = f"The app is made for exactly one version: pip install 'textual{wanted}'"
    return Reading("textual", version, advice if other else "")


def _back_end() -> Reading:
    from tutor.run.runner import BACKEND_VARIABLE, choose_backend

    try:
        name = choose_backend(None)
    except ValueError as error:
        return Reading("back end", os.environ.get(BACKEND_VARIABLE, ""), str(error))
    ways = {"fork": "each run is a fork of one warm process", "spare": "each run has its process"}
    return Reading("back end", f"{name}: {ways[name]}")


def _terminal() -> Reading:
    if not sys.stdout.isatty():
        return Reading("terminal", "the output is not a terminal here")
    columns, lines = shutil.get_terminal_size()
    found = f"{os.environ.get('TERM', 'TERM is not set')}, {columns} columns, {lines} lines"
    small = columns < SMALLEST[0] or lines < SMALLEST[1]
    advice = f"The app needs {SMALLEST[0]} columns and {SMALLEST[1]} lines: enlarge the window."
    return Reading("terminal", found, advice if small else "")


def _colours() -> Reading:
    encoding = (sys.stdout.encoding or "unknown").lower()
    if "NO_COLOR" in os.environ:
        colours = "no colours (NO_COLOR is set)"
    else:
        colours = os.environ.get("COLORTERM") or "COLORTERM is not set: colours are approximated"
    wide = encoding.replace("-", "") == "utf8"
    return Reading(
        "text",
        f"{encoding}, {colours}",
        "" if wide else "Set a UTF-8 locale, for example LC_ALL=C.UTF-8, to see the signs.",
    )


def _lessons() -> Reading:
    folder = lessons_dir()
    count = len(list(folder.glob("*/*.yaml")))
    advice = "" if count else "No lessons: install autograd-tutor again."
    return Reading("lessons", f"{count} lessons in {folder}", advice)


def _data() -> Reading:
    from tutor.progress import data_dir

    folder = data_dir()
    advice = "It cannot be written: your progress would be lost. AUTOGRAD_TUTOR_DATA names another."
    return Reading("progress", str(folder), "" if writable(folder) else advice)


def run_one() -> Reading:
    """Run a program as the app would, and say how long that took."""
    from tutor.run import Runner
    from tutor.trace import snippet

    code = "import torch\nx = torch.tensor(3.0, requires_grad=True)\n(x * x).backward()\n"
    began = time.perf_counter()
    with Runner() as runner:
        runner.run(snippet(code))
        first = time.perf_counter() - began
        began = time.perf_counter()
        trace = runner.run(snippet(code + "print(x.grad)\n"))
        second = time.perf_counter() - began
    printed = trace.last.text.strip()
    found = f"the first took {first:.1f} s, the next {second * 1000:.0f} ms"
    if trace.outcome == "ok" and printed == "tensor(6.)":
        return Reading("runs", found)
    said = trace.end.message if trace.end and trace.end.message else printed[-300:]
    return Reading("runs", f"ended with {trace.outcome!r}", said or "Nothing was said about why.")


def writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or the folder itself in its nearest parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


@click.command()
@click.option("--run", is_flag=True, help="Run a program too, which imports torch.")
def doctor(run: bool) -> int:
    """Check that everything needed is there.

    It looks at Python, torch (without importing it), the terminal, the lessons and the folder
    of your progress. It ends with 1 where something needs a look.
    """
    troubled = False
    for reading in readings(run):
        click.echo(reading.line)
        troubled = troubled or bool(reading.advice)
    return 1 if troubled else 0
