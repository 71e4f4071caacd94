"""What is written down of a learner's work, one record a line.

Records are only ever added. `at` is the time in seconds since 1970; lesson, step and card are
ids, so that wording and order of the lessons may change freely.
"""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, tag_field="k", omit_defaults=True):
    """Base of all records."""

    at: float


class Opened(Record, frozen=True, tag="opened"):
    """A step came on the screen: the place to resume at."""

    lesson: str
    step: str


class Edited(Record, frozen=True, tag="edited"):
    """The learner's code of a step, as it stood."""

    lesson: str
    step: str
    code: str


class Tried(Record, frozen=True, tag="tried"):
    """A try was decided. `revision` is the lesson's; `answer` what was chosen, as text."""

    lesson: str
    step: str
    revision: int
    status: str
    code: str = ""
    answer: str = ""
    right: bool | None = None


class Skipped(Record, frozen=True, tag="skipped"):
    """The learner took the solution and went on."""

    lesson: str
    step: str
    revision: int


class Helped(Record, frozen=True, tag="helped"):
    """A hint ("1", "2", …) or the "solution" was shown."""

    lesson: str
    step: str
    what: str


class Recalled(Record, frozen=True, tag="recalled"):
    """A recall card was answered; `good` is what the learner said of it."""

    lesson: str
    card: str
    good: bool


AnyRecord = Opened | Edited | Tried | Skipped | Helped | Recalled

_decoder = msgspec.json.Decoder(AnyRecord)
_encoder = msgspec.json.Encoder()


def encode(record: Record) -> bytes:
    """One line, with its end. JSON escapes line ends inside the code.

    What is no text (a lone surrogate in the code) is written as a question mark.
    """
    try:
        return _encoder.encode(record) + b"\n"
    except UnicodeEncodeError:
        texts = {
            name: value.encode("utf-8", "replace").decode()
            for name, value in msgspec.structs.asdict(record).items()
            if isinstance(value, str)
        }
        return _encoder.encode(msgspec.structs.replace(record, **texts)) + b"\n"


def decode(line: bytes) -> AnyRecord | None:
    """The record of a line, None where it is cut, damaged, or of a kind not known here."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
