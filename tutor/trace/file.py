"""A trace as a file: saved on one machine, opened on any other, without torch and without running.

A first line says what it is and in which format. Then comes one zlib stream of records, each with
its length and a checksum and flushed by itself, so that a file that was cut off, or damaged, opens
up to there. A record is the program, some events, the difference that a gap made, or the end.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from tutor.trace.delta import Part, Patch, Rest, from_plain, parts, to_plain
from tutor.trace.events import AnyEvent, GradRead
from tutor.trace.program import Program
from tutor.trace.state import Site
from tutor.trace.trace import End, Trace

FORMAT = 1
"""Raised whenever an older version of this module could misread what this one writes."""

NAME = b"autograd-tutor trace "

MAX_RECORD = 128 * 1024 * 1024
"""Bytes of one record at most."""

MAX_WHOLE = 2 * 1024 * 1024 * 1024
"""Bytes of all records at most, uncompressed."""

_PIECE = 256 * 1024
_HEAD = struct.Struct("<II")

CUT = "The file is cut off: it tells of the run up to there, and not how it ended."
DAMAGED = "The file is damaged: it tells of the run up to there, and not how it ended."


class Unreadable(Exception):
    """The file cannot be opened; the text says what to do."""


class Head(msgspec.Struct, frozen=True, tag="head"):
    """What was run, and the paths of library frames that the events name."""

    program: Program | None
    vias: dict[int, tuple[tuple[str, str], ...]]


class Batch(msgspec.Struct, frozen=True, tag="events"):
    """Events in a row."""

    events: list[AnyEvent]


class Changed(msgspec.Struct, frozen=True, tag="part"):
    """A part of what changed in a gap."""

    part: Part


class Jump(msgspec.Struct, frozen=True, tag="gap"):
    """The end of a gap: the rest of the change, and what of the gap is kept."""

    rest: Rest
    left: list[tuple[int, AnyEvent]]
    reads: list[tuple[GradRead, int, Site]]


class Foot(msgspec.Struct, frozen=True, tag="foot"):
    """The end of the file: how the run ended, and how much the observer left out."""

    end: End | None
    events: int
    values: int


Record = Head | Batch | Changed | Jump | Foot

_encoder = msgspec.msgpack.Encoder(enc_hook=to_plain)
_decoder = msgspec.msgpack.Decoder(Record, dec_hook=from_plain)


def is_trace(path: Path) -> bool:
    """Whether a file begins as a saved trace does, of whatever format. Raises OSError."""
    with path.open("rb") as stream:
        return stream.read(len(NAME)) == NAME


def save(trace: Trace, path: Path) -> None:
    """Write a trace to a file, which is there whole or not at all. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as stream:
            write(trace, stream)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write(trace: Trace, stream: BinaryIO) -> None:
    """Write a trace to a binary stream."""
    stream.write(NAME + b"%d\n" % FORMAT)
    packer = zlib.compressobj(6)
    for record in _records(trace):
        body = _encoder.encode(record)
        stream.write(packer.compress(_HEAD.pack(len(body), zlib.crc32(body)) + body))
        stream.write(packer.flush(zlib.Z_SYNC_FLUSH))
    stream.write(packer.flush())


def _records(trace: Trace) -> Iterator[Record]:
    yield Head(trace.program, trace.vias)
    for stretch in trace.stretches():
        if stretch.gap is not None:
            for part in parts(*stretch.gap):
                if isinstance(part, Part):
                    yield Changed(part)
                else:
                    yield Jump(part, stretch.left, stretch.reads)
        yield Batch(stretch.events)
    yield Foot(trace.end, *trace.left_out)


def load(path: Path) -> Trace:
    """Open a saved trace. Raises OSError and `Unreadable`."""
    with path.open("rb") as stream:
        return read(stream, str(path))


def read(stream: BinaryIO, name: str = "This file") -> Trace:
    """The trace in a binary stream, up to where it is cut off or damaged (its end says so).

    Raises `Unreadable` where it is none, of a newer format, too large, or cut off before its
    first record.
    """
    _check_format(stream.readline(64), name)
    trace: Trace | None = None
    patch: Patch | None = None
    trouble = ""
    try:
        for record in _read_records(stream, name):
            if trace is None:
                if not isinstance(record, Head):
                    raise _Fault(DAMAGED)
                trace = Trace(record.program, bounded=False)
                trace.vias.update(record.vias)
            elif isinstance(record, Batch):
                trace.extend(record.events)
            elif isinstance(record, Changed):
                patch = patch or Patch(trace.checkpoint())
                patch.add(record.part)
            elif isinstance(record, Jump):
                patch = patch or Patch(trace.checkpoint())
                trace.skip(patch.finish(record.rest), record.left, record.reads)
                patch = None
            elif isinstance(record, Foot):
                trace.end = record.end
                trace.left_out = (record.events, record.values)
                return trace
        trouble = CUT
    except _Fault as fault:
        trouble = str(fault)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError, ValueError):
        trouble = DAMAGED
    if trace is None:
        raise Unreadable(f"{name} is cut off before it tells anything. Save the trace again.")
    trace.end = End("cancelled", output=trace.last.text, message=trouble, cut=True)
    return trace


class _Fault(Exception):
    """What follows cannot be read; the text says why."""


def _check_format(line: bytes, name: str) -> None:
    if not line.startswith(NAME):
        raise Unreadable(f"{name} is no saved trace. Name a Python script, or a saved trace.")
    number = line[len(NAME) :].strip()
    if not number.isdigit() or not line.endswith(b"\n"):
        raise Unreadable(f"{name} is cut off before it tells anything. Save the trace again.")
    if int(number) > FORMAT:
        raise Unreadable(
            f"{name} was saved by a newer autograd-tutor (format {int(number)}; this one reads "
            f"format {FORMAT}). Install a newer version to open it."
        )


def _read_records(stream: BinaryIO, name: str) -> Iterator[Record]:
    """The records, up to the end of the stream."""
    unpacker = zlib.decompressobj()
    buffer = bytearray()
    whole = 0
    while True:
        data = unpacker.unconsumed_tail or stream.read(_PIECE)
        if not data:
            return
        try:
            buffer += unpacker.decompress(data, 4 * _PIECE)
        except zlib.error as error:
            raise _Fault(DAMAGED) from error
        position = 0
        while len(buffer) - position >= _HEAD.size:
            size, checksum = _HEAD.unpack_from(buffer, position)
            if size > MAX_RECORD:
                raise _Fault(DAMAGED)
            end = position + _HEAD.size + size
            if len(buffer) < end:
                break
            body = bytes(buffer[position + _HEAD.size : end])
            if zlib.crc32(body) != checksum:
                raise _Fault(DAMAGED)
            whole += size
            if whole > MAX_WHOLE:
                raise Unreadable(f"{name} is too large: it holds more than 2 GiB.")
            yield _decoder.decode(body)
            position = end
        del buffer[:position]
