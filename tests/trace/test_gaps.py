"""Long runs: what is let go, and that all that is kept is as if nothing had been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.trace.streams import any_event, save, tensor
from tutor.trace import NONE, Trace, chunks, fold, sweep, trace
from tutor.trace import events as ev
from tutor.trace.fold import Folder
from tutor.trace.state import State

CHUNK, HEAD, TAIL, ISLANDS = 4, 6, 3, 2


@pytest.fixture
def small() -> Iterator[None]:
    """A trace that keeps very little, so that short streams have gaps and sweeps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "CHUNK", CHUNK)
        patch.setattr(trace, "FINE", 2)
        patch.setattr(chunks, "HEAD", HEAD)
        patch.setattr(chunks, "TAIL", TAIL)
        patch.setattr(chunks, "ISLANDS", ISLANDS)
        patch.setattr(fold, "KEPT_DEAD", 3)
        patch.setattr(fold, "KEPT_PRINTS", 2)
        patch.setattr(fold, "LAST_PRINTS", 2)
        patch.setattr(fold, "SWEEP", 2)
        patch.setattr(sweep, "HEAD_EVENTS", HEAD * CHUNK)
        patch.setattr(sweep, "RECENT_TENSORS", 1)
        patch.setattr(sweep, "RECENT_PASSES", 1)
        yield


def states(events: list[ev.AnyEvent]) -> list[State]:
    """The state at each moment, by a fold that nothing interrupts."""
    folder = Folder()
    found = [folder.state()]
    for event in events:
        folder.add(event)
        found.append(folder.state())
    return found


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(any_event, min_size=CHUNK, max_size=90), data=st.data())
def test_every_kept_moment_is_that_of_a_full_trace(
    small: None, events: list[ev.AnyEvent], data: st.DataObject
) -> None:
    recorded = Trace()
    rest = list(events)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        recorded.extend(rest[:size])
        del rest[:size]
        _ = recorded.last  # reading in between changes nothing
    full = states(events)
    assert len(recorded) == len(events)
    assert recorded.last == full[-1]
    inside = {m for gap in recorded.gaps for m in range(gap.start + 1, gap.end)}
    for moment in data.draw(st.permutations(range(len(events) + 1))):
        ends = [gap.end for gap in recorded.gaps if gap.start < moment < gap.end]
        assert recorded.at(moment) == full[ends[0] if ends else moment]
        assert recorded.kept(moment) == (ends[0] if ends else moment)
    whole = [(n, e) for n, e in recorded.numbered() if not _stands_for_a_gap(recorded, n)]
    assert whole == [(n, e) for n, e in enumerate(events) if n not in inside
                     and not _stands_for_a_gap(recorded, n)]  # fmt: skip
    assert all(recorded.event(n) == e for n, e in whole)
    assert len(whole) <= (HEAD + TAIL + ISLANDS + 2) * CHUNK
    assert recorded.truncated_events - _unseen(events) == len(events) - len(whole)


def _stands_for_a_gap(recorded: Trace, number: int) -> bool:
    return any(gap.start == number for gap in recorded.gaps)


def _unseen(events: list[ev.AnyEvent]) -> int:
    return sum(event.events for event in events if isinstance(event, ev.Truncated))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(any_event, max_size=80), data=st.data())
def test_a_fold_taken_up_anywhere_sweeps_the_same(
    small: None, events: list[ev.AnyEvent], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(events)))
    first = Folder()
    first.feed(events[:cut])
    second = Folder(first.checkpoint())
    second.feed(events[cut:])
    assert second.state() == states(events)[-1]


SOURCE = "w = 1\nfor step in range(1000):\n    loss = w * w\n    loss.backward()\nlast = w\n"


def training(steps: int) -> list[ev.AnyEvent]:
    """Steps that make a tensor and a node each, which die in the next step."""
    out: list[ev.AnyEvent] = [
        ev.Text("a.py", SOURCE),
        ev.Enter(0, "<module>", "a.py", 1),
        ev.Line(0, 1),
        tensor(0),
        ev.Bind(0, "w", 0),
    ]
    for step in range(1, steps + 1):
        out += [
            ev.Line(0, 2),
            ev.Line(0, 3),
            ev.Op(step, "Tensor.mul", (0, 0), (step,)),
            ev.Node(step, "MulBackward0", step, step, (), (save(0, 0),)),
            tensor(step, node=step),
            ev.Bind(0, "loss", step),
            ev.Dead((step - 1,) if step > 1 else (), (step - 1,) if step > 1 else ()),
            ev.Line(0, 4),
            ev.BackwardStart(step, "backward", ((step, step),), (None,), False, False, None),
            ev.Accumulate(step, 0, NONE, None, None),
            ev.BackwardEnd(step, True, NONE, None),
        ]
    return [*out, ev.Line(0, 2), ev.Line(0, 5)]


def test_a_long_loop_is_one_gap_that_says_what_it_left_out(small: None) -> None:
    recorded = Trace()
    events = training(1000)
    recorded.extend(events)
    (gap,) = recorded.gaps
    skipped = events[gap.start : gap.end]
    assert len(recorded.events) == len(events) - len(skipped) + 1
    assert gap.lines == sum(isinstance(event, ev.Line) for event in skipped)
    assert gap.first == ((gap.start - 6) // 11 + 1,)  # of the event before it
    assert gap.last[0] > 990
    shown = next(event for event in recorded.events if isinstance(event, ev.Skipped))
    assert shown == ev.Skipped(len(skipped), gap.lines, gap.first, gap.last)
    assert recorded.truncated_events == len(skipped)


def test_what_is_dead_is_let_go_and_what_counts_the_whole_run_stays_right(small: None) -> None:
    recorded = Trace()
    recorded.extend(training(1000))
    last = recorded.last
    assert len(last.tensors) < 20
    assert len(last.nodes) < 20
    assert len(last.passes) < 20
    assert last.tensors[0].accumulated == 1000
    assert last.nodes[1000].runs == 1000
    assert [last.ran["a.py", line] for line in range(1, 6)] == [1, 1001, 1000, 1000, 1]
    loss = last.named("loss")
    assert loss is not None
    assert loss.born[-1].iteration == (1000,)


def test_a_call_inside_a_gap_is_known_while_what_it_made_lives(small: None) -> None:
    events = training(300)
    kept = [ev.Op(5001, "torch.exp", (0,), (5001,)), tensor(5001), ev.Bind(0, "kept", 5001)]
    lost = [ev.Op(5000, "torch.sin", (0,), (5000,)), tensor(5000), ev.Dead((), (5000,))]
    events[1500:1500] = [*kept, *lost]
    recorded = Trace()
    recorded.extend(events)
    assert any(gap.start < 1500 < gap.end - 6 for gap in recorded.gaps)
    call = recorded.op(5001)
    assert call is not None
    assert (call.func, call.moment, call.site[-1].file) == ("torch.exp", 1500, "a.py")
    assert recorded.op(5000) is None
    moments = [op.moment for op in recorded.ops]
    assert moments == sorted(moments)
    assert 1500 in moments


@pytest.mark.parametrize(
    "event",
    [
        ev.Line(0, 5),
        ev.Warned("UserWarning", "", "a.py", 3),
        ev.Op(7000, "Tensor.mul", (), (), error=("RuntimeError", "no")),
        ev.Contents(0, ev.Value((2,), "float32", (float("nan"), 1.0), nonfinite=1)),
        ev.Altered(3, 3, "self", 1),
    ],
    ids=["new-line", "warning", "failed-call", "nan", "altered"],
)
def test_what_happens_once_in_a_long_loop_is_kept_with_what_led_to_it(
    small: None, event: ev.AnyEvent
) -> None:
    events = training(300)
    events[1500:1500] = [event]
    recorded = Trace()
    recorded.extend(events)
    assert recorded.event(1500) == event
    assert recorded.event(1500 - CHUNK) == events[1500 - CHUNK]
    assert len(recorded.gaps) == 2
    assert recorded.at(1500) == states(events[:1500])[-1]


def test_effects_on_the_outside_are_never_forgotten(small: None) -> None:
    events = training(300)
    events[1500:1500] = [ev.Effect("file", "out.pt")]
    recorded = Trace()
    recorded.extend(events)
    assert list(recorded.of_kind(ev.Effect)) == [(1500, ev.Effect("file", "out.pt"))]


def test_reading_a_gradient_in_each_step_is_known_once_a_line(small: None) -> None:
    events = training(300)
    for step in range(200, 0, -1):
        events.insert(11 * step + step % 2 * 4, ev.GradRead(0, 1))
    recorded = Trace()
    recorded.extend(events)
    reads = recorded.grad_reads
    assert [moment for _, moment, _ in reads] == sorted(moment for _, moment, _ in reads)
    lines = Counter(site[-1].line for _, _, site in reads)
    assert set(lines) == {3, 4}
    assert sum(lines.values()) < 20


def test_output_is_kept_from_its_beginning_and_its_end(small: None) -> None:
    pieces = [f"{n:04}." for n in range(100)]
    recorded = Trace()
    recorded.extend([ev.Output(1, piece) for piece in pieces])
    text = recorded.last.text
    assert text.startswith("0000.0001.")
    assert text.endswith("0098.0099.")
    assert "480 characters are not kept" in text  # 96 pieces of five
    assert recorded.at(2).text == "0000.0001."


def test_a_long_piece_of_output_is_followed_only_by_what_came_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fold, "KEPT_PRINTED", 10)
    recorded = Trace()
    recorded.extend([ev.Output(1, "one."), ev.Output(1, "x" * 20), ev.Output(2, "three.")])
    assert recorded.last.text == "one." + "x" * 20 + "three."


def test_a_loop_that_saves_and_writes_one_counter_takes_no_longer_a_step_when_it_is_long() -> None:
    recorded = Trace()
    events: list[ev.AnyEvent] = [tensor(0)]
    for n in range(30_000):
        events += [
            ev.Node(n, "MulBackward0", n, n, (), (save(0, n),)),
            ev.Write(0, 0, 1000, n, n + 1, n),
        ]
    recorded.extend(events)  # each write has a living save: the scan of all took minutes
    counter = recorded.last.counters[0]
    assert counter.writes[0].before == 0  # the first one after a save can always be named
    assert counter.writes[-1].after == 30_000
    assert len(counter.writes) < 400
