"""Saved traces: what was recorded comes back, and whatever else a file holds is said plainly."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.trace.streams import any_event, any_events, founding_run
from tests.trace.test_gaps import small, training
from tutor.trace import End, Trace, snippet
from tutor.trace import events as ev
from tutor.trace.file import (
    CUT,
    DAMAGED,
    FORMAT,
    MAX_RECORD,
    NAME,
    Unreadable,
    is_trace,
    load,
    read,
    save,
    write,
)

__all__ = ["small"]  # a fixture
END = End("error", 1, None, 0.25, "printed\n", 3, "It was so.")


def recorded(events: list[ev.AnyEvent]) -> Trace:
    trace = Trace(snippet("y = x", setup="x = 1", timeout=3.0))
    trace.extend(events)
    trace.end = END
    return trace


def saved(trace: Trace) -> bytes:
    stream = io.BytesIO()
    write(trace, stream)
    return stream.getvalue()


def opened(data: bytes) -> Trace:
    return read(io.BytesIO(data))


def assert_same(one: Trace, other: Trace) -> None:
    assert (one.program, one.end) == (other.program, other.end)
    assert list(one.numbered()) == list(other.numbered())
    assert one.gaps == other.gaps
    assert one.last == other.last
    moments = [moment for moment in range(len(one) + 1) if one.kept(moment) == moment]
    assert all(one.at(moment) == other.at(moment) for moment in moments)
    assert (one.ops, one.lines, one.grad_reads) == (other.ops, other.lines, other.grad_reads)
    assert (one.texts, one.vias, one.answers) == (other.texts, other.vias, other.answers)
    assert (one.finished, one.start, one.passes) == (other.finished, other.start, other.passes)
    assert one.truncated_events == other.truncated_events
    assert one.truncated_values == other.truncated_values
    assert list(one.of_kind(ev.Effect)) == list(other.of_kind(ev.Effect))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(any_event, max_size=100))
def test_what_was_saved_is_opened(small: None, events: list[ev.AnyEvent]) -> None:
    trace = recorded(events)
    assert_same(trace, opened(saved(trace)))


def test_a_long_run_with_its_gaps_goes_through_a_file(small: None, tmp_path: Path) -> None:
    events = training(300)
    events[1500:1500] = [ev.Warned("UserWarning", "look", "a.py", 3), ev.Effect("file", "x")]
    events[2000:2000] = [ev.GradRead(0, 1), ev.Output(1, "printed"), ev.Truncated(4, 5)]
    trace = recorded(events)
    assert len(trace.gaps) == 2
    path = tmp_path / "run.trace"
    save(trace, path)
    assert is_trace(path)
    assert_same(trace, load(path))
    assert [file.name for file in tmp_path.iterdir()] == ["run.trace"]
    assert len(path.read_bytes()) < 8 * 1024


def test_a_saved_trace_opens_and_is_saved_again_the_same(small: None) -> None:
    trace = recorded(training(100))
    again = opened(saved(trace))
    assert_same(trace, opened(saved(again)))


def test_a_file_cut_at_any_byte_tells_of_the_run_up_to_there(small: None) -> None:
    trace = recorded(training(12))
    whole = list(trace.numbered())
    data = saved(trace)
    lengths = []
    for cut in range(len(data)):
        try:
            got = opened(data[:cut])
        except Unreadable:
            assert not lengths  # only before there was anything to tell
            continue
        assert got.end is not None
        if got.end == END:  # only the checksum of the whole is missing
            assert cut > len(data) - 16
            assert list(got.numbered()) == whole
            continue
        assert got.end.outcome == "cancelled"
        assert got.end.message == CUT
        assert list(got.numbered()) == whole[: len(got.events)]
        lengths.append(len(got.events))
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(whole)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_is_noticed(small: None, data: st.DataObject) -> None:
    trace = recorded(training(8))
    stream = bytearray(saved(trace))
    position = data.draw(st.integers(0, len(stream) - 1))
    stream[position] ^= data.draw(st.integers(1, 255))
    try:
        got = opened(bytes(stream))
    except Unreadable:
        return
    assert list(got.numbered()) == list(trace.numbered())[: len(got.events)]
    assert got.end is not None
    assert got.end == END or got.end.message in (CUT, DAMAGED)


@given(st.binary(max_size=300), st.booleans())
def test_other_bytes_are_refused_or_found_damaged(data: bytes, packed: bool) -> None:
    body = zlib.compress(data) if packed else data
    with pytest.raises(Unreadable):
        opened(NAME + b"%d\n" % FORMAT + body)
    with pytest.raises(Unreadable):
        opened(data)


@given(any_events)
def test_records_in_a_foreign_order_are_damage(events: list[ev.AnyEvent]) -> None:
    line = NAME + b"%d\n" % FORMAT
    stream = zlib.decompressobj().decompress(saved(recorded(events))[len(line) :])
    size = int.from_bytes(stream[:4], "little") + 8
    with pytest.raises(Unreadable):
        opened(line + zlib.compress(stream[size:]))  # without its head


def test_a_file_of_a_newer_version_says_what_to_do() -> None:
    with pytest.raises(Unreadable, match=r"newer autograd-tutor.*Install a newer version"):
        opened(NAME + b"%d\n" % (FORMAT + 1) + zlib.compress(b"whatever"))


def test_a_script_is_no_trace(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\n")
    assert not is_trace(script)
    with pytest.raises(Unreadable, match="no saved trace"):
        load(script)


def test_what_swells_when_unpacked_is_not_gathered() -> None:
    line = NAME + b"%d\n" % FORMAT
    zeros = zlib.compress(bytes(64 * 1024 * 1024))
    with pytest.raises(Unreadable):
        opened(line + zeros)
    announced = (MAX_RECORD + 1).to_bytes(4, "little") + bytes(4)
    with pytest.raises(Unreadable):
        opened(line + zlib.compress(announced + bytes(64 * 1024 * 1024)))


def test_a_run_that_has_not_ended_can_be_saved() -> None:
    trace = Trace()
    trace.extend(founding_run()[:20])
    got = opened(saved(trace))
    assert got.end is None
    assert got.last == trace.last


def test_a_folder_that_is_full_or_missing_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        save(recorded([]), tmp_path / "nowhere" / "run.trace")
    assert list(tmp_path.iterdir()) == []
