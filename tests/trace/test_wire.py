"""Events as bytes: what goes in comes out, and anything else is refused."""

from __future__ import annotations

import struct

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trace.streams import EVENT_TYPES, any_events, event_of, founding_run
from tutor.trace import events as ev
from tutor.trace.wire import MAX_FRAME, Garbled, Reader, encode


@given(st.lists(any_events, max_size=4), st.data())
def test_what_was_encoded_comes_out_however_the_stream_is_cut(
    batches: list[list[ev.AnyEvent]], data: st.DataObject
) -> None:
    stream = b"".join(encode(batch) for batch in batches)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=5).map(sorted))
    reader = Reader()
    got: list[ev.AnyEvent] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        got += reader.feed(stream[start:end])
    assert got == [event for batch in batches for event in batch]
    assert reader.pending == 0


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
@settings(max_examples=15)
@given(data=st.data())
def test_an_event_of_each_type_comes_out_equal(kind: type[ev.Event], data: st.DataObject) -> None:
    event = data.draw(event_of(kind))
    assert type(event) is kind
    assert Reader().feed(encode([event])) == [event]


def test_each_type_of_event_comes_out_as_itself() -> None:
    tags = {kind.__struct_config__.tag for kind in EVENT_TYPES}
    assert len(tags) == len(EVENT_TYPES)
    run = founding_run()
    assert [type(event) for event in Reader().feed(encode(run))] == [type(event) for event in run]


def test_a_frame_cut_short_waits_for_the_rest() -> None:
    frame = encode([ev.Line(0, 1)])
    reader = Reader()
    assert reader.feed(frame[:-1]) == []
    assert reader.pending == len(frame) - 1
    assert reader.feed(frame[-1:]) == [ev.Line(0, 1)]


@given(st.binary(max_size=200))
def test_random_bytes_give_events_or_garbled_and_nothing_else(data: bytes) -> None:
    try:
        events = Reader().feed(struct.pack("<I", len(data)) + data)
    except Garbled:
        return
    assert all(isinstance(event, ev.Event) for event in events)


@settings(max_examples=200)
@given(any_events.filter(bool), st.data())
def test_a_flipped_byte_never_escapes_as_another_error(
    events: list[ev.AnyEvent], data: st.DataObject
) -> None:
    stream = bytearray(encode(events))
    position = data.draw(st.integers(0, len(stream) - 1))
    stream[position] ^= data.draw(st.integers(1, 255))
    try:
        got = Reader().feed(bytes(stream))
    except Garbled:
        return
    assert all(isinstance(event, ev.Event) for event in got)


@pytest.mark.parametrize(
    "body",
    [
        msgspec.msgpack.encode({"line": 1}),
        msgspec.msgpack.encode([["no such event", 1]]),
        msgspec.msgpack.encode([["line", "one", "two"]]),
        msgspec.msgpack.encode([["line"]]),
        msgspec.msgpack.encode([5]),
        b"\x91" * 100_000,
        b"",
        b"not msgpack at all",
        # A string that is not UTF-8, where a name is due.
        b"\x91\x94\xa4bind\x00\xa1\xff\x01",
    ],
    ids=["map", "tag", "types", "fields", "number", "deep", "empty", "text", "utf8"],
)
def test_well_framed_nonsense_is_garbled(body: bytes) -> None:
    with pytest.raises(Garbled):
        Reader().feed(struct.pack("<I", len(body)) + body)


@pytest.mark.parametrize("size", [MAX_FRAME + 1, 2**32 - 1])
def test_a_frame_that_is_too_long_is_refused_before_it_is_gathered(size: int) -> None:
    reader = Reader()
    with pytest.raises(Garbled, match=f"{MAX_FRAME} is the most"):
        reader.feed(struct.pack("<I", size) + bytes(1000))
    assert reader.pending < 2000


def test_events_before_a_garbled_frame_are_kept_by_a_reader_that_is_fed_frame_by_frame() -> None:
    reader = Reader()
    assert reader.feed(encode([ev.Line(0, 1)])) == [ev.Line(0, 1)]
    with pytest.raises(Garbled):
        reader.feed(struct.pack("<I", 3) + b"\xc1\xc1\xc1")
