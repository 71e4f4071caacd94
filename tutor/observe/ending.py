"""The end of a program as the interpreter makes it: what is printed, what is run, what is freed."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
import traceback
import types
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tutor.observe.log import Log
from tutor.observe.session import Session
from tutor.observe.tracebacks import cut
from tutor.trace import events as ev

MESSAGE, TRACEBACK = 20_000, 200_000
"""Characters kept of an exception's message, and of its printed traceback."""

_OURS = os.path.dirname(os.path.abspath(__file__))


def exit_code(stop: SystemExit) -> int:
    """The exit status that `sys.exit(code)` gives; a code that is no number is printed."""
    value = stop.code
    if value is None:
        return 0
    if isinstance(value, int):
        # The interpreter makes a C long of it, and -1 where that is too short.
        return value & 0xFF if -(1 << 63) <= value < 1 << 63 else 0xFF
    with suppress(BaseException):
        sys.stderr.write(str(value))
    with suppress(BaseException):
        sys.stderr.write("\n")
    return 1


def report(error: BaseException, log: Log, session: Session | None) -> int:
    """Print an exception as Python would, and tell it; returns the exit status."""
    trace = error.__traceback__
    while trace is not None and (
        trace.tb_frame.f_code.co_filename.startswith(_OURS)
        or trace.tb_frame.f_code.co_filename.startswith("<frozen runpy")
    ):
        trace = trace.tb_next
    with suppress(Exception):
        trace = cut(trace)
        error.__traceback__ = trace
    log.add(_raised(error, trace, session))
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        hook = sys.excepthook
    except AttributeError:
        hook = sys.__excepthook__
    try:
        hook(type(error), error, trace)
    except SystemExit as stop:
        return exit_code(stop)
    except BaseException as fault:
        fault.__context__ = None
        inner = fault.__traceback__.tb_next if fault.__traceback__ is not None else None
        _print("Error in sys.excepthook:\n", *_formatted(fault, inner))
        _print("\nOriginal exception was:\n", *_formatted(error, trace))
    return 1


def _raised(
    error: BaseException, trace: types.TracebackType | None, session: Session | None
) -> ev.Raised:
    frames: list[tuple[str, int, str]] = []
    for frame, line in traceback.walk_tb(trace):
        if session is None or session.is_user(frame.f_code):
            name = frame.f_code.co_qualname.replace("<locals>.", "")
            frames.append((frame.f_code.co_filename, line, name))
    if isinstance(error, SyntaxError) and isinstance(error.filename, str):
        line = error.lineno if isinstance(error.lineno, int) else 1
        frames.append((error.filename, line or 1, "<module>"))
        if session is not None:
            with suppress(Exception):
                session.stack.look_up(error.filename)  # it never ran: its text is not told yet
    try:
        message = str(error)
    except BaseException:  # SystemExit too: the program chose what its text does
        message = "<the message could not be read>"
    text = "".join(_formatted(error, trace))
    return ev.Raised(type(error).__name__, message[:MESSAGE], tuple(frames), text[:TRACEBACK])


def _formatted(error: BaseException, trace: types.TracebackType | None) -> list[str]:
    try:
        return traceback.format_exception(type(error), error, trace)
    except BaseException:
        return [f"{type(error).__name__}\n"]


def _print(*parts: str) -> None:
    with suppress(BaseException):
        sys.stderr.write("".join(parts))


def finish() -> None:
    """Wait for the threads, run what was registered for the end, and write out the streams."""
    for action in (threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]
        try:
            action()
        except BaseException:
            with suppress(BaseException):
                traceback.print_exc()
    flush()


def release(
    names: dict[str, Any], files: Iterable[str], imported: Iterable[str], cycles: bool
) -> None:
    """Free what the program's modules hold, so that files are written out and `__del__` runs.

    `imported` names the modules that it may have brought; `cycles` frees what holds itself too,
    which takes some 10 ms. Nothing is freed where a thread of the program still runs: it would
    find its names gone.
    """
    if len(sys._current_frames()) > 1:
        return
    known = set(files)
    spaces = [names]
    for name in imported:
        space = getattr(sys.modules.get(name), "__dict__", None)
        if isinstance(space, dict) and space.get("__file__") in known and space is not names:
            spaces.append(space)
    with suppress(BaseException):
        sys.last_value = sys.last_traceback = None
        for space in spaces:
            # In the order of the interpreter: private names first, the rest as they were made.
            for private in (True, False):
                for name in list(space):
                    lowly = name.startswith("_") and not name.startswith("__")
                    if name != "__builtins__" and (lowly or not private):
                        space[name] = None
        if cycles:
            gc.collect()
    flush()


def flush() -> None:
    """Write out what Python's streams hold."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
