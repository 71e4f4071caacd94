"""What a run may send: a script as much as it likes, as long as it can be kept small."""

from __future__ import annotations

from tests.trace.streams import tensor
from tutor.run.intake import Intake
from tutor.run.limits import Limits
from tutor.trace import Program, Source, Trace
from tutor.trace import events as ev
from tutor.trace.wire import encode

LIMITS = Limits(events=1000, event_bytes=64 * 1024, living=500)


def intake(profile: str) -> tuple[Intake, Trace]:
    trace = Trace(Program((Source("a.py", ""),), profile=profile))
    return Intake(trace, LIMITS, None), trace


def send(into: Intake, events: list[ev.AnyEvent]) -> None:
    into.feed(encode(events))
    while into.busy:
        into.fold(1.0)


def test_a_script_may_send_any_number_of_events_and_a_snippet_may_not() -> None:
    for profile, fault in (("script", False), ("snippet", True)):
        into, trace = intake(profile)
        for _ in range(30):
            send(into, [ev.Line(0, 1)] * 100)
        assert (into.fault is not None) is fault
        assert len(trace) == (1000 if fault else 3000)


def test_too_much_at_one_time_is_said() -> None:
    into, _ = intake("script")
    send(into, [tensor(uid) for uid in range(600)])
    assert into.fault is not None
    assert into.fault[0] == "killed"
    assert "more than can be recorded (500 tensors, graph nodes and the like)" in into.fault[1]


def test_a_few_large_events_are_taken_and_many_are_not() -> None:
    into, _ = intake("script")
    large: ev.AnyEvent = ev.Output(1, "x" * 20_000)
    for _ in range(20):
        send(into, [large, *[ev.Line(0, 1)] * 100])
    assert into.fault is None
    for _ in range(5):
        send(into, [large])
    assert into.fault is not None
    assert "too large" in into.fault[1]
