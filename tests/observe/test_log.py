"""The log: however many events come at once, the reader takes them."""

from __future__ import annotations

from pathlib import Path

from tutor.observe.log import Log
from tutor.trace import events as ev
from tutor.trace.wire import MAX_FRAME, Reader


def test_more_events_than_a_frame_may_hold_arrive(tmp_path: Path) -> None:
    event = ev.Output(1, "x" * 10_000)
    count = MAX_FRAME // 10_000 + 10
    with (tmp_path / "events").open("wb") as stream:
        log = Log(stream.fileno())
        for _ in range(count):
            log.add(event)
        log.flush()
    reader = Reader()
    assert len(reader.feed((tmp_path / "events").read_bytes())) == count
    assert reader.pending == 0
