"""Starting, closing, and what is left when our own process dies."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.run.conftest import FAKE
from tests.run.tree import alive, below, gone_within, wait_for
from tutor.run import Limits, Runner
from tutor.trace import snippet

ROOT = Path(__file__).parents[2]
BACKENDS = ["fork", "spare"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def test_starting_returns_at_once_and_is_idempotent(backend):
    with Runner(backend=backend, observer="tests.run.slow_observer") as runner:
        began = time.monotonic()
        runner.start()
        runner.start()
        assert time.monotonic() - began < 0.4
        assert not runner.ready
        assert len(below(os.getpid())) >= 1


def test_ready_comes_true(backend):
    with Runner(backend=backend, observer=FAKE) as runner:
        assert wait_for(lambda: runner.ready)
        assert runner.run(snippet("print(1)")).end.output == "1\n"


def test_a_run_needs_no_start(backend):
    runner = Runner(backend=backend, observer=FAKE)
    try:
        assert runner.run(snippet("print(1)")).end.output == "1\n"
    finally:
        runner.close()


def test_the_timeout_counts_from_the_programs_start(backend):
    """A back end that is still importing (1 s here) takes nothing from the program's time."""
    with Runner(backend=backend, observer="tests.run.slow_observer") as runner:
        end = runner.run(snippet("print('ran')", timeout=0.3)).end
        assert (end.outcome, end.output) == ("ok", "ran\n")
        assert end.seconds < 0.3


def test_after_close_nothing_is_left(backend):
    before = set(below(os.getpid()))
    runner = Runner(backend=backend, observer=FAKE)
    runner.start()
    assert wait_for(lambda: runner.ready)
    runner.run(snippet("print(1)"))
    started = [pid for pid in below(os.getpid()) if pid not in before]
    assert started
    runner.close()
    assert gone_within(started, 0.0) == []
    runner.close()
    with pytest.raises(RuntimeError, match="closed"):
        runner.run(snippet("print(1)"))


def test_runs_leave_no_descriptor_open(backend):
    """In our own process: sockets, pipes and files of every kind of end."""
    with Runner(backend=backend, observer=FAKE) as runner:
        codes = ["print(1)", "1/0", "import os; os._exit(1)", "import os; os.kill(os.getppid(), 9)"]
        codes.append("raw(b'x' * 99)")

        def descriptors():
            assert wait_for(lambda: runner.ready)
            return len(os.listdir("/proc/self/fd"))

        runner.run(snippet(codes[0]))
        before = descriptors()
        for code in codes:
            runner.run(snippet(code))
        assert descriptors() == before


def test_a_python_that_cannot_be_started(backend, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with Runner(backend=backend, observer=FAKE) as runner:
        end = runner.run(snippet("print(1)")).end
    assert end.outcome == "killed"
    assert "/no/such/python" in end.message


def test_close_while_it_starts(backend):
    before = set(below(os.getpid()))
    runner = Runner(backend=backend, observer="tests.run.slow_observer")
    runner.start()
    began = time.monotonic()
    runner.close()
    assert time.monotonic() - began < 2
    assert set(below(os.getpid())) <= before


def test_close_ends_the_runs_of_other_threads(backend):
    runner = Runner(backend=backend, observer=FAKE)
    traces = []
    program = snippet("print('on', flush=True)\nimport time; time.sleep(60)", timeout=None)
    running = threading.Event()
    thread = threading.Thread(
        target=lambda: traces.append(runner.run(program, on_output=lambda *_: running.set()))
    )
    thread.start()
    assert running.wait(5)
    runner.close()
    thread.join(5)
    assert [trace.end.outcome for trace in traces] == ["cancelled"]


def test_close_ends_the_runs_of_this_very_loop(backend):
    """Closed from a coroutine, a run of the same loop cannot be waited for; it ends."""
    import asyncio

    async def both():
        runner = Runner(backend=backend, observer=FAKE)
        started = asyncio.Event()
        task = asyncio.create_task(
            runner.run_async(
                snippet("print('on', flush=True)\nwhile True: pass", timeout=None),
                on_output=lambda *_: started.set(),
            )
        )
        await asyncio.wait_for(started.wait(), 5)
        runner.close()
        trace = await asyncio.wait_for(task, 5)
        return trace.end.outcome

    assert asyncio.run(both()) == "cancelled"


def test_an_observer_that_cannot_be_imported(backend):
    with Runner(backend=backend, observer="tests.run.no_such_module") as runner:
        end = runner.run(snippet("print(1)")).end
    assert end.outcome == "killed"
    assert "ModuleNotFoundError: No module named 'tests.run.no_such_module'" in end.message


def test_a_program_that_cannot_be_sent(backend):
    with Runner(backend=backend, observer=FAKE) as runner:
        end = runner.run(snippet("print('\ud800')")).end
        assert end.outcome == "error"
        assert end.message.startswith("The program cannot be run: ")
        assert runner.run(snippet("print(1)")).end.outcome == "ok"


def test_a_long_program(backend):
    """Longer than any socket's buffer."""
    code = "x = 0\n" * 100_000 + "print('end')"
    with Runner(backend=backend, observer=FAKE) as runner:
        assert runner.run(snippet(code, timeout=60)).end.output == "end\n"


def test_a_foreign_back_end_is_named(monkeypatch):
    monkeypatch.setenv("AUTOGRAD_TUTOR_BACKEND", "thread")
    with pytest.raises(ValueError, match=r"AUTOGRAD_TUTOR_BACKEND is 'thread'; it may be fork or"):
        Runner(observer=FAKE)


def test_the_environment_chooses_the_back_end(monkeypatch):
    monkeypatch.setenv("AUTOGRAD_TUTOR_BACKEND", "spare")
    assert Runner(observer=FAKE).backend == "spare"
    monkeypatch.delenv("AUTOGRAD_TUTOR_BACKEND")
    assert Runner(observer=FAKE).backend == "fork"


def test_a_random_module_in_the_current_folder_is_not_ours(backend, tmp_path, monkeypatch):
    (tmp_path / "random.py").write_text("raise SystemExit('not this one')")
    (tmp_path / "socket.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    with Runner(backend=backend, observer=FAKE) as runner:
        assert runner.run(snippet("import random; print(1)")).end.output == "1\n"


# -- when our own process dies


OURS = """
import sys, time
from tutor.run import Runner
from tutor.trace import snippet
runner = Runner(backend={backend!r}, observer={observer!r})
runner.start()
{then}
"""

RUN = '''
code = """
import os, subprocess, time
def parent(pid):
    return int(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1])
daemon = subprocess.Popen(['sleep', '60'], start_new_session=True).pid
print(os.getpid(), os.getppid(), parent(os.getppid()), daemon, os.getcwd(), flush=True)
while True: pass
"""
def show(stream, data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
trace = runner.run(snippet(code, timeout=None), on_output=show)
'''


def start(backend, then, observer=FAKE):
    code = OURS.format(backend=backend, observer=observer, then=then)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_our_process_is_killed_everything_goes(backend, number):
    process = start(backend, RUN)
    *words, folder = process.stdout.readline().split()
    pids = list(map(int, words))
    assert len(pids) == 4
    assert all(map(alive, pids))
    assert Path(folder).is_dir()
    process.send_signal(number)
    process.communicate(timeout=10)
    assert gone_within(pids, 3.0) == []
    assert not Path(folder).exists()


def test_when_our_process_is_killed_during_the_imports(backend):
    process = start(backend, "print('up', flush=True)\ntime.sleep(60)", "tests.run.slow_observer")
    process.stdout.readline()
    assert wait_for(lambda: len(below(process.pid)) >= (1 if backend == "fork" else 2))
    pids = below(process.pid)
    process.kill()
    process.communicate(timeout=10)
    assert gone_within(pids, 0.7) == []


def test_an_exit_without_close_leaves_nothing(backend):
    then = "runner.run(snippet('print(1)'))\nimport os\nos.system('true')\nprint('end', flush=True)"
    process = start(backend, then + "\nsys.stdin.read(1)")
    process.stdout.readline()
    pids = below(process.pid)
    process.communicate(timeout=10)
    assert process.returncode == 0
    assert gone_within(pids, 0.0) == []


# -- the folder


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder of the test's own where the scratch folders are made."""
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "code",
    [
        "open('file', 'w').close(); import tempfile; tempfile.mkdtemp(); print(1)",
        "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')",
        "import os\nos.makedirs('a/b'); os.chmod('a', 0)",
        "import os\nhere = os.getcwd(); os.chdir('/'); os.rmdir(here); open(here, 'w').close()",
        "import os\nos.rmdir(os.getcwd())",
    ],
    ids=["files", "deep", "locked", "file", "gone"],
)
def test_the_scratch_folder_goes_away(backend, temporary, code):
    with Runner(backend=backend, observer=FAKE) as runner:
        assert runner.run(snippet(code)).end.outcome == "ok"
    assert list(temporary.iterdir()) == []


def test_a_link_put_in_the_folders_place_is_not_followed(backend, temporary):
    precious = temporary / "precious"
    precious.mkdir()
    (precious / "photo").write_text("kept")
    code = (
        f"import os\nhere = os.getcwd(); os.symlink({str(precious)!r}, 'inner')\n"
        f"os.rename(here, here + 'x'); os.symlink({str(precious)!r}, here)\n"
        f"os.rename(here + 'x', {str(temporary / 'moved')!r})"
    )
    with Runner(backend=backend, observer=FAKE) as runner:
        assert runner.run(snippet(code)).end.outcome == "ok"
    assert (precious / "photo").read_text() == "kept"
    assert sorted(path.name for path in temporary.iterdir()) == ["moved", "precious"]


def test_the_snippets_temporary_files_are_in_it(backend, temporary):
    with Runner(backend=backend, observer=FAKE) as runner:
        end = runner.run(snippet("import tempfile; print(tempfile.gettempdir())")).end
    assert end.output.startswith(str(temporary))


def test_limits_are_plain_values():
    limits = Limits(descendants=3)
    assert limits.descendants == 3
    assert limits == Limits(descendants=3)
    with pytest.raises(AttributeError):
        limits.descendants = 4
