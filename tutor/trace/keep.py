"""Collections that a fold grows and that its states keep without copying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

from immutables import Map

T = TypeVar("T")

HEAD_EVENTS = 32 * 1024
"""Events at the beginning of a run that are always kept, and what they speak of with them."""


class Prefix(Sequence[T]):
    """The first `count` items of a list that only ever grows."""

    __slots__ = ("_count", "_items")

    def __init__(self, items: list[T] | None = None, count: int | None = None) -> None:
        self._items: list[T] = [] if items is None else items
        self._count = len(self._items) if count is None else count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return self._items[: self._count][index]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._items[index + self._count if index < 0 else index]

    def __iter__(self) -> Iterator[T]:
        for index in range(self._count):
            yield self._items[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(other) == self._count and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Prefix({list(self)!r})"

    def appended(self, item: T) -> Prefix[T]:
        """One item more. Shares the list where this is its newest prefix, else copies."""
        items = self._items if len(self._items) == self._count else self._items[: self._count]
        items.append(item)
        return Prefix(items, self._count + 1)


class Queue:
    """The latest numbers put in, at most `limit`; `frozen` shares structure with later ones."""

    __slots__ = ("_first", "_items", "_limit", "_next")

    def __init__(self, limit: int, frozen: Map[int, int] | None = None) -> None:
        frozen = Map() if frozen is None else frozen
        self._limit = limit
        self._items = frozen.mutate()
        self._first = min(frozen, default=0)
        self._next = self._first + len(frozen)

    def push(self, number: int) -> int | None:
        """Put one in; gives the one that falls out, if any does."""
        self._items[self._next] = number
        self._next += 1
        if self._next - self._first <= self._limit:
            return None
        out = self._items.pop(self._first)
        self._first += 1
        return out

    def freeze(self) -> Map[int, int]:
        """What it holds now, by position."""
        frozen = self._items.finish()
        self._items = frozen.mutate()
        return frozen
