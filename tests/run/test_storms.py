"""What comes at a bad moment: cancels, deaths of the host, a disk that is full, and many runs."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from tests.run.conftest import FAKE
from tests.run.tree import below, gone_within, wait_for
from tutor.run import Cancel, Runner
from tutor.trace import Program, Source, snippet

PROGRAMS = (
    "while True: pass",
    "while True: print('x' * 1000)",
    "import time\nwhile True: emit(ev.Line(1, 1)); time.sleep(0.0001)",
    "import os, time\nfor _ in range(20):\n    if os.fork() == 0: time.sleep(60)\ntime.sleep(60)",
    "import subprocess, time\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\n"
    "time.sleep(60)",
)


@pytest.mark.parametrize("seed", range(8))
def test_a_cancel_at_any_instant(runner, seed):
    """Before there is a process, while it takes the program, while it runs; once or twice."""
    choose = random.Random(seed)
    for _ in range(4):
        cancel = Cancel()
        profile = choose.choice(("snippet", "script"))
        code = choose.choice(PROGRAMS)
        timers = [
            threading.Timer(choose.uniform(0, 0.06), cancel.set)
            for _ in range(choose.choice((1, 2)))
        ]
        for timer in timers:
            timer.start()
        program = Program((Source("x.py", code),), profile=profile, timeout=20.0)
        end = runner.run(program, cancel=cancel).end
        for timer in timers:
            timer.join()
        assert end.outcome == "cancelled", (seed, profile, code, end)


@pytest.mark.parametrize("seed", range(4))
def test_a_host_that_dies_at_any_instant(runner, seed):
    """The run that needed it gets another host, the one that had begun goes on."""
    choose = random.Random(seed)
    host = runner._link._process
    timer = threading.Timer(choose.uniform(0, 0.05), host.kill)
    timer.start()
    for i in range(4):
        end = runner.run(snippet(f"import time\ntime.sleep(0.02)\nprint({i})")).end
        assert (end.outcome, end.output) == ("ok", f"{i}\n"), end
    timer.join()


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_host_that_was_stopped_or_killed_while_nothing_ran(runner, number):
    os.kill(runner._link._process.pid, number)
    end = runner.run(snippet("print(1)")).end
    assert (end.outcome, end.output) == ("ok", "1\n")


def test_two_hundred_runs_leave_nothing_behind():
    with Runner(backend="fork", observer=FAKE) as runner:

        def held():
            assert wait_for(lambda: runner.ready)
            return len(os.listdir("/proc/self/fd")), threading.active_count()

        runner.run(snippet("print(1)"))
        before = held()
        for i in range(200):
            assert runner.run(snippet(f"print({i})")).end.output == f"{i}\n"
        assert held() == before
        assert len(below(runner._link._process.pid)) == 2


def test_a_storm_of_sigint_in_our_own_process():
    """Each raises KeyboardInterrupt wherever we are, in the clearing up too: nothing may stay."""
    code = f"""
import sys
from tutor.run import Runner
from tutor.trace import snippet
program = snippet('''
import os, subprocess, time
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
print(os.getpid(), os.getppid(), child.pid, flush=True)
time.sleep(60)
''', timeout=None)
def show(_stream, data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
with Runner(observer={FAKE!r}) as runner:
    runner.run(program, on_output=show)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
    )
    pids = list(map(int, process.stdout.readline().split()))
    assert len(pids) == 3
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    process.communicate()
    assert gone_within(pids, 5.0) == []


# -- a disk that is full


@pytest.fixture
def tiny_disk(tmp_path, monkeypatch):
    """A file system of 64 KiB and 8 files for all that is temporary."""
    place = tmp_path / "tiny"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=8", "none", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("backend", ["fork", "spare"])
def test_a_full_disk_is_said_and_harms_only_what_needs_it(backend, tiny_disk):
    with Runner(backend=backend, observer=FAKE) as runner:
        own = runner.run(snippet("with open('big', 'wb') as file: file.write(b'x' * 100_000)")).end
        assert own.outcome == "error"
        assert "No space left on device" in own.output
        assert wait_for(lambda: not any(tiny_disk.iterdir())), "the run's folder goes away"
        for i in range(20):  # no inode is left for a folder
            try:
                (tiny_disk / f"empty{i}").touch()
            except OSError:
                break
        end = runner.run(snippet("print(1)")).end
        assert end.outcome == "error"
        assert end.message.startswith("The program cannot be run: ")
        assert "No space left on device" in end.message
        # A script has no folder of its own, and its program travels in memory.
        script = Program((Source("/somewhere/x.py", "print(2)"),), profile="script")
        assert runner.run(script).end.output == "2\n"
        for file in tiny_disk.iterdir():
            file.unlink()
        assert runner.run(snippet("print(3)")).end.output == "3\n"


@pytest.mark.parametrize("backend", ["fork", "spare"])
def test_no_descriptors_left_in_our_own_process(backend):
    """`start` and `run` say so; what they had begun is let go of."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Runner(backend=backend, observer=FAKE) as runner:
        assert runner.run(snippet("print(1)")).end.outcome == "ok"
        assert wait_for(lambda: runner.ready)
        held = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
            while True:
                try:
                    held.append(os.open(os.devnull, os.O_RDONLY))
                except OSError:
                    break
            for descriptor in (held.pop(), held.pop(), held.pop()):
                os.close(descriptor)
            end = runner.run(snippet("print(2)")).end
            assert end.outcome == "error"
            assert "Too many open files" in end.message
        finally:
            for descriptor in held:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert runner.run(snippet("print(3)")).end.output == "3\n"
