"""The fold: any events fold, streaming equals replay, and a run's facts come out right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trace.streams import SOURCE, any_event, any_events, founding_run, save, tensor
from tutor.trace import events as ev
from tutor.trace import fold, trace, writes
from tutor.trace.fold import Folder
from tutor.trace.keep import Prefix, Queue
from tutor.trace.state import State
from tutor.trace.trace import Trace


def folded(events: list[ev.AnyEvent]) -> State:
    folder = Folder()
    folder.feed(events)
    return folder.state()


@given(any_events)
def test_any_events_fold_and_every_prefix_can_be_read(events: list[ev.AnyEvent]) -> None:
    for count in range(len(events) + 1):
        state = folded(events[:count])
        assert state.moment == count
        assert isinstance(state.text, str)
        state.named("b")
        for uid in state.tensors:
            state.names_of(uid)
        for counter in state.counters:
            state.sharing(counter)
        for node in state.nodes.values():
            for kept in node.saves:
                assert state.save_state(node, kept) in {"live", "stale", "freed", "packed"}
        for root in state.roots():
            walked = [step.event.node for step in state.walk(root)]
            assert len(walked) == len(set(walked))


@settings(max_examples=60)
@given(st.lists(any_event, max_size=60), st.data())
def test_the_state_at_each_moment_is_that_of_a_fresh_fold(
    events: list[ev.AnyEvent], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "CHUNK", 7)  # many chunks, so that most moments resume one
        patch.setattr(trace, "FINE", 2)
        patch.setattr(writes, "KEPT_WRITES", 2)
        patch.setattr(writes, "KEPT_SAVED", 2)
        patch.setattr(fold, "KEPT_DEAD", 3)
        patch.setattr(fold, "KEPT_ENDED", 3)
        streamed = Trace()
        rest = list(events)
        while rest:
            size = data.draw(st.integers(1, len(rest)))
            streamed.extend(rest[:size])
            del rest[:size]
            _ = streamed.last  # reading in between changes nothing
        for moment in data.draw(st.permutations(range(len(events) + 1))):
            assert streamed.at(moment) == folded(events[:moment])


def test_states_given_out_earlier_do_not_change() -> None:
    run = founding_run()
    folder = Folder()
    given_out: list[tuple[State, State]] = []
    for count, event in enumerate(run):
        folder.add(event)
        given_out.append((folder.state(), folded(run[: count + 1])))
    assert all(then == again for then, again in given_out)


def test_the_founding_run_tells_its_story() -> None:
    recorded = Trace()
    recorded.extend(founding_run())
    state = recorded.last
    moved = state.counters[2].writes
    assert [(w.before, w.after) for w in moved] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    # Each write happened in the function's line 3, called from line 6, in iterations 1 to 5.
    assert [[(p.line, p.function) for p in w.site] for w in moved] == [
        [(6, "<module>"), (3, "fn")]
    ] * 5
    assert [w.site[-1].iteration for w in moved] == [(1,), (2,), (3,), (4,), (5,)]
    states = [state.save_state(n, n.saves[0]) for n in state.walk(16) if n.saves]
    assert states == ["stale"] * 5 + ["live"]
    assert state.roots() == (16,)
    failed = recorded.passes[0]
    assert failed.stale == (15, "other", 5, 4)
    assert failed.order == (16, 15)
    assert recorded.raised is not None
    assert recorded.raised.frames == (("snippet.py", 7, "<module>"),)


def test_inside_the_function_both_names_mean_the_tensor_and_after_it_only_the_outer() -> None:
    recorded = Trace()
    recorded.extend(founding_run())
    inside = next(m for m, event in recorded.of_kind(ev.Write) if event.after == 3)
    assert recorded.at(inside).names_of(2) == ("y", "b (in fn)")
    assert recorded.last.names_of(2) == ("y",)
    history = [(n.name, n.until is not None) for n in recorded.last.tensors[2].names]
    assert history == [("y", False), ("b", True)]
    named = recorded.at(inside).named("b")
    assert named is not None
    assert named.uid == 2
    assert recorded.last.named("b") is None


def test_a_tensor_knows_the_call_that_made_it() -> None:
    assert folded([ev.Op(7, "torch.exp", (), (1,)), tensor(1)]).tensors[1].op == 7


THREADS: list[ev.AnyEvent] = [
    ev.Enter(0, "<module>", "a.py", 1),
    ev.Thread(1, "worker"),
    ev.Enter(1, "work", "a.py", 5),
    ev.Thread(0, "MainThread"),
    ev.Leave(0),
    ev.Thread(1, "worker"),
    ev.Line(1, 6),
]


def test_a_thread_has_a_stack_of_its_own() -> None:
    stacks = [[p.function for p in folded(THREADS[:m]).stack] for m in range(len(THREADS) + 1)]
    assert stacks == [[], ["<module>"], [], ["work"], ["<module>"], [], ["work"], ["work"]]


def graveyard() -> list[ev.AnyEvent]:
    """More deaths and returns than are kept, one after the other."""
    out: list[ev.AnyEvent] = [ev.Text("a.py", SOURCE), ev.Enter(0, "<module>", "a.py", 1)]
    for n in range(1, 12):
        out += [ev.Line(0, 2 + n % 3), ev.Enter(n, "f", "a.py", 1), ev.Leave(n)]
        out += [ev.Node(n, "Mul", n, n, ()), ev.Dead((n,))]
    return out


@pytest.mark.parametrize(
    "events", [founding_run(), THREADS, graveyard()], ids=["founding", "threads", "graveyard"]
)
def test_a_fold_taken_up_at_any_moment_ends_in_the_same_state(
    events: list[ev.AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold, "KEPT_DEAD", 3)
    monkeypatch.setattr(fold, "KEPT_ENDED", 3)
    whole = folded(events)
    for cut in range(len(events) + 1):
        first = Folder()
        first.feed(events[:cut])
        second = Folder(first.checkpoint())
        second.feed(events[cut:])
        assert second.state() == whole


def test_leaving_a_frame_that_is_not_there_leaves_the_stack_alone() -> None:
    state = folded([ev.Enter(0, "<module>", "a.py", 1), ev.Line(0, 3), ev.Leave(99)])
    assert [frame.line for frame in state.stack] == [3]


def test_leaving_an_outer_frame_ends_the_inner_ones_too() -> None:
    events: list[ev.AnyEvent] = [
        ev.Enter(0, "<module>", "a.py", 1),
        tensor(1),
        ev.Enter(1, "f", "a.py", 1),
        ev.Enter(2, "g", "a.py", 1),
        ev.Bind(2, "t", 1),
        ev.Leave(1),
    ]
    state = folded(events)
    assert [frame.frame for frame in state.stack] == [0]
    assert state.names_of(1) == ()


def test_a_generator_keeps_its_loop_count_over_a_yield() -> None:
    text = "def g():\n    for i in x:\n        yield i\n"
    events: list[ev.AnyEvent] = [ev.Text("a.py", text), ev.Enter(0, "<module>", "a.py", 1)]
    for step in range(3):
        events += [ev.Enter(1, "g", "a.py", 1), *([ev.Line(1, 1)] if step == 0 else [])]
        events += [ev.Line(1, 2), ev.Line(1, 3), ev.Leave(1, done=False)]
    assert folded(events).frames[1].place.iteration == (3,)


def test_loop_counts_follow_two_nested_loops() -> None:
    events: list[ev.AnyEvent] = [
        ev.Text("a.py", SOURCE),
        ev.Enter(0, "<module>", "a.py", 1),
        *(ev.Line(0, line) for line in (1, 2, 3, 4, 3, 4, 3, 5, 2, 3, 4)),
    ]
    place = folded(events).place
    assert place is not None
    assert place.iteration == (2, 1)


def test_writes_to_one_counter_are_bounded_and_those_after_living_saves_are_kept() -> None:
    events: list[ev.AnyEvent] = [tensor(1)]
    for version in range(1000):
        if version in (10, 20):
            events.append(ev.Node(version, "MulBackward0", 0, 0, (), (save(1, version),)))
        events.append(ev.Write(1, 1, 1001, version, version + 1, ev.NONE))
    events.append(ev.Dead((20,)))
    events += [ev.Write(1, 1, 1001, v, v + 1, ev.NONE) for v in range(1000, 2000)]
    counter = folded(events).counters[1]
    kept = [write.before for write in counter.writes]
    assert counter.version == 2000
    assert kept[0] == 10  # still saved by node 10, while 20 died and its write went with it
    assert 20 not in kept
    assert kept[-writes.KEPT_WRITES :] == list(range(2000 - writes.KEPT_WRITES, 2000))
    assert len(kept) <= writes.KEPT_SAVED + 2 * writes.KEPT_WRITES
    assert counter.missed == 2000 - len(kept)


def test_a_write_with_absurd_versions_costs_nothing() -> None:
    events: list[ev.AnyEvent] = [ev.Write(1, 1, 1, -(2**60), 2**60, 0) for _ in range(1000)]
    assert folded(events).counters[1].version == 2**60


def test_the_oldest_dead_nodes_fall_out() -> None:
    count = fold.KEPT_DEAD + 10
    events: list[ev.AnyEvent] = [ev.Node(n, "Mul", n, n, ()) for n in range(count)]
    events.append(ev.Dead(tuple(range(count))))
    assert sorted(folded(events).nodes) == list(range(10, count))


def test_freed_and_packed_saves_say_so() -> None:
    hooked = ev.Save("self", 1, 1, 1, 0, (2,), "float32", "input", packed=True)
    events: list[ev.AnyEvent] = [
        tensor(1),
        ev.Node(1, "Mul", 0, 0, (), (save(1, 0), hooked)),
        ev.Node(2, "Mul", 0, 0, (), (save(1, 0),)),
        ev.Freed(5, (2,)),
    ]
    state = folded(events)
    one, two = state.nodes[1], state.nodes[2]
    assert [state.save_state(one, s) for s in one.saves] == ["live", "packed"]
    assert state.save_state(two, two.saves[0]) == "freed"


def test_what_was_printed_at_each_moment() -> None:
    recorded = Trace()
    recorded.extend([ev.Output(1, "a"), ev.Output(2, "b"), ev.Output(1, "c")])
    assert [recorded.at(m).text for m in range(4)] == ["", "a", "ab", "abc"]


def test_a_prefix_shares_until_two_go_on_from_it() -> None:
    one: Prefix[int] = Prefix().appended(1).appended(2)
    left, right = one.appended(3), one.appended(4)
    assert (list(one), list(left), list(right)) == ([1, 2], [1, 2, 3], [1, 2, 4])
    assert one == (1, 2)
    assert one != [1, 3]
    assert left[-1] == 3
    assert left[1:] == [2, 3]
    assert hash(one) == hash(Prefix([1, 2]))
    with pytest.raises(IndexError):
        one[2]


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 5), st.integers(0, 30))
def test_a_queue_taken_up_again_drops_the_same_ones(
    numbers: list[int], limit: int, cut: int
) -> None:
    whole = Queue(limit)
    dropped = [whole.push(n) for n in numbers]
    first = Queue(limit)
    again = [first.push(n) for n in numbers[:cut]]
    second = Queue(limit, first.freeze())
    again += [second.push(n) for n in numbers[cut:]]
    assert again == dropped
    assert dropped == [None] * min(limit, len(numbers)) + numbers[: max(0, len(numbers) - limit)]
