"""The process that becomes the learner's program: waits, shuts itself in, and runs it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import io
import os
import resource
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import NoReturn

from tutor.run import system
from tutor.run.limits import Limits
from tutor.run.protocol import FAULT, GO, READY, Request, read_file, request_decoder
from tutor.trace.program import Program

EVENTS_FROM = 100
"""The events' descriptor is at least this, out of the way of the files a program opens."""

OUR_FAULT = 70


def serve(request: socket.socket, observer: ModuleType) -> NoReturn:
    """Wait for one program, run it, and end this process with its status."""
    status = OUR_FAULT
    try:
        if os.getsid(0) != os.getpid():
            os.setsid()
        _reset_signals()
        warm = getattr(observer, "warm", None)
        if warm is not None:
            warm()
        request.send(READY)
        _, descriptors, _, _ = socket.recv_fds(request, 1, 5)
        if not descriptors:
            os._exit(0)
        hurry = getattr(observer, "hurry", None)
        if hurry is not None and system.HURRY is not None:
            signal.signal(system.HURRY, lambda _number, _frame: _last(hurry))
        program, events = _settle(request, descriptors)
        status = observer.execute(program, events)
    except KeyboardInterrupt:  # It came outside the program: before it, or after its end.
        status = 128 + signal.SIGINT
    except BaseException:  # Whatever it is, it must not unwind into the host's code.
        traceback.print_exc()
    finally:
        _flush()
        os._exit(status & 0xFF)


def _settle(request: socket.socket, descriptors: list[int]) -> tuple[Program, int]:
    """Take on the surroundings of the run; returns the program and where its events go."""
    file, stdin, stdout, stderr, events = descriptors
    asked = request_decoder.decode(read_file(file))
    try:
        for number, descriptor in enumerate((stdin, stdout, stderr)):
            os.dup2(descriptor, number)
        events = _move_up(events)
        _surround(asked)
    except (OSError, ValueError) as error:
        request.send(FAULT + str(error).encode("utf-8", "replace"))
        os._exit(OUR_FAULT)
    for stream in (sys.stdout, sys.stderr):
        # As at a terminal: what is printed is seen, and in its order with errors.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    try:
        request.send(GO)
    except OSError:
        os._exit(0)  # The app took the program back, and may have given it to another child.
    request.close()
    os.closerange(3, events)
    os.closerange(events + 1, _most_descriptors())
    return asked.program, events


def _move_up(descriptor: int) -> int:
    """The same file at a high number, closed when another program is started."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, EVENTS_FROM)
    os.close(descriptor)
    return moved


def _surround(asked: Request) -> None:
    if asked.environ is not None:
        os.environ.clear()
        os.environb.update(asked.environ)
    os.chdir(asked.folder)
    tempfile.tempdir = None
    if asked.limits is not None:
        os.environb[b"TMPDIR"] = asked.folder
        _limit(asked.limits)


def _limit(limits: Limits) -> None:
    """The limits of the snippet profile; those that count several processes are the warden's."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + limits.cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    system.limit_memory(limits.memory_bytes)
    system.offer_to_oom_killer()


def _reset_signals() -> None:
    """The signals of a freshly started Python."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGIO):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _last(hurry: Callable[[], bool]) -> None:
    """Send what was seen and printed so far: this process is to be ended."""
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(BaseException):
            if stream is not None:
                stream.flush()
    if hurry():
        os.kill(os.getpid(), signal.SIGKILL)


def _flush() -> None:
    """Write out what Python and C still hold, as an ordinary exit does."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()
    with contextlib.suppress(BaseException):
        ctypes.CDLL(None).fflush(None)


def _most_descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 65536 if soft == resource.RLIM_INFINITY else soft
