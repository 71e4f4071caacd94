"""What a paste holds: errors with their tracebacks, warnings, and text that is neither."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Literal

from tutor.explain.why import frames as fr
from tutor.explain.why.clean import Line
from tutor.explain.why.frames import Frame

Link = Literal["", "while", "cause"]


@dataclass(frozen=True, slots=True)
class Forward:
    """What anomaly mode says of one forward call: the op's node, and where it was called."""

    op: str
    frames: tuple[Frame, ...]
    said: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """An error or a warning, or loose text (`type` is "").

    `frames` are the outermost first. `link` says how it hangs together with the report
    before it: raised while that was handled, or because of it.
    """

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    warning: bool = False
    forwards: tuple[Forward, ...] = ()
    link: Link = ""
    rank: str = ""


_ENDINGS = (
    "Error|Exception|Warning|Interrupt|Exit|Iteration|Fault|Timeout|Killed|Failure|Exceeded"
    "|Mismatch|Group|Cancelled|Abort|Empty|Full"
)
_HEADER = re.compile(
    rf"\s*(?:E\s{{2,}}|│ ?)?(?:[Uu]ncaught |Unhandled )?(?:exception: )?"
    rf"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:{_ENDINGS}))(?::(?=\s|$)\s*(?P<message>.*))?\s*$"
)
_ANY_HEADER = re.compile(r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?::\s(?P<message>.*)|)\s*$")
_IPYTHON = re.compile(r"\s*(?P<type>[A-Za-z_][\w.]*)\s{2,}Traceback \(most recent call last\)")
_TRACEBACK = re.compile(
    r".*?(?:Traceback|TorchScript) \((?:most recent call last|innermost last)\)|\s*-{20,}\s*$"
)
_WARNING = re.compile(
    r"\s*(?P<file>(?:[A-Za-z]:)?[^:\n]+?):(?P<line>\d+): (?P<type>\w*Warning): ?(?P<message>.*)$"
)
_C_WARNING = re.compile(r"\s*\[W[^\]]*\](?: Warning:)? (?P<message>.*)$")
_C_ERROR = re.compile(r"\s*what\(\):\s+(?P<message>.*)$")
_FORWARD = re.compile(
    r"(?:(?:Error detected in|was induced by) (?P<op>[\w:.]+?)\.?\s+)?"
    r"(?:Traceback of forward call that|No forward pass information available)"
)
_LINKS: tuple[tuple[str, Link], ...] = (
    ("During handling of the above exception", "while"),
    ("The above exception was the direct cause", "cause"),
)
_RULE = re.compile(r"\s*(?:[=_*-]{4,}|(?:_ ){4,}|[╭╰─╮╯]{4,})")
_SUMMARY = re.compile(r"(?:FAILED|ERROR) (?P<where>\S+)(?: - (?P<rest>.*))?$")
_INTERNAL = re.compile(r"\s*(?:return )?(?:Variable\._execution_engine|_engine_run_backward)")

MOST_ROWS = 60
"""Rows of one message that are read."""


def reports(lines: list[Line]) -> list[Report]:
    """The reports of a paste in its order; those of several processes one process at a time."""
    ranks = list(dict.fromkeys(line.rank for line in lines if line.text.strip()))
    found: list[Report] = []
    for rank in ranks:
        reader = _Reader(rank)
        for line in lines:
            if line.rank == rank:
                reader.row(line.text)
        found += reader.end()
    return found


@dataclass
class _Reader:
    rank: str
    done: list[Report] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    type: str = ""
    message: list[str] | None = None
    """The rows of the message that is being read; None outside of one."""
    warning: bool = False
    forwards: list[tuple[str, str, list[Frame]]] = field(default_factory=list)
    """Sentence, op and frames of what anomaly mode printed."""
    in_forward: bool = False
    loose: list[str] = field(default_factory=list)
    link: Link = ""
    source: str | None = None
    """The row that pytest marked with `>`."""
    wants_text: bool = False
    traceback: bool = False

    def row(self, row: str) -> None:
        if not row.strip():
            self._blank()
            return
        if self._start(row) or self._frame(row) or self._head(row):
            return
        if self.message is not None:
            if (
                self._warned_source(row)
                or _RULE.match(row)
                or _INTERNAL.match(row)
                or len(self.message) >= MOST_ROWS
            ):
                self._finish()
            else:
                self.message.append(re.sub(r"^\s*E\s{2,}|^\s*│|│\s*$", "", row))
            return
        if self.wants_text and not self._source(row):
            return
        if self.frames and self.traceback:
            return  # a row of source that belongs to a frame
        if not _RULE.match(row):
            self.loose.append(row)

    def end(self) -> list[Report]:
        self._finish()
        self._paragraph()
        if self.frames:
            self.done.append(
                Report("", "", tuple(self.frames), False, self._forwards(), self.link, self.rank)
            )
        else:
            for one in self._forwards():
                self.done.append(Report("UserWarning", one.said, (), True, (one,), rank=self.rank))
        return self.done

    # --- what a row can be ---------------------------------------------------------

    def _start(self, row: str) -> bool:
        """The start of a traceback, of a summary, or the words between two tracebacks."""
        for words, link in _LINKS:
            if words in row:
                self._finish()
                self.link, self.frames = link, []
                return True
        forward = _FORWARD.search(row)
        if forward is not None:
            self._open_forward(row, forward["op"] or "")
            return True
        ipython = _IPYTHON.match(row)
        if ipython or _TRACEBACK.match(row):
            if re.match(r"\s*-{20,}\s*$", row) and not self._between():
                return False
            self._finish()
            self.traceback, self.in_forward, self.frames = True, False, []
            return True
        summary = _SUMMARY.match(row)
        if summary is not None:
            self._finish()
            self.frames = []
            if summary["rest"]:
                self._head(summary["rest"])
                self._finish()
            return True
        return False

    def _between(self) -> bool:
        return self.message is not None or self.traceback

    def _open_forward(self, row: str, op: str) -> None:
        if self.message == []:
            self.message = None  # the warning's name stands in a line of its own
        self._finish()
        self._paragraph()
        before = _WARNING.match(row) or _C_WARNING.match(row)
        self.forwards.append((before["message"] if before else row.strip(), op, []))
        self.in_forward = True

    def _target(self) -> list[Frame]:
        """Where the next frame belongs."""
        return self.forwards[-1][2] if self.in_forward else self.frames

    def _frame(self, row: str) -> bool:
        found = fr.frame(row)
        if found is None:
            return self._arrow(row)
        frame, raised = found
        self.wants_text = True
        if self.source is not None and frame.file.endswith(".py"):
            frame, self.source = dataclasses.replace(frame, text=self.source), None
            self.wants_text = False
        if raised and self._attach(frame, raised):
            return True
        self._finish()
        self._paragraph()
        self._target().append(frame)
        self.traceback = True
        return True

    def _attach(self, frame: Frame, raised: str) -> bool:
        """Pytest after the error."""
        self._finish()
        if self.done and self.done[-1].type.rpartition(".")[2] == raised.rpartition(".")[2]:
            last = self.done[-1]
            self.done[-1] = dataclasses.replace(last, frames=(*last.frames, frame))
            self.wants_text = self.traceback = False
            return True
        return False

    def _arrow(self, row: str) -> bool:
        pointed = fr.arrow(row)
        target = self._target()
        if pointed is None or not target or self.message is not None:
            return False
        last = target[-1]
        if last.line not in (0, pointed[0]):
            return True  # it belongs to a frame that was not understood
        target[-1] = dataclasses.replace(last, line=last.line or pointed[0], text=pointed[1])
        self.wants_text = False
        return True

    def _source(self, row: str) -> bool:
        """Take the row under a frame as its source. True if it is something else."""
        target = self._target()
        if not target or not row.startswith((" ", "\t")):
            return not (fr.underline(row))
        if re.match(r"\s*(?:│\s*)?\d+ ", row) and not target[-1].text:
            return False  # a numbered row before the one that is pointed at
        if not target[-1].text:
            target[-1] = dataclasses.replace(target[-1], text=row.strip())
        self.wants_text = False
        return False

    def _head(self, row: str) -> bool:
        """An error's or a warning's own line."""
        marked = re.match(r">\s{2,}(.*)", row)
        if marked:
            self.source = marked[1].strip()
            return True
        warning = _WARNING.match(row)
        if warning is not None:
            self._begin(warning["type"], warning["message"], warning=True)
            self.frames = [Frame(warning["file"].strip(), int(warning["line"]), "")]
            return True
        for shape, name in ((_C_WARNING, "Warning"), (_C_ERROR, "c10::Error")):
            found = shape.match(row)
            if found is not None and not (name == "c10::Error" and not found["message"]):
                self._begin(name, found["message"], warning=name == "Warning")
                return True
        header = _HEADER.match(row)
        if header is None and self.frames and self.traceback and not row.startswith((" ", "\t")):
            header = _ANY_HEADER.match(row)
        if header is None or not self._acceptable(header, row):
            return False
        self._begin(header["type"], header["message"] or "", header["type"].endswith("Warning"))
        return True

    def _acceptable(self, header: re.Match[str], row: str) -> bool:
        """A bare name is an error's line only at the end of a traceback."""
        if header["message"] is None:
            return bool(self.frames) or row.startswith("E ")
        # `except ValueError: …` and the like are source, not reports.
        return not (self.message is not None and self.type == header["type"] and not self.frames)

    def _warned_source(self, row: str) -> bool:
        """Take the row under a warning, which shows the line that it is about."""
        if not (self.warning and self.frames and re.match(r" {2,4}\S", row)):
            return False
        self.frames[-1] = dataclasses.replace(self.frames[-1], text=row.strip())
        return True

    # --- putting reports together --------------------------------------------------

    def _begin(self, kind: str, message: str, warning: bool = False) -> None:
        self._finish()
        self._paragraph()
        self.type, self.message, self.warning = kind, [message] if message else [], warning
        self.wants_text = self.in_forward = False
        self.source = None

    def _blank(self) -> None:
        if self.message:
            self._finish()
        if self.message is None and not (self.frames and self.traceback):
            self._paragraph()

    def _finish(self) -> None:
        """Close the message that is being read."""
        if self.message is None:
            return
        forwards = () if self.warning else self._forwards()
        self.done.append(
            Report(
                self.type,
                "\n".join(self.message).strip(),
                tuple(self.frames),
                self.warning,
                forwards,
                self.link,
                self.rank,
            )
        )
        if not self.warning:
            self.forwards = []
        self.message, self.frames, self.link = None, [], ""
        self.warning = self.traceback = False

    def _forwards(self) -> tuple[Forward, ...]:
        return tuple(Forward(op, tuple(found), said) for said, op, found in self.forwards)

    def _paragraph(self) -> None:
        text = "\n".join(self.loose).strip()
        self.loose = []
        if text:
            self.done.append(Report("", text, rank=self.rank))
