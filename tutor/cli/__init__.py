"""The command line: one module a command, imported only when that command is asked for."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from tutor.cli.root import Settings, autograd_tutor

FOUND, USAGE, FAULT = 1, 2, 3
"""Exit statuses besides 0: something was found, a wrong call, our own fault."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status; never raises for what a user can do wrong."""
    settings = Settings()
    _open_streams()
    try:
        result = autograd_tutor.main(
            args=None if args is None else list(args),
            prog_name="autograd-tutor",
            standalone_mode=False,
            obj=settings,
        )
        sys.stdout.flush()
    except click.Abort:
        return FOUND
    except click.ClickException as error:
        print(_refusal(error), file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        # Who read our output has gone; Python must not try to flush to it again at its end.
        _silence(sys.stdout)
        return FOUND
    except Exception as error:
        if settings.debug:
            raise
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            _silence(sys.stdout)
            print(f"Not all could be written: {error.strerror}. Make room.", file=sys.stderr)
            return USAGE
        print(_apology(error), file=sys.stderr)
        return FAULT
    return result if isinstance(result, int) else 0


def _refusal(error: click.ClickException) -> str:
    """What is wrong with a call, and where to read how it is done: one form for all commands."""
    text = f"Error: {error.format_message()}"
    text += "" if text.endswith((".", "?", "…", ":")) or "\n" in text else "."
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{text}\nHelp: {context.command_path} --help" if context is not None else text


def _open_streams() -> None:
    """Have all three standard streams, so that no file of ours is taken for one of them."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _silence(stream: TextIO) -> None:
    """Write what a stream still holds, and all that follows, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _apology(error: Exception) -> str:
    from tutor import __version__
    from tutor.cli.versions import python_version, torch_version

    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return (
        f"autograd-tutor failed: {what}\n"
        "This is a fault of autograd-tutor, not of your code. Please report it to the project,\n"
        "with what you did and these versions: "
        f"autograd-tutor {__version__}, Python {python_version()}, torch {torch_version()}.\n"
        "To see where it happened: autograd-tutor --debug and then the same words."
    )
