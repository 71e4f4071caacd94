"""The difference of two states as data: what a saved trace has in the place of a gap.

Of the maps of a state only the entries that changed are told, in parts of bounded size; the rest
is small and told whole. Two states of one fold share what did not change, so identity tells.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import msgspec
from immutables import Map
from msgspec.structs import replace

from tutor.trace.fold import Checkpoint
from tutor.trace.keep import Prefix
from tutor.trace.state import State

ENTRIES = 1024
"""Entries of a map in one part."""

_HINTS = typing.get_type_hints(State)
MAPS = tuple(name for name, hint in _HINTS.items() if typing.get_origin(hint) is Map)
"""The fields of a state that are maps."""


def to_plain(value: Any) -> Any:
    """A map as pairs, a prefix as a list: what msgpack knows."""
    if isinstance(value, Map):
        return list(value.items())
    if isinstance(value, Prefix):
        return list(value)
    raise TypeError(f"cannot be saved: {type(value).__name__}")


def from_plain(hint: Any, value: Any) -> Any:
    """The reverse of `to_plain`, for a value of this type. Raises `msgspec.ValidationError`."""
    if hint is object:
        return value
    kind, args = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind is Map:
        pairs: Any = msgspec.convert(value, list[tuple[args]], dec_hook=from_plain)  # type: ignore[valid-type]
        return Map(pairs)
    if kind is Prefix:
        return Prefix(msgspec.convert(value, list[args], dec_hook=from_plain))  # type: ignore[valid-type]
    raise TypeError(f"cannot be read: {hint!r}")


_encoder = msgspec.msgpack.Encoder(enc_hook=to_plain)
_rest = msgspec.msgpack.Decoder(Checkpoint, dec_hook=from_plain)
_entries = {
    name: msgspec.msgpack.Decoder(
        list[tuple[typing.get_args(_HINTS[name])]],  # type: ignore[misc]
        dec_hook=from_plain,
    )
    for name in MAPS
}
_keys = {
    name: msgspec.msgpack.Decoder(list[typing.get_args(_HINTS[name])[0]])  # type: ignore[misc]
    for name in MAPS
}


class Part(msgspec.Struct, frozen=True, array_like=True):
    """Some entries of one map of the later state, or keys that it no longer has."""

    field: str
    entries: bytes
    removed: bytes


class Rest(msgspec.Struct, frozen=True, array_like=True):
    """All of the later checkpoint but its maps; the output and texts that the earlier has not."""

    checkpoint: bytes
    printed: tuple[tuple[int, str], ...]


def parts(before: Checkpoint, after: Checkpoint) -> Iterator[Part | Rest]:
    """What turns one checkpoint into a later one of the same run; `Rest` comes last."""
    for name in MAPS:
        old, new = getattr(before.state, name), getattr(after.state, name)
        changed = [(key, value) for key, value in new.items() if old.get(key) is not value]
        removed = [key for key in old if key not in new]
        for start in range(0, max(len(changed), len(removed)), ENTRIES):
            end = start + ENTRIES
            yield Part(
                name,
                _encoder.encode(changed[start:end]),
                _encoder.encode(removed[start:end]),
            )
    emptied: dict[str, Any] = dict.fromkeys(MAPS, Map())
    known = before.texts
    yield Rest(
        _encoder.encode(
            replace(
                after,
                state=replace(after.state, output=Prefix(), **emptied),
                texts={file: text for file, text in after.texts.items() if known.get(file) != text},
            )
        ),
        tuple(after.state.output[len(before.state.output) :]),
    )


class Patch:
    """Gathers the parts, and applies them. Raises `msgspec.MsgspecError` at what is not one."""

    def __init__(self, before: Checkpoint) -> None:
        self._before = before
        self._maps = {name: getattr(before.state, name).mutate() for name in MAPS}

    def add(self, part: Part) -> None:
        """Take one part."""
        if part.field not in self._maps:
            raise msgspec.ValidationError(f"there is no map {part.field!r}")
        mutation = self._maps[part.field]
        for key, value in _entries[part.field].decode(part.entries):
            mutation[key] = value
        for key in _keys[part.field].decode(part.removed):
            mutation.pop(key, None)

    def finish(self, rest: Rest) -> Checkpoint:
        """The later checkpoint."""
        after = _rest.decode(rest.checkpoint)
        output = self._before.state.output
        for piece in rest.printed:
            output = output.appended(piece)
        maps: dict[str, Any] = {name: mutation.finish() for name, mutation in self._maps.items()}
        state = replace(after.state, output=output, **maps)
        return replace(after, state=state, texts={**self._before.texts, **after.texts})
