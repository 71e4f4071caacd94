"""`explain`: run a script, and say what happened in it, why, where, and what to change."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tutor.diagnose import Diagnosis
    from tutor.run import Cancel
    from tutor.trace import Program


class _Explain(click.Command):
    """Says where the options of a script go."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            at = next((i for i, word in enumerate(given) if word.startswith(error.option_name)), 0)
            if at == 0:
                raise
            command = shlex.join([*given[:at], "--", *given[at:]])
            raise click.UsageError(
                f"No such option: {error.option_name}. What is meant for the script goes after --:"
                f"\n  autograd-tutor explain {command}",
                ctx,
            ) from None


@click.command(cls=_Explain)
@click.argument("file", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html", "svg"]),
    default="text",
    show_default=True,
    help="Text, json for programs, html for one page with all of it, svg for the graph alone.",
)
@click.option("-o", "--output", "out", type=click.Path(path_type=Path),
              metavar="OUT", help="Write the report to this file.")  # fmt: skip
@click.option("--save", type=click.Path(path_type=Path), metavar="TRACE",
              help="Save the run to this file, to be explained later, on any machine.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S",
              help="Stop the script after S seconds.")  # fmt: skip
@click.option(
    "--verify/--no-verify",
    default=None,
    help="Run the script again with each fix, or never. Without either: if that does no harm.",
)
def explain(
    file: str | None,
    args: tuple[str, ...],
    module: str | None,
    form: str,
    out: Path | None,
    save: Path | None,
    timeout: float | None,
    verify: bool | None,
) -> int:
    """Run a script and say what happened.

    FILE is a Python script, a folder or archive with a __main__.py, or - for a script on
    standard input; what follows it (after --, if it looks like an option) goes to the script.
    The script runs in this folder as python would run it, and its output comes through. Ctrl-C
    ends the script, and what was seen of it is explained. A run that was saved with --save is
    explained without running anything.

    \b
    Exit status:
      0  the script ran, and nothing is wrong
      1  it failed, was stopped, or an error or a warning was found
      2  the call was wrong, or the file cannot be read
      3  a fault of autograd-tutor itself
    """  # noqa: D301 (the sign keeps the lines apart in the help)
    if module is None and file is not None and saved(file):
        if args or timeout is not None or verify or save is not None:
            raise click.UsageError(
                f"{file} is a saved run. It is not run again, so it takes no arguments, "
                "no --timeout, --verify or --save."
            )
        if out is not None:
            _writable(out, file)
        diagnosis = _opened(Path(file))
        _write(diagnosis, form, out)
        return 0 if diagnosis.healthy else 1
    from tutor.cli.script import file_program, module_program

    if module is not None:
        program = module_program(module, args if file is None else (file, *args), timeout)
    elif file:
        program = file_program(file, args, timeout)
    else:
        raise click.UsageError("Name a script: autograd-tutor explain FILE (or -m MODULE, or -).")
    for place in (out, save):
        if place is not None:
            _writable(place, None if module is not None else file)
    stream = sys.stderr if form != "text" and out is None else sys.stdout
    from tutor.run import Cancel

    cancel = Cancel()
    with _interrupts(cancel):  # until the report is out: a third Ctrl-C must not take that away
        diagnosis = _diagnose(program, verify, stream, cancel)
        if save is not None:
            _save(diagnosis, save)
        _write(diagnosis, form, out)
    return 0 if diagnosis.healthy else 1


def saved(file: str) -> bool:
    """Whether a file is there and is a saved run."""
    from tutor.trace.file import is_trace

    try:
        # A pipe can be read only once, and it may be the script.
        return file != "-" and Path(file).is_file() and is_trace(Path(file))
    except OSError:
        return False


def _opened(path: Path) -> Diagnosis:
    """What happened in a saved run. Raises `click.ClickException` with what to do."""
    from tutor.diagnose import explained
    from tutor.trace.file import Unreadable, load

    try:
        return explained(load(path))
    except Unreadable as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror}.") from None


def _save(diagnosis: Diagnosis, path: Path) -> None:
    from tutor.trace import file

    try:
        file.save(diagnosis.trace, path)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from None


def _diagnose(program: Program, verify: bool | None, stream: Any, cancel: Cancel) -> Diagnosis:
    from tutor.diagnose import diagnose
    from tutor.run import Runner

    def show(number: int, data: bytes) -> None:
        target = stream if number == 1 else sys.stderr
        target.buffer.write(data)
        target.buffer.flush()

    runner = Runner()
    try:
        return diagnose(program, runner, verify=verify, on_output=show, cancel=cancel)
    finally:
        runner.close()


@contextmanager
def _interrupts(cancel: Cancel) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the script, not us: what was seen so far is explained."""

    def stop(number: int, frame: FrameType | None) -> None:
        cancel.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _writable(out: Path, script: str | None) -> None:
    """Refuse a place that cannot be written, before a script runs for hours in vain."""
    if script and out.exists() and Path(script).exists() and out.samefile(script):
        raise click.ClickException(f"{out} is the script itself. Name another file.")
    there = out.exists()
    if out.is_dir():
        raise click.ClickException(f"{out} is a folder. Name a file.")
    try:
        with out.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror}.") from None
    if not there:
        out.unlink(missing_ok=True)


def _write(diagnosis: Diagnosis, form: str, out: Path | None) -> None:
    sys.stdout.flush()
    if form == "json":
        from tutor.report import json as report

        text = json.dumps(report.render(diagnosis), ensure_ascii=False, indent=2)
    elif form == "html":
        from tutor.report import html

        text = html.render(diagnosis)
    elif form == "svg":
        from tutor.report import svg

        text = svg.render(diagnosis)
    else:
        from tutor.report import text as report_text

        color = out is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        width = shutil.get_terminal_size((88, 24)).columns if out is None else 88
        text = report_text.render(diagnosis, color=color, width=width)
        if out is None and _printed(diagnosis):
            text = "\n" + text
    if out is None and form in ("html", "svg"):  # a document is UTF-8, whatever the terminal is
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.flush()
        return
    if out is None:
        click.echo(text)
        return
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror}.") from None


def _printed(diagnosis: Diagnosis) -> bool:
    end = diagnosis.trace.end
    return end is not None and bool(end.output)
