"""The same runs on an event loop, which stays free for its keys and its screen."""

import asyncio
import time

import pytest

from tests.run.conftest import FAKE
from tests.run.tree import gone_within
from tutor.run import Cancel, Runner
from tutor.trace import snippet


async def test_a_run(runner):
    trace = await runner.run_async(snippet("print('hello')"))
    assert (trace.end.outcome, trace.end.output) == ("ok", "hello\n")


async def test_events_and_output_as_they_come(runner):
    """The program goes on only after each part was seen here."""
    seen = []
    code = """
import os, time
for i in range(3):
    emit(ev.Line(1, i))
    time.sleep(0.1)
print('out', flush=True)
"""
    moments = []

    def watch(trace, events):
        assert list(trace.events[-len(events) :]) == list(events)
        moments.append((time.monotonic(), len(trace)))

    trace = await runner.run_async(
        snippet(code), on_events=watch, on_output=lambda *part: seen.append(part)
    )
    assert {stream for stream, _ in seen} == {1}
    assert b"".join(data for _, data in seen) == b"out\n"
    times = [moment for moment, _ in moments]
    assert times[-1] - times[0] > 0.2
    assert moments[-1][1] == len(trace) == 5


async def test_cancelling_the_task_ends_the_run(runner):
    pids = []
    code = """
import subprocess, time
print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid, flush=True)
time.sleep(60)
"""
    started = asyncio.Event()

    def note(_stream, data):
        pids.append(int(data))
        started.set()

    task = asyncio.create_task(runner.run_async(snippet(code, timeout=None), on_output=note))
    await asyncio.wait_for(started.wait(), 5)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 2
    assert gone_within(pids, 0.0) == []


async def test_cancelling_the_task_before_there_is_a_process(runner):
    task = asyncio.create_task(runner.run_async(snippet("print(1)")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancel_is_a_result(runner):
    cancel = Cancel()
    task = asyncio.create_task(runner.run_async(snippet("while True: pass"), cancel=cancel))
    await asyncio.sleep(0.2)
    cancel.set()
    assert (await task).end.outcome == "cancelled"


async def test_a_timeout(runner):
    end = (await runner.run_async(snippet("while True: pass", timeout=0.2))).end
    assert end.outcome == "timeout"


async def test_several_at_a_time(runner):
    runs = [
        runner.run_async(snippet(f"import time; time.sleep(0.2); print({i})")) for i in range(4)
    ]
    traces = await asyncio.gather(*runs)
    assert [trace.end.output for trace in traces] == ["0\n", "1\n", "2\n", "3\n"]


async def test_one_after_the_other_on_the_same_descriptors(runner):
    """Readers of one run must not be taken for those of the next, whose numbers are the same."""
    for i in range(5):
        trace = await runner.run_async(snippet(f"emit(ev.Line(1, {i}))\nprint({i})"))
        assert (trace.end.outcome, trace.end.output, len(trace)) == ("ok", f"{i}\n", 3)


async def test_what_a_callback_raises_comes_out(runner):
    def fail(_trace, _events):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await runner.run_async(snippet("import time; time.sleep(60)"), on_events=fail)


FLOODS = {
    "large frames": "frame = encode(steps * 400)\nwhile True: raw(frame)",
    "small frames": "while True: emit(*steps)",
    "one huge frame": "raw(encode(steps * 8000))\nwhile True: pass",
    "output": "while True: print('x' * 10_000)",
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_the_loop_stays_responsive_under_a_flood(flood):
    """A key press waits for a slice or two, which is some milliseconds on a free machine.

    The bound leaves room for a busy one: a flood that was folded in one go would take seconds.
    """
    late = []

    async def tick():
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append(time.perf_counter() - before - 0.001)

    code = """
from tutor.trace.wire import encode
steps = [ev.Enter(1, 'f', 'x.py', 1)]
steps += [ev.Line(1, 2), ev.Op(1, 'torch.add', (), ()), ev.Line(1, 3)] * 5
steps += [ev.Leave(1)]
"""
    with Runner(observer=FAKE) as runner:
        ticking = asyncio.create_task(tick())
        trace = await runner.run_async(snippet(code + flood, timeout=0.8))
        ticking.cancel()
    assert trace.end.outcome == "timeout"
    assert len(late) > 50
    late.sort()
    assert late[int(len(late) * 0.98)] < 0.15


async def test_who_waits_longest_goes_first_and_two_run_at_a_time(runner):
    """Two at a time, each for 0.4 s: the first two are over before any other, and overlap."""
    gate, ended, spans = asyncio.Semaphore(2), [], {}

    async def one(number):
        async with gate:
            code = "import time\nbegan = time.time()\ntime.sleep(0.4)\nprint(began, time.time())"
            trace = await runner.run_async(snippet(code))
            spans[number] = tuple(map(float, trace.end.output.split()))
            ended.append(number)

    await asyncio.gather(*map(one, range(6)))
    assert set(ended[:2]) == {0, 1}
    assert any(spans[n][0] < spans[n + 1][1] and spans[n + 1][0] < spans[n][1] for n in range(5))
