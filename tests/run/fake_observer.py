"""An observer without torch: events for what its programs do, and nothing more.

A program may use `emit(*events)` and `raw(data)`, which write to the events' descriptor,
and `events_fd`, its number.
"""

import contextlib
import os
import sys
import time
import traceback

from tutor.trace import events as ev
from tutor.trace.program import Program
from tutor.trace.wire import encode


def preload() -> None:
    import msgspec  # noqa: F401


def warm() -> None:
    encode([ev.Start("fake", "fake", 1)])


def execute(program: Program, events_fd: int) -> int:
    began = time.perf_counter()

    def raw(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(events_fd, rest) :]

    def emit(*events: ev.Event) -> None:
        raw(encode(events))

    main = program.sources[-1].file
    sys.argv = [main, *program.argv]
    names = {"__name__": "__main__", "emit": emit, "raw": raw, "ev": ev, "events_fd": events_fd}
    emit(ev.Start("fake", "fake", 1))
    how, code = "ok", 0
    try:
        for source in program.sources:
            exec(compile(source.text, source.file, "exec"), names)
    except SystemExit as stop:
        how = "exited"
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
    except BaseException as error:
        how, code = "error", 1
        traceback.print_exc()
        try:
            emit(ev.Raised(type(error).__name__, str(error), (), ""))
        except OSError:
            return code
    with contextlib.suppress(OSError):
        emit(ev.Finished(how, code, time.perf_counter() - began))
    return code
