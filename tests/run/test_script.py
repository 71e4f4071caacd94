"""The script profile: the caller's folder, environment, input, and Ctrl-C."""

import os
import signal
import threading
import time

import pytest

from tests.run.tree import gone_within
from tutor.run import Cancel
from tutor.trace import Program, Source


def script(code, **options):
    options.setdefault("timeout", 10.0)
    return Program((Source("/somewhere/script.py", code),), profile="script", **options)


def test_its_folder_is_the_callers(runner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    end = runner.run(script("import os; print(os.getcwd()); open('made', 'w').close()")).end
    assert end.output == f"{tmp_path}\n"
    assert (tmp_path / "made").exists()


def test_or_the_one_it_names(runner, tmp_path):
    end = runner.run(script("import os; print(os.getcwd())", cwd=str(tmp_path))).end
    assert end.output == f"{tmp_path}\n"


def test_a_folder_that_is_not_there(runner):
    end = runner.run(script("print(1)", cwd="/no/such/folder")).end
    assert (end.outcome, end.output) == ("error", "")
    assert "could not be started" in end.message
    assert "/no/such/folder" in end.message


def test_its_environment_is_the_callers_now(runner, monkeypatch):
    monkeypatch.setenv("COLOUR", "grün")
    monkeypatch.delenv("HOME")
    code = "import os, subprocess\nprint(os.environ['COLOUR'], 'HOME' in os.environ, flush=True)\n"
    code += "subprocess.run('echo $COLOUR', shell=True)"
    assert runner.run(script(code)).end.output == "grün False\ngrün\n"


def test_its_arguments(runner):
    end = runner.run(script("import sys; print(sys.argv)", argv=("-x", "two words"))).end
    assert end.output == "['/somewhere/script.py', '-x', 'two words']\n"


def test_its_input_is_the_callers(runner):
    read, write = os.pipe()
    kept = os.dup(0)
    try:
        os.dup2(read, 0)
        os.write(write, b"from the keyboard\n")
        end = runner.run(script("print(input().upper())")).end
    finally:
        os.dup2(kept, 0)
        for descriptor in (read, write, kept):
            os.close(descriptor)
    assert end.output == "FROM THE KEYBOARD\n"


def test_a_terminal_as_input(runner):
    """A script may ask its questions though the terminal is not its controlling one."""
    ours, theirs = os.openpty()
    kept = os.dup(0)
    try:
        os.dup2(theirs, 0)
        os.write(ours, b"typed\n")
        end = runner.run(script("import os; print(os.isatty(0), input())")).end
    finally:
        os.dup2(kept, 0)
        for descriptor in (ours, theirs, kept):
            os.close(descriptor)
    assert (end.outcome, end.output) == ("ok", "True typed\n")


def test_no_input_at_all(runner):
    kept = os.dup(0)
    os.close(0)
    try:
        end = runner.run(script("input()")).end
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    assert end.output.endswith("EOFError: EOF when reading a line\n")


def test_it_has_no_limits_but_time(runner):
    code = (
        "import resource\nprint(resource.getrlimit(resource.RLIMIT_DATA))\nx = bytearray(400 << 20)"
    )
    end = runner.run(script(code)).end
    assert (end.outcome, end.output) == ("ok", "(-1, -1)\n")


def test_no_timeout_is_none(runner):
    assert runner.run(script("import time; time.sleep(0.05)", timeout=None)).end.outcome == "ok"


def test_its_output_passes_through_as_it_comes(runner):
    """The second line is written only after the first was seen here."""
    read, write = os.pipe()
    kept = os.dup(0)
    seen = {1: b"", 2: b""}

    def answer(stream, data):
        seen[stream] += data
        if seen[1] == b"ready\n" and not seen[2]:
            os.write(write, b"go\n")

    code = "import sys\nprint('ready', flush=True)\nprint(input(), file=sys.stderr)"
    try:
        os.dup2(read, 0)
        end = runner.run(script(code), on_output=answer).end
    finally:
        os.dup2(kept, 0)
        for descriptor in (read, write, kept):
            os.close(descriptor)
    assert seen == {1: b"ready\n", 2: b"go\n"}
    assert end.output == "ready\ngo\n"


# -- Ctrl-C


class Interrupter:
    """Sets a cancel when the program says that it is ready, and as often as it asks."""

    def __init__(self, times=1):
        self.cancel = Cancel()
        self.times = times

    def __call__(self, _stream, data):
        if b"ready" in data and not self.cancel.is_set:
            for _ in range(self.times):
                self.cancel.set()


def interrupted(runner, code, times=1):
    ask = Interrupter(times)
    began = time.monotonic()
    code = "import time, subprocess\ndef ready(): print('ready', flush=True)\n" + code
    trace = runner.run(script(code), on_output=ask, cancel=ask.cancel)
    assert trace.end.outcome == "cancelled"
    return trace, time.monotonic() - began


def test_ctrl_c_is_keyboard_interrupt(runner):
    trace, _ = interrupted(runner, "ready(); time.sleep(30)")
    assert trace.raised.kind == "KeyboardInterrupt"
    assert trace.end.code == 1
    assert trace.end.message == "It was interrupted."
    assert "KeyboardInterrupt" in trace.end.output


def test_a_script_may_end_in_its_own_way(runner):
    code = "try: ready(); time.sleep(30)\n"
    code += "except KeyboardInterrupt: print('saved'); raise SystemExit(5)"
    trace, _ = interrupted(runner, code)
    assert trace.end.output == "ready\nsaved\n"
    assert trace.end.code == 5


def test_its_own_processes_get_it_too(runner):
    code = """
import sys
inner = "try: print('ready', flush=True); import time; time.sleep(30)\\n"
inner += "except KeyboardInterrupt: print('trapped')"
process = subprocess.Popen([sys.executable, '-c', inner])
while process.poll() is None:
    try: process.wait()
    except KeyboardInterrupt: pass
"""
    trace, _ = interrupted(runner, code)
    assert "trapped" in trace.end.output


DEAF = """
while True:
    try: ready(); time.sleep(30)
    except KeyboardInterrupt: print('no', flush=True)
"""


def test_a_script_that_does_not_stop_is_killed(runner):
    trace, seconds = interrupted(runner, DEAF)
    assert trace.end.signal == signal.SIGKILL
    assert trace.end.output == "ready\nno\nready\n"
    assert 0.3 <= seconds < 5


def test_asking_twice_kills_at_once(runner):
    trace, seconds = interrupted(runner, DEAF, times=2)
    assert trace.end.signal == signal.SIGKILL
    assert seconds < 0.3 or runner.backend == "spare"


def test_what_it_had_started_is_gone(runner):
    code = "print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid, flush=True)\n"
    trace, _ = interrupted(runner, code + "ready(); time.sleep(30)")
    pid = int(trace.end.output.split()[0])
    assert gone_within([pid], 0.0) == []


# -- cancel in general


@pytest.mark.parametrize("profile", ["snippet", "script"])
def test_cancelled_before_it_began(runner, profile):
    cancel = Cancel()
    cancel.set()
    program = Program((Source("x.py", "print('ran')"),), profile=profile)
    end = runner.run(program, cancel=cancel).end
    assert (end.outcome, end.output) == ("cancelled", "")


def test_cancel_from_another_thread_wakes_a_run_at_once(runner):
    cancel = Cancel()
    program = Program((Source("x.py", "import time; time.sleep(30)"),), timeout=None)
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    end = runner.run(program, cancel=cancel).end
    assert (end.outcome, end.message) == ("cancelled", "It was cancelled.")
    assert end.seconds < 1.5
    assert cancel.is_set


def test_cancel_from_a_signal_handler(runner):
    cancel = Cancel()
    before = signal.signal(signal.SIGALRM, lambda *_: cancel.set())
    program = Program((Source("x.py", "import time; time.sleep(30)"),), timeout=None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        end = runner.run(program, cancel=cancel).end
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert end.outcome == "cancelled"
    assert end.seconds < 1.5


def test_one_cancel_for_several_runs(runner):
    cancel = Cancel()
    program = Program((Source("x.py", "import time; time.sleep(30)"),), timeout=None)
    ends = []
    threads = [
        threading.Thread(target=lambda: ends.append(runner.run(program, cancel=cancel).end))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    cancel.set()
    for thread in threads:
        thread.join(5)
    assert [end.outcome for end in ends] == ["cancelled", "cancelled"]


def test_ctrl_c_in_our_own_process_ends_the_run_and_comes_out(runner):
    """The default handler raises KeyboardInterrupt inside `run`: nothing may be left."""
    pids = []
    program = Program(
        (
            Source(
                "x.py",
                "import subprocess, time\n"
                "print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid, flush=True)\n"
                "time.sleep(60)",
            ),
        ),
        timeout=None,
    )

    def interrupt(_stream, data):
        pids.append(int(data))
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        runner.run(program, on_output=interrupt)
    assert gone_within(pids, 0.0) == []


def test_what_a_callback_raises_comes_out_and_the_run_is_ended(runner):
    def fail(_trace, _events):
        raise LookupError("mine")

    program = Program((Source("x.py", "import time; time.sleep(60)"),), timeout=None)
    began = time.monotonic()
    with pytest.raises(LookupError, match="mine"):
        runner.run(program, on_events=fail)
    assert time.monotonic() - began < 5
