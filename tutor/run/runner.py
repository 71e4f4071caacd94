"""What the other rooms use: a runner that turns programs into traces."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from tutor.run.cancel import Cancel
from tutor.run.drive import drive, drive_async
from tutor.run.intake import OnEvents
from tutor.run.limits import Limits
from tutor.run.link import Link
from tutor.run.session import Session
from tutor.run.streams import APP, BLOCKING, OnOutput, Pace
from tutor.trace import Program, Trace

BACKEND_VARIABLE = "AUTOGRAD_TUTOR_BACKEND"
BACKENDS = ("fork", "spare")


def choose_backend(name: str | None) -> str:
    """The back end to use: as asked, else as the environment says, else what suits the system.

    Raises ValueError for a name that is none.
    """
    name = name or os.environ.get(BACKEND_VARIABLE)
    if not name:
        return "fork" if sys.platform == "linux" else "spare"
    if name not in BACKENDS:
        raise ValueError(f"{BACKEND_VARIABLE} is {name!r}; it may be {' or '.join(BACKENDS)}.")
    return name


class Runner:
    """Runs programs in processes made for them, one or several at a time.

    Every end of a run is a trace with its `end`, never an exception. `observer` names the
    module that runs in those processes: `preload()` imports, `execute(program, events_fd)`
    runs a program and returns its exit status. Where there is a `warm()` it is called in a
    child that waits; a `hurry()`, from a signal handler of a program that is to be ended: it
    sends the last events, and says whether it could.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        backend: str | None = None,
        observer: str = "tutor.observe.child",
    ) -> None:
        self.limits = limits or Limits()
        self.backend = choose_backend(backend)
        self._link = Link(self.backend, observer, self.limits)
        self._active: list[Session] = []
        self._lock = threading.Lock()
        self._closed = False
        self._at_exit = _close_at_exit(self)

    def start(self) -> None:
        """Begin to make the first process ready, and return at once."""
        self._link.start()

    @property
    def ready(self) -> bool:
        """A process waits for its program, so that a run answers at once."""
        return self._link.warm

    def run(
        self,
        program: Program,
        *,
        on_events: OnEvents | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Trace:
        """Run a program to its end.

        `on_events` is called with the trace and the events that were just added to it,
        `on_output` with a stream and bytes as they came: 1 or 2 for a script; a snippet's come
        as 1, in the order they were written. What these raise ends the run and comes out here,
        and so does KeyboardInterrupt.
        """
        session = self._session(program, on_events, on_output, cancel, BLOCKING)
        with self._taking_part(session):
            drive(session)
        return session.trace

    async def run_async(
        self,
        program: Program,
        *,
        on_events: OnEvents | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Trace:
        """The same on the running event loop, in small steps; cancelling the task ends the run."""
        session = self._session(program, on_events, on_output, cancel, APP)
        with self._taking_part(session):
            await drive_async(session)
        return session.trace

    def _session(
        self,
        program: Program,
        on_events: OnEvents | None,
        on_output: OnOutput | None,
        cancel: Cancel | None,
        pace: Pace,
    ) -> Session:
        if self._closed:
            raise RuntimeError("This runner is closed; make another one.")
        return Session(
            self._link,
            self.limits,
            program,
            on_events=on_events,
            on_output=on_output,
            cancel=cancel,
            pace=pace,
        )

    @contextmanager
    def _taking_part(self, session: Session) -> Iterator[None]:
        """Keep book of a run, and have the next process made when it is over."""
        with self._lock:
            self._active.append(session)
            if self._closed:
                session.cut()
        try:
            yield
        finally:
            with self._lock:
                self._active.remove(session)
            self._link.ask()

    def close(self) -> None:
        """End all runs and processes; returns when they are gone."""
        with self._lock:
            self._closed = True
            for session in self._active:
                session.cut()
        atexit.unregister(self._at_exit)
        self._link.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _close_at_exit(runner: Runner) -> Callable[[], None]:
    """Close the runner when Python ends, without keeping it alive until then."""
    reference = weakref.ref(runner)

    def close() -> None:
        living = reference()
        if living is not None:
            living.close()

    return atexit.register(close)
