"""What the processes of a run say to each other, over Unix sockets.

Four kinds of process: the *app* (ours), the *host* that makes seats, and for each seat a
*warden* and its *child*. A seat is a child that waits for a program. The app holds two
sockets of each seat: `request` leads to the child, `control` to the warden.

* host → app: a `SEAT` record with the two sockets, or `SWEPT`; app → host: `MORE`, `SWEEP`.
* app → child: one byte with descriptors (request file, stdin, stdout, stderr, events);
  child → app: `READY` when warm, then `GO` or `FAULT` and a text. Where `GO` cannot be sent,
  the app has closed its end, and the program does not run.
* app → warden: commands that end with NUL; warden → app: one `GONE` record, then end of file.

Everybody takes the end of file of the app's end for "the app is gone": end everything.
"""

from __future__ import annotations

import os
import struct
import tempfile
from typing import IO

import msgspec

from tutor.run.limits import Limits
from tutor.trace.program import Program

RECORD = struct.Struct("<cI")
"""From the host: what it is, and the warden's process id."""
SEAT, SWEPT = b"S", b"s"
MORE, SWEEP = b"+", b"s"

READY, GO, FAULT = b"R", b"G", b"F"

FOLDER, WATCH, INTERRUPT, KILL = b"f", b"w", b"i", b"k"
"""To the warden: the scratch folder to remove in the end (its name follows); count what the
program uses from now on; interrupt it; end it."""
END = b"\0"

GONE = struct.Struct("<icI")
"""From the warden: exit code (or minus the signal), why it ended the run, what was left."""
BY_ITSELF, TOO_MANY, TOO_MUCH = b"-", b"d", b"m"


class Config(msgspec.Struct, frozen=True):
    """What a host is told when it starts. `control` is a descriptor."""

    control: int
    backend: str
    observer: str
    limits: Limits
    mark: int


class Request(msgspec.Struct, frozen=True):
    """What a child is told: the program and its surroundings, as bytes where the system's are.

    `environ` is None where the host's own environment stays. `folder` becomes the current one.
    """

    program: Program
    folder: bytes
    environ: dict[bytes, bytes] | None
    limits: Limits | None


def encode_request(request: Request) -> bytes:
    """A request as bytes. Raises ValueError where the program is not plain Unicode data."""
    try:
        return msgspec.msgpack.encode(request)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error


request_decoder = msgspec.msgpack.Decoder(Request)


def nameless_file() -> IO[bytes]:
    """An empty file that vanishes when it is closed; in memory, where a full disk is no matter."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("autograd-tutor"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def write_file(data: bytes) -> int:
    """A descriptor of a nameless file that holds these bytes, at its start.

    A file, not a socket: a long program must not wait for its reader.
    """
    with nameless_file() as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        file.seek(0)
        return os.dup(file.fileno())


def read_file(descriptor: int) -> bytes:
    """All of a file, which is closed."""
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
