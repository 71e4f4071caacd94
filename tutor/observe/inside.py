"""The observer in a process that is not ours: from the middle of a frame, and off without a trace.

What was there before comes back: trace functions, the local one of the frame, function modes.
A thread that outlives the watching goes on at full speed, because what it still meets of ours
steps aside.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
import types
from typing import Any

import torch

from tutor.observe.log import Log
from tutor.observe.mode import Watch
from tutor.observe.session import Session
from tutor.observe.stack import Frame
from tutor.trace import events as ev
from tutor.trace.events import NONE
from tutor.trace.program import Program, Source

CALLERS = 8
"""User frames around the watched one that are told of at the most."""

NAMES = 400
"""Names of one frame that are looked at when watching begins."""

_OPTIMIZED = 0x01  # CO_OPTIMIZED: a function, whose f_locals is a copy


def watched_already() -> bool:
    """Whether an observer is on in this thread: that of `explain`, or another region's."""
    return any(isinstance(mode, Watch) for mode in _modes())


def torch_version() -> str:
    """The version of torch, without its build tag."""
    return str(torch.__version__).split("+")[0]


class Inside:
    """Watches this process from `start` to `stop`.

    `file` and `text` are the source of the region; what lies in `folder` is the user's too.
    """

    def __init__(
        self, log: Log, file: str, text: str, folder: str, namespace: dict[str, Any]
    ) -> None:
        self.log = log
        self.program = Program(
            (Source(file, text),), profile="script", cwd=os.getcwd(), timeout=None, seed=None
        )
        log.add(ev.Start(torch_version(), sys.version.split()[0], torch.get_num_threads()))
        self._session = Session(self.program, log, namespace, folder)
        self._stack = self._session.stack
        self._stack.unwritten = cell_source
        # The thread that watches is the main one here, whichever the interpreter's is.
        self._stack._first = threading.get_ident()
        self._namespace = namespace
        self._frame: types.FrameType | None = None
        self._before: tuple[Any, Any, Any] = (None, None, None)

    def start(self, frame: types.FrameType | None) -> None:
        """Begin to watch: a frame that runs, with what its callers know, or what comes next."""
        if frame is not None:
            self._adopt(frame)
        local = frame.f_trace if frame is not None else None
        self._before = (sys.gettrace(), threading.gettrace(), local)
        self._session.start()
        if frame is not None:
            self._frame = frame
            frame.f_trace = self._stack.frames[-1].trace

    def stop(self) -> None:
        """End watching, in the thread that began it."""
        tracer, threads, local = self._before
        records = self._stack.frames
        if self._frame is not None and records:
            self._stack.look(records[-1], self._frame)
        self._session.stop()
        self._session.watch.__class__ = _Over
        self._stack.log = _Nowhere()  # type: ignore[assignment]
        self._stack.threads = True  # each trace function that is still met asks the log
        if self._frame is not None:
            self._frame.f_trace = local
            _forget_locals(self._frame)
            self._frame = None
        threading.settrace(threads)
        sys.settrace(tracer)

    @property
    def failures(self) -> int:
        """Failures of ours that were kept from the program."""
        return self._session.watch.failures

    def frames_of(self, traceback: types.TracebackType | None) -> tuple[tuple[str, int, str], ...]:
        """(file, line, function) of each user frame of a traceback, outermost first."""
        found = []
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if self._session.is_user(code):
                name = code.co_qualname.replace("<locals>.", "")
                found.append((code.co_filename, traceback.tb_lineno, name))
            traceback = traceback.tb_next
        return tuple(found)

    # -- frames that run already -------------------------------------------------------------

    def _adopt(self, frame: types.FrameType) -> None:
        """Tell of a frame and its callers in user files, and of what their names mean."""
        chain: list[types.FrameType] = []
        current: types.FrameType | None = frame
        while current is not None and len(chain) < CALLERS:
            if self._session.is_user(current.f_code):
                chain.append(current)
            current = current.f_back
        if not any(_is_main(one, self._namespace) for one in chain):
            self._adopt_module(frame)
        for one in reversed(chain):
            self._push(one)

    def _adopt_module(self, frame: types.FrameType) -> None:
        """The names of a module that has run: a function of it is watched."""
        info = self._stack.user_file(frame.f_code)
        if info is None:
            return
        record = Frame(self._stack, 0, self._stack.known(frame.f_code), info)
        record.is_module = True
        self.log.add(ev.Enter(0, "<module>", frame.f_code.co_filename, 1, NONE, 1))
        self._bind(record, frame.f_globals)
        self.log.add(ev.Leave(0, False))

    def _push(self, frame: types.FrameType) -> None:
        stack = self._stack
        code = frame.f_code
        info = stack.user_file(code)
        if info is None:
            return
        number = 0
        if not _is_main(frame, self._namespace):
            number = stack._next
            stack._next += 1
        record = Frame(stack, number, stack.known(code), info)
        stack.frames.append(record)
        name = code.co_qualname.replace("<locals>.", "")
        self.log.add(
            ev.Enter(number, name, code.co_filename, code.co_firstlineno, NONE, frame.f_lineno or 1)
        )
        if number == 0:
            stack._main_bound = record.bound
        self._bind(record, frame.f_locals)
        _forget_locals(frame)

    def _bind(self, record: Frame, values: dict[str, Any]) -> None:
        for name, value in list(values.items())[-NAMES:]:
            if not name.startswith("_"):
                self._stack._guarded(self._stack._bind_one, record, name, value, name == "self")


def _is_main(frame: types.FrameType, namespace: dict[str, Any]) -> bool:
    return frame.f_code.co_name == "<module>" and frame.f_globals is namespace


_OURS_ALONE = 3
"""References to that dict where the function kept none: the frame's, ours, and the count's."""


def _forget_locals(frame: types.FrameType) -> None:
    """Let go of what a look at a function's locals holds on to, before Python 3.13: a copy.

    It is the same dict that `locals()` gave to the function: if that was kept, it stays.
    """
    if frame.f_code.co_flags & _OPTIMIZED and sys.version_info < (3, 13):
        copied = frame.f_locals
        if sys.getrefcount(copied) <= _OURS_ALONE:
            copied.clear()


def cell_source(file: str) -> str | None:
    """The text of a source that is held in memory: a notebook's cell, typed or pasted code."""
    entry = linecache.cache.get(file)
    if entry is None or len(entry) < 4 or os.path.exists(file):
        return None
    return "".join(entry[2])


def source_of(frame: types.FrameType) -> str:
    """The source of the file that a frame's code comes from, "" if there is none."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    return "".join(lines)


class _Over(Watch):
    """The mode of a thread that outlived its watching."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class _Nowhere:
    """The log after the end: whoever still tells something is told to stop tracing."""

    events: tuple[()] = ()

    def add(self, event: ev.Event) -> None:
        pass

    def tick(self) -> None:
        pass

    flush = tick

    def thread(self) -> None:
        sys.settrace(None)


def _modes() -> list[Any]:
    count = torch._C._len_torch_function_stack()
    return [torch._C._get_function_stack_at(index) for index in range(count)]
