"""Two ways to bring a session to its end: in this thread, and on an event loop."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from tutor.run.session import Session

if TYPE_CHECKING:
    import asyncio


def drive(session: Session) -> None:
    """Block until the session is done. An exception (Ctrl-C) ends the run first."""
    try:
        while not session.done:
            session.step()
            if not session.done:
                _wait(session)
    except BaseException:
        _see_it_end(session)
        raise
    finally:
        session.close()


def _see_it_end(session: Session) -> None:
    """End the run and wait until its processes are gone, without calling anybody back."""
    session.abandon()
    while not session.done:
        session.step()
        if not session.done:
            _wait(session)


def _wait(session: Session) -> None:
    """Until there is something to do."""
    poller = select.poll()
    for descriptor in session.sources():
        poller.register(descriptor, select.POLLIN)
    deadline = session.deadline()
    if session.busy:
        poller.poll(0)
    elif deadline is None:
        poller.poll()
    else:
        poller.poll(max(0.0, deadline - time.monotonic()) * 1000 + 1)


async def drive_async(session: Session) -> None:
    """The same on the running event loop; cancelling the task ends the run."""
    import asyncio

    pump = _Pump(session, asyncio.get_running_loop())
    try:
        await pump.finished()
    except BaseException:
        session.abandon()
        await pump.finished()
        raise
    finally:
        pump.stop()
        session.close()


class _Pump:
    """Steps a session whenever the loop finds something to do for it."""

    def __init__(self, session: Session, loop: asyncio.AbstractEventLoop) -> None:
        self._session = session
        self._loop = loop
        self._readers: frozenset[int] = frozenset()
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.Handle | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def finished(self) -> None:
        """Wait for the end; raises what a callback raised."""
        self._waiter = self._loop.create_future()
        self._step()
        await self._waiter

    def _step(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        try:
            self._session.step()
        except BaseException as error:
            self._resolve(error)
            return
        if self._session.done:
            self._resolve(None)
            return
        self._watch(self._session.sources())
        self._set_timer(self._session.deadline())
        if self._session.busy:
            self._soon = self._loop.call_soon(self._step)

    def _watch(self, wanted: frozenset[int]) -> None:
        for descriptor in self._readers - wanted:
            self._loop.remove_reader(descriptor)
        for descriptor in wanted - self._readers:
            self._loop.add_reader(descriptor, self._step)
        self._readers = wanted

    def _set_timer(self, deadline: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            delay = max(0.0, deadline - time.monotonic())
            self._timer = self._loop.call_later(delay, self._step)

    def _resolve(self, error: BaseException | None) -> None:
        self.stop()
        if self._waiter is None or self._waiter.done():
            return
        if error is None:
            self._waiter.set_result(None)
        else:
            self._waiter.set_exception(error)

    def stop(self) -> None:
        """Wait for nothing any more."""
        self._watch(frozenset())
        self._set_timer(None)
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
