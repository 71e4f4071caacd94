"""A recorded run: its moments, its calls and what is kept by kind."""

from __future__ import annotations

import pytest

from tests.trace.streams import founding_run
from tutor.trace import End, Program, Source, Trace, snippet
from tutor.trace import events as ev
from tutor.trace.fold import Folder


@pytest.fixture
def recorded() -> Trace:
    trace = Trace()
    trace.extend(founding_run())
    return trace


def test_a_step_by_line_goes_to_each_line_that_ran(recorded: Trace) -> None:
    places = [recorded.at(moment).place for moment in recorded.lines]
    assert [place.line for place in places if place] == [1, 4, 5, 6, *[2, 3] * 5, 2, 7]


def test_moments_outside_the_run_are_its_ends(recorded: Trace) -> None:
    assert recorded.at(-5).moment == 0
    assert recorded.at(10_000) == recorded.last
    assert recorded.last.moment == len(recorded)


def test_calls_are_found_by_number(recorded: Trace) -> None:
    call = recorded.op(3)
    assert call is not None
    assert (call.func, call.site[-1].iteration) == ("Tensor.mul_", (3,))
    assert recorded.op(99) is None
    assert recorded.op(-1) is None


def test_what_is_kept_by_kind() -> None:
    trace = Trace()
    trace.extend(
        [
            ev.Start("2.13.0", "3.11", 1),
            ev.Enter(0, "<module>", "snippet.py", 1),
            ev.Line(0, 4),
            ev.GradRead(1, ev.NONE),
            ev.Truncated(events=2, values=3),
            ev.Truncated(values=1),
            ev.Answer("q", "ok", [1.0]),
            ev.Finished("ok", 0, 0.5),
        ]
    )
    read, moment, site = trace.grad_reads[0]
    assert (read.uid, moment, site[-1].line) == (1, 3, 4)
    assert (trace.truncated_events, trace.truncated_values) == (2, 4)
    assert trace.answers["q"].data == [1.0]
    assert trace.finished is not None
    assert trace.start is not None
    assert trace.outcome is None
    trace.end = End("ok", 0)
    assert trace.outcome == "ok"


def test_a_snippet_is_its_setup_then_the_code() -> None:
    program = snippet("y = x", setup="x = 1", timeout=3.0)
    assert program == Program(
        (Source("setup.py", "x = 1", "setup"), Source("snippet.py", "y = x")), timeout=3.0
    )
    assert snippet("y = 1").sources == (Source("snippet.py", "y = 1"),)
    assert program.main == "y = x"


def test_going_back_step_by_step_in_a_long_run_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tutor.trace.trace.CHUNK", 40)
    monkeypatch.setattr("tutor.trace.trace.FINE", 4)
    events = founding_run() * 3
    trace = Trace()
    trace.extend(events)
    fresh = []
    folder = Folder()
    for event in events:
        fresh.append(folder.state())
        folder.add(event)
    for moment in [*range(len(events) - 1, 0, -1), 50, 20, 51, 49, 120, 7]:
        assert trace.at(moment) == fresh[moment]
