"""Giving a program to the child of a seat: its surroundings, its pipes, its folder."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from tutor.run import system
from tutor.run.limits import Limits
from tutor.run.protocol import FOLDER, Request, encode_request, write_file
from tutor.run.scratch import make_scratch
from tutor.run.seat import Seat
from tutor.trace import Program

EVENTS, STDOUT, STDERR = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Launch:
    """What a run was given. `pipes` maps a read end to `EVENTS`, `STDOUT` or `STDERR`."""

    pipes: dict[int, int]
    scratch: str | None
    sent: bool
    """False where the child was gone already."""


def launch(program: Program, limits: Limits, seat: Seat) -> Launch:
    """Send a program to a child, and tell its warden of the folder that it runs in.

    Raises ValueError for a program that is not plain data, and OSError.
    """
    script = program.profile == "script"
    scratch = None if script else make_scratch()
    pipes: dict[int, int] = {}
    given: list[int] = []
    try:
        given.append(write_file(encode_request(_request(program, limits, scratch))))
        given.append(_stdin(script))
        # One pipe for both streams keeps their order, but a script's are passed through.
        for stream in (EVENTS, STDOUT, STDERR) if script else (EVENTS, STDOUT):
            read, write = os.pipe()
            pipes[read] = stream
            given.append(write)
            system.widen(read)
            os.set_blocking(read, False)
        if scratch is not None:  # Before the program, which may be over in no time.
            seat.tell(FOLDER + os.fsencode(scratch))
        file, stdin, events, stdout = given[:4]
        sent = seat.send(file, (stdin, stdout, given[-1]), events)
    except BaseException:
        for read in pipes:
            os.close(read)
        if scratch is not None:
            os.rmdir(scratch)
        raise
    finally:
        for descriptor in given:
            os.close(descriptor)
    return Launch(pipes, scratch, sent)


def _request(program: Program, limits: Limits, scratch: str | None) -> Request:
    if scratch is not None:
        return Request(program, os.fsencode(scratch), None, limits)
    return Request(program, os.fsencode(program.cwd or os.getcwd()), dict(os.environb), None)


def _stdin(script: bool) -> int:
    """A descriptor for the program's standard input: the caller's own for a script."""
    if script:
        with contextlib.suppress(OSError):
            return os.dup(0)
    return os.open(os.devnull, os.O_RDONLY)
