"""`with tutor.watch() as run:` watches the lines of a block, and what they call."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
import types
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from tutor.attach import keeping
from tutor.attach.buffer import Buffer
from tutor.attach.streams import Streams, encodable
from tutor.explain import Finding, findings, words
from tutor.observe import inside
from tutor.observe.tracebacks import cut
from tutor.trace import End, Trace
from tutor.trace import events as ev
from tutor.trace.trace import Outcome

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep

_lock = threading.Lock()
_running: list[str] = []
"""Where the region that is watched now began."""


Save = bool | str | os.PathLike[str]


def watch(*, save: Save = True) -> Run:
    """Watch a block: `with tutor.watch() as run:`, then `print(run.report())`.

    An exception passes through and leaves a trace file, which `autograd-tutor explain FILE`
    opens on any machine; its path is printed to stderr. `save` is a path where the trace goes
    whatever the end, or False for no file. Raises `RuntimeError` if a region is watched already.
    """
    return Run(save)


class Run:
    """A region that is watched, and what came of it."""

    def __init__(self, save: Save = True) -> None:
        self._save = save
        self._buffer: Buffer | None = None
        self._inside: inside.Inside | None = None
        self._streams: Streams | None = None
        self._began = 0.0
        self._state = "new"
        self._end: End | None = None
        self.file: str | None = None
        """Where the trace was saved, if it was."""
        self.failures = 0
        """Failures of the observer's own that were kept from the program."""

    # -- the region ----------------------------------------------------------------------------

    def __enter__(self) -> Run:
        frame = _caller()
        folder = _folder(frame.f_code.co_filename)
        self.begin(frame, frame.f_code.co_filename, inside.source_of(frame), folder)
        return self

    def begin(
        self,
        frame: types.FrameType | None,
        file: str,
        text: str,
        folder: str,
        namespace: dict[str, Any] | None = None,
    ) -> None:
        """Begin to watch a frame, or (None) the code of this namespace that runs next."""
        if self._state != "new":
            raise RuntimeError("This region was watched already. Call tutor.watch() for each.")
        if inside.watched_already() and not _running:
            self._state = "explained"  # the whole script is being explained: no second observer
            return
        where = f"{os.path.basename(file)}, line {frame.f_lineno}" if frame is not None else file
        with _lock:
            if _running:
                raise RuntimeError(
                    f"A region is being watched already, since {_running[0]}. "
                    "End it before the next begins: one at a time."
                )
            _running.append(where)
        try:
            names = namespace if namespace is not None else frame.f_globals if frame else {}
            self._buffer = Buffer()
            self._inside = inside.Inside(self._buffer, file, text, folder, names)
            self._buffer.trace.program = self._inside.program
            self._streams = Streams(self._buffer)
            self._streams.start()
            self._began = time.perf_counter()
            self._state = "watching"
            self._inside.start(frame)
        except BaseException:
            self._release()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish(error, trace)

    def finish(self, error: BaseException | None, trace: TracebackType | None) -> None:
        """End watching; `error` is what ended the region, if anything did."""
        if self._state != "watching":
            return
        assert self._inside is not None
        assert self._buffer is not None
        self._inside.stop()
        seconds = time.perf_counter() - self._began
        try:
            self._tell_end(error, trace, seconds)
        finally:
            self._release()
        self.failures = self._inside.failures
        self._inside = None
        self._leave_file(error)

    def _release(self) -> None:
        """Let everything go that belongs to the process."""
        if self._streams is not None:
            self._streams.stop()
        if self._state == "watching":
            self._state = "over"
        _running.clear()

    def _tell_end(
        self, error: BaseException | None, trace: TracebackType | None, seconds: float
    ) -> None:
        assert self._buffer is not None
        assert self._inside is not None
        outcome: Outcome = "ok"
        code = 0
        if isinstance(error, SystemExit):
            outcome = "exited"
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif isinstance(error, KeyboardInterrupt):
            outcome, code = "cancelled", 1
        elif error is not None and not isinstance(error, GeneratorExit):
            outcome, code = "error", 1
            with contextlib.suppress(Exception):
                cut(trace)
            self._buffer.add(
                ev.Raised(
                    type(error).__name__,
                    _message(error),
                    self._inside.frames_of(trace),
                    _printed(error, trace),
                )
            )
        how = {"ok": "ok", "exited": "exited"}.get(outcome, "error")
        self._buffer.add(ev.Finished(how, code, seconds))
        self._buffer.finish()
        assert self._streams is not None
        text = "".join(self._streams.text)
        self._end = End(outcome, code, None, seconds, text, self._streams.lost)

    def _leave_file(self, error: BaseException | None) -> None:
        """Save the trace where it was asked for, or after an exception."""
        failed = isinstance(error, Exception | KeyboardInterrupt)
        if self._save is False or (self._save is True and not failed):
            return
        place = None if self._save is True else Path(self._save)
        try:
            self.file = str(keeping.save(self.trace, place))
        except Exception as trouble:  # never in the way of the program's own exception
            print(f"autograd-tutor: the trace could not be saved: {trouble}", file=sys.stderr)
            return
        if failed:
            print(
                f"autograd-tutor: what happened is in {self.file}\n"
                f"    autograd-tutor explain {self.file}",
                file=sys.stderr,
            )

    # -- what came of it -------------------------------------------------------------------------

    @cached_property
    def trace(self) -> Trace:
        """The events of the region. Raises `RuntimeError` while it is being watched."""
        if self._state in ("new", "watching"):
            raise RuntimeError("The region is not over yet: ask after the with block.")
        if self._buffer is None:
            return Trace()
        trace = self._buffer.folded()
        trace.end = self._end
        self._buffer = None
        return trace

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What went wrong, or is worth knowing; the root cause first."""
        return tuple(findings(self.trace)) if self._state != "explained" else ()

    def report(self, *, color: bool = False, width: int = 88) -> str:
        """The findings with their code, as text."""
        if self._state == "explained":
            return "The whole script is being explained, so this region has no report of its own."
        from tutor.report import text

        return text.render(self, color=color, width=width)

    def html(self) -> str:
        """One page with code, findings, graph, versions and a time slider."""
        from tutor.report import html

        return html.render(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file that `autograd-tutor explain FILE` opens."""
        keeping.save(self.trace, Path(path))

    def __repr__(self) -> str:
        if self._state in ("new", "watching"):
            return f"<tutor.watch: {'not begun' if self._state == 'new' else 'watching'}>"
        titles = [words(one).title.replace("`", "") for one in self.findings]
        return f"<tutor.watch: {'; '.join(titles) or 'nothing wrong was found'}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        over = self._state not in ("new", "watching")
        printer.text(self.report() if over and not cycle else repr(self))

    def _repr_html_(self) -> str | None:
        if self._state in ("new", "watching", "explained"):
            return None
        from tutor.report.escape import escaped

        page = escaped(self.html())
        return (
            '<iframe title="autograd-tutor" sandbox="allow-scripts" '
            'style="width:100%;height:44rem;border:1px solid #8888" '
            f'srcdoc="{page}"></iframe>'
        )


def _caller() -> types.FrameType:
    """The frame of the `with` statement: the nearest that is neither ours nor contextlib's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(_PACKAGE)
        or frame.f_code.co_filename == contextlib.__file__
    ):
        frame = frame.f_back
    return frame


def _folder(file: str) -> str:
    """Whose files are the user's: this folder if it holds the file, else the file's own."""
    here = os.getcwd()
    path = os.path.abspath(file)
    return here if path.startswith(here + os.sep) else os.path.dirname(path)


def _message(error: BaseException) -> str:
    try:
        return encodable(str(error)[:20_000])
    except Exception:
        return "<the message could not be read>"


def _printed(error: BaseException, trace: TracebackType | None) -> str:
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
        return encodable(text[:200_000])
    except Exception:
        return f"{type(error).__name__}\n"
