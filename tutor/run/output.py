"""What a run wrote to its descriptors: bounded, and readable as text."""

from __future__ import annotations

import codecs
from collections import deque

_PICTURES = {code: 0x2400 + code for code in range(0x20)}
_PICTURES[0x7F] = 0x2421
# C1 controls act like escape sequences in some terminals, and bidirectional marks and line
# separators change how the text around them reads.
_UNSEEN = (*range(0x80, 0xA0), 0x061C, *range(0x200E, 0x2010), *range(0x2028, 0x202F))
_PICTURES |= dict.fromkeys((*_UNSEEN, *range(0x2066, 0x206A)), 0xFFFD)
del _PICTURES[ord("\n")], _PICTURES[ord("\t")]

GAP = "\n[… {lost} bytes of output left out …]\n"


def visible(text: str) -> str:
    """The text with control characters as signs (ESC is ␛); newline and tab stay."""
    return text.replace("\r\n", "\n").translate(_PICTURES)


class Output:
    """Keeps the first and the last part of what comes, in order of arrival.

    Memory stays within about twice `limit` bytes however much is written.
    """

    def __init__(self, limit: int) -> None:
        self._head: list[tuple[int, bytes]] = []
        self._head_room = limit - limit // 2
        self._tail: deque[tuple[int, bytes]] = deque()
        self._tail_size = 0
        self._tail_limit = limit // 2
        self.lost = 0

    def add(self, stream: int, data: bytes) -> None:
        """Take bytes that came on a stream (1 or 2)."""
        if self._head_room:
            part = data[: self._head_room]
            self._head.append((stream, part))
            self._head_room -= len(part)
            data = data[len(part) :]
        if not data:
            return
        if len(data) > self._tail_limit:
            cut = len(data) - self._tail_limit
            self.lost += cut
            data = data[cut:]
        self._tail.append((stream, data))
        self._tail_size += len(data)
        while self._tail_size > self._tail_limit:
            first, oldest = self._tail.popleft()
            extra = self._tail_size - self._tail_limit
            dropped = min(extra, len(oldest))
            if dropped < len(oldest):
                self._tail.appendleft((first, oldest[dropped:]))
            self._tail_size -= dropped
            self.lost += dropped

    def text(self) -> str:
        """All that was kept, decoded as UTF-8; bytes that are not become U+FFFD."""
        if not self.lost:
            return visible(_decode([*self._head, *self._tail]))
        gap = GAP.format(lost=self.lost)
        return visible(_decode(self._head)) + gap + visible(_decode(self._tail))


def _decode(chunks: list[tuple[int, bytes]] | deque[tuple[int, bytes]]) -> str:
    """Each stream by its own decoder: a character may be cut by the other stream's bytes."""
    decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in (1, 2)}
    parts = [decoders[stream].decode(data) for stream, data in chunks]
    parts += [decoder.decode(b"", final=True) for decoder in decoders.values()]
    return "".join(parts)
