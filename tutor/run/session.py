"""One run, from the wait for a seat to its end: a machine without a loop of its own.

Whoever drives it waits until one of `sources()` is readable or `deadline()` has come, and
then calls `step()`, until `done`. Each step takes about as long as its pace says, and waits for
nothing, except for the sweep after a warden that the program killed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from enum import IntEnum

from tutor.run import system
from tutor.run.cancel import Cancel
from tutor.run.intake import OnEvents
from tutor.run.launch import launch
from tutor.run.limits import Limits
from tutor.run.link import Link
from tutor.run.outcome import Gone, Verdict, judge, stopped
from tutor.run.protocol import BY_ITSELF, FAULT, GO, INTERRUPT, KILL, READY, WATCH
from tutor.run.scratch import remove_scratch
from tutor.run.seat import Seat
from tutor.run.streams import BLOCKING, OnOutput, Pace, Streams
from tutor.trace import End, Program, Trace

START_PATIENCE = 60.0
"""Seconds that a host or a spare gets for its imports."""
WARM_PATIENCE = 5.0
"""Seconds that a warm child gets to take its program."""
END_PATIENCE = 3.0
"""Seconds that a warden gets to end a run that it was told to end."""
LOOK = 0.25
"""Seconds between two looks for a seat, should nothing be heard of one."""
ATTEMPTS = 3
"""Seats that are tried before a run is given up; no program runs twice."""


class Phase(IntEnum):
    """How far a run is."""

    WAITING = 0  # for a seat
    ASKED = 1  # the child has been sent the program
    RUNNING = 2
    ENDING = 3  # the warden was told to end it
    DRAINING = 4  # all processes are gone, the pipes may hold something
    DONE = 5


class Session:
    """One program on its way through one seat; `trace` grows meanwhile."""

    def __init__(
        self,
        link: Link,
        limits: Limits,
        program: Program,
        *,
        on_events: OnEvents | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
        pace: Pace = BLOCKING,
    ) -> None:
        self.trace = Trace(program)
        self._link = link
        self._limits = limits
        self._program = program
        self._script = program.profile == "script"
        self._cancel = cancel or Cancel()
        self._streams = Streams(self.trace, limits, pace, on_events, on_output)
        self._phase = Phase.WAITING
        self._seat: Seat | None = None
        self._attempts = 0
        self._losses = link.losses
        self._notes: list[str] = []
        self._verdict: Verdict | None = None
        self._gone = Gone(None, BY_ITSELF, 0)
        self._interrupted = False
        self._cut = False
        self._scratch: str | None = None
        self._oom = system.oom_kills()
        self._began = time.monotonic()
        self._seconds = 0.0
        self._until: float | None = self._began + START_PATIENCE
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._cancel.subscribe(self._waker)
        self._watched: socket.socket | None = None
        self._retired: list[int | Seat | socket.socket] = []
        """To be closed when the driver no longer waits for them."""

    # -- for the driver ----------------------------------------------------------------

    @property
    def done(self) -> bool:
        """The trace has its end."""
        return self._phase is Phase.DONE

    @property
    def busy(self) -> bool:
        """There is more to do at once, readable or not."""
        return self._streams.intake.busy or self._phase is Phase.DRAINING

    def sources(self) -> frozenset[int]:
        """Descriptors to wait for; all others may be closed at the next step."""
        if self.done:
            return frozenset()
        numbers = {self._woken.fileno()}
        if self._phase is Phase.WAITING and self._watched is not None:
            numbers.add(self._watched.fileno())
        if self._seat is not None:
            numbers.add(self._seat.control.fileno())
            if self._phase is Phase.ASKED:
                numbers.add(self._seat.request.fileno())
        return frozenset(numbers.union(self._streams.sources()))

    def deadline(self) -> float | None:
        """When to step though nothing became readable (`time.monotonic`)."""
        if self._phase is Phase.WAITING:
            # Another thread that waits may have read what the host sent.
            soon = time.monotonic() + LOOK
            return soon if self._until is None else min(soon, self._until)
        return self._until

    def step(self) -> None:
        """Do what can be done without waiting."""
        self._bury()
        self._heed_cancel()
        if self._phase is Phase.WAITING:
            self._find_seat()
        if self._phase is Phase.ASKED:
            self._hear_child()
        if self._phase in (Phase.ASKED, Phase.RUNNING, Phase.ENDING):
            self._hear_warden()
        more = self._read_streams()
        if self._until is not None and time.monotonic() >= self._until:
            self._overdue()
        if self._phase is Phase.DRAINING and not more:
            self._finish()

    def stop(self, message: str) -> None:
        """End the run as cancelled, without a grace."""
        if self._phase < Phase.ENDING:
            self._verdict = self._verdict or ("cancelled", None, None, message)
            self._kill()

    def cut(self) -> None:
        """End the run now, from whatever thread, even where its driver cannot step."""
        self._cut = True
        seat = self._seat
        if seat is not None:
            seat.tell(KILL)
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")

    def abandon(self) -> None:
        """Nobody wants the result any more: end the run, and call nobody back."""
        self._streams.mute()
        self.stop("It was cancelled.")

    def close(self) -> None:
        """Let go of everything; a run that still goes on is ended by its warden."""
        self._phase = Phase.DONE
        self._link.leave(self)
        self._cancel.unsubscribe(self._waker)
        self._retire_seat()
        self._unwatch()
        self._retired += (*self._streams.drop(), self._waker, self._woken)
        self._bury()

    def _bury(self) -> None:
        while self._retired:
            old = self._retired.pop()
            if isinstance(old, int):
                os.close(old)
            else:
                old.close()

    # -- getting a seat ----------------------------------------------------------------

    def _find_seat(self) -> None:
        seat = self._link.take(self)
        if seat is None:
            self._wait_for_seat()
            return
        self._unwatch()
        self._seat = seat
        try:
            self._launch(seat)
        except (ValueError, OSError) as error:
            self._retire_seat()
            self._conclude(("error", None, None, f"The program cannot be run: {error}."))

    def _wait_for_seat(self) -> None:
        """See to it that one is on its way, from a host that lives."""
        if self._link.losses != self._losses:
            self._losses = self._link.losses
            self._attempts += 1
            self._notes = ["The process it was to start from had died and was replaced."]
            self._unwatch()
            if self._attempts >= ATTEMPTS or not self._link.running:
                self._give_up("The process that runs programs could not be started.")
                return
        self._link.ask()
        if self._watched is None:
            self._watched = self._link.watch()
            if self._watched is None:
                self._give_up("The process that runs programs could not be started.")
                return
        self._link.nudge()

    def _launch(self, seat: Seat) -> None:
        """Send the program to the child of a seat. Raises ValueError and OSError."""
        patience = WARM_PATIENCE if seat.warm else START_PATIENCE
        launched = launch(self._program, self._limits, seat)
        self._phase = Phase.ASKED
        self._until = time.monotonic() + patience
        self._streams.pipes = launched.pipes
        self._scratch = launched.scratch
        if not launched.sent:
            self._try_again()

    def _try_again(self) -> None:
        """The seat is of no use: take another, unless the program did begin."""
        assert self._seat is not None
        self._heed_child(self._seat.withdraw())
        if self._phase is not Phase.ASKED:
            return
        self._seat.tell(KILL)
        self._seat.kill_warden()
        self._retire_seat()
        self._retired += self._streams.drop()
        if self._scratch is not None:
            remove_scratch(self._scratch)
            self._scratch = None
        self._attempts += 1
        self._notes = ["The process that was to run it had died; another one ran it."]
        if self._attempts >= ATTEMPTS:
            self._give_up("The process that runs programs does not start.")
            return
        self._phase = Phase.WAITING
        self._until = time.monotonic() + START_PATIENCE
        self._find_seat()

    def _give_up(self, message: str) -> None:
        self._notes = [message, self._link.last_words]
        self._conclude(("killed", None, None, ""))

    # -- while it runs -----------------------------------------------------------------

    def _hear_child(self) -> None:
        """Whether the child has begun, and where it could not, why."""
        assert self._seat is not None
        try:
            data = self._seat.request.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._heed_child(data)

    def _heed_child(self, data: bytes) -> None:
        word = data.lstrip(READY)
        if word.startswith(GO):
            self._phase = Phase.RUNNING
            if self._seat is not None and not self._script:
                self._seat.tell(WATCH)
            self._began = time.monotonic()
            timeout = self._program.timeout
            self._until = None if timeout is None else self._began + timeout
        elif word.startswith(FAULT):
            reason = word[1:].decode("utf-8", "replace")
            self._end_as(("error", None, None, f"It could not be started: {reason}."))

    def _hear_warden(self) -> None:
        assert self._seat is not None
        word = self._seat.gone()
        if word is False:
            return
        if self._phase is Phase.ASKED:
            self._hear_child()  # It may have begun, and ended, since we last looked.
            if self._phase is Phase.ASKED:
                if word is not True and word[0] >= 0:  # It gave up, and the next one would too.
                    self._give_up("The process that runs programs could not be started.")
                else:
                    self._try_again()
            if self._phase in (Phase.WAITING, Phase.ASKED, Phase.DONE):
                return
        oom = system.oom_kills() != self._oom
        if word is True:
            self._link.sweep()
            self._gone = Gone(None, BY_ITSELF, 0, warden=False)
            if self._scratch is not None:
                remove_scratch(self._scratch)
        else:
            code, reason, left = word
            self._gone = Gone(code, reason, left, oom=oom)
        self._retire_seat()
        self._until = None
        self._seconds = time.monotonic() - self._began
        self._phase = Phase.DRAINING

    def _read_streams(self) -> bool:
        """Take in what has come; True where there may be more."""
        had_events = not self._streams.events_ended
        more = self._streams.step()
        self._retired += self._streams.ended
        self._streams.ended = []
        if had_events and self._streams.events_ended and self._seat is not None:
            self._seat.nudge()  # All is over, but a stopped warden would not say so.
        fault = self._streams.intake.fault
        if fault is not None:
            self._end_as((fault[0], None, None, fault[1]))
        return more

    # -- ending it ---------------------------------------------------------------------

    def _heed_cancel(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(64)
        if self._cut:
            self.stop("The runner was closed.")
        if not self._cancel.is_set or self._phase >= Phase.DRAINING:
            return
        if self._script and self._phase is Phase.RUNNING and not self._cancel.insists:
            if not self._interrupted and self._verdict is None:
                assert self._seat is not None
                self._interrupted = True
                self._verdict = ("cancelled", None, None, "It was interrupted.")
                self._seat.tell(INTERRUPT)
                self._until = time.monotonic() + self._limits.interrupt_grace
            return
        self.stop("It was cancelled.")

    def _end_as(self, verdict: Verdict) -> None:
        """End the run now, and call it that."""
        if self._verdict is None:
            self._verdict = verdict
        if self._phase < Phase.ENDING:
            self._kill()

    def _kill(self) -> None:
        if self._seat is None:
            assert self._verdict is not None
            self._conclude(self._verdict)
            return
        self._seat.tell(KILL)
        self._phase = Phase.ENDING
        self._until = time.monotonic() + END_PATIENCE

    def _overdue(self) -> None:
        """The deadline of the present phase has passed."""
        if self._phase is Phase.WAITING:
            self._give_up(f"No process to run it was ready within {START_PATIENCE:g} s.")
        elif self._phase is Phase.ASKED:
            self._try_again()
        elif self._phase is Phase.RUNNING:
            if self._interrupted:
                self._kill()
            else:
                message = f"It was stopped after {self._program.timeout:g} s."
                self._end_as(("timeout", None, None, message))
        elif self._phase is Phase.ENDING:
            assert self._seat is not None
            self._seat.kill_warden()
            self._until = time.monotonic() + END_PATIENCE

    def _finish(self) -> None:
        if self._verdict is None:
            self._conclude(judge(self.trace, self._gone, self._limits))
        else:
            self._conclude(stopped(self._verdict, self._gone))

    def _conclude(self, verdict: Verdict) -> None:
        outcome, code, number, message = verdict
        self.trace.end = End(
            outcome,
            code,
            number,
            self._seconds,
            self._streams.output.text(),
            self._streams.output.lost,
            " ".join(note for note in (*self._notes, message) if note),
        )
        self._phase = Phase.DONE

    def _retire_seat(self) -> None:
        if self._seat is not None:
            self._retired.append(self._seat)
            self._seat = None

    def _unwatch(self) -> None:
        if self._watched is not None:
            self._retired.append(self._watched)
            self._watched = None
