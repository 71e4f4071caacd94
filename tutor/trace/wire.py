"""Events as bytes: frames of a four-byte length and a msgpack list of events.

The bytes come from a process that runs anybody's code, so decoding is typed and bounded:
anything else than well-formed events raises `Garbled`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import msgspec

from tutor.trace.events import AnyEvent, Event

MAX_FRAME = 16 * 1024 * 1024
"""Bytes in one frame at most; the observer cuts its batches far below this."""

_LENGTH = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[AnyEvent])


class Garbled(Exception):
    """The bytes are not events."""


def encode(events: Iterable[Event]) -> bytes:
    """One frame that holds these events."""
    body = _encoder.encode(list(events))
    return _LENGTH.pack(len(body)) + body


class Reader:
    """Turns a stream of bytes, cut anywhere, into events."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[AnyEvent]:
        """The events completed by these bytes.

        Raises `Garbled` at a bad frame; the events before it are returned first, and the next
        call raises.
        """
        self._buffer += data
        events: list[AnyEvent] = []
        position = 0
        while len(self._buffer) - position >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._buffer, position)
            if size > MAX_FRAME:
                if events:
                    break
                raise Garbled(f"a frame of {size} bytes was announced, {MAX_FRAME} is the most")
            end = position + _LENGTH.size + size
            if len(self._buffer) < end:
                break
            try:
                events += _decoder.decode(bytes(self._buffer[position + _LENGTH.size : end]))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                if events:
                    break
                raise Garbled(str(error)) from error
            position = end
        del self._buffer[:position]
        return events

    @property
    def pending(self) -> int:
        """Bytes of a frame that has not come whole."""
        return len(self._buffer)
