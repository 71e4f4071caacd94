"""Every way in which a program may end, or be ended, is a result."""

import os
import signal
import time

import pytest

from tests.run.tree import gone_within
from tutor.trace import snippet
from tutor.trace.events import Start


def run(runner, code, timeout=5.0, **options):
    trace = runner.run(snippet(code, timeout=timeout), **options)
    assert trace.end is not None
    assert trace.program.main == code
    return trace


def pids(trace):
    return [int(word) for word in trace.end.output.split() if word.isdigit()]


# -- by itself


def test_a_program_that_reaches_its_end(runner):
    trace = run(runner, "print('hello')")
    end = trace.end
    assert (end.outcome, end.code, end.signal, end.output) == ("ok", 0, None, "hello\n")
    assert (end.lost, end.message) == (0, "")
    assert isinstance(trace.events[0], Start)
    assert trace.finished.how == "ok"


def test_an_exception(runner):
    trace = run(runner, "print('before')\n1/0")
    assert (trace.end.outcome, trace.end.code) == ("error", 1)
    assert trace.raised.kind == "ZeroDivisionError"
    assert trace.end.output.startswith("before\n")
    assert trace.end.output.endswith("ZeroDivisionError: division by zero\n")


def test_sys_exit_with_words(runner):
    end = run(runner, "import sys; sys.exit('no')").end
    assert (end.outcome, end.code, end.output) == ("exited", 1, "no\n")


def test_os_exit(runner):
    end = run(runner, "import os; os._exit(3)").end
    assert (end.outcome, end.code, end.signal) == ("exited", 3, None)
    assert "os._exit" in end.message


def test_a_segmentation_fault(runner):
    trace = run(runner, "emit(ev.Line(1, 1))\nimport ctypes; ctypes.string_at(0)")
    assert (trace.end.outcome, trace.end.code, trace.end.signal) == ("killed", None, 11)
    assert trace.end.message == "It was ended by SIGSEGV."
    assert len(trace) == 2  # what came before is there


def test_what_c_code_printed_comes_out(runner):
    code = "import ctypes; ctypes.CDLL(None).puts(b'from C')\nprint('from Python')"
    assert sorted(run(runner, code).end.output.splitlines()) == ["from C", "from Python"]


# -- too long, too much


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(60)",
        "import signal, time\nfor s in 1, 2, 15: signal.signal(s, signal.SIG_IGN)\ntime.sleep(60)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=["busy", "asleep", "deaf", "stopped"],
)
def test_an_endless_program_is_stopped(runner, code):
    began = time.monotonic()
    end = run(runner, "print('on my way', flush=True)\n" + code, timeout=0.3).end
    assert (end.outcome, end.signal) == ("timeout", signal.SIGKILL)
    assert end.message == "It was stopped after 0.3 s."
    assert end.output == "on my way\n"
    assert 0.3 <= end.seconds < 2
    assert time.monotonic() - began < 10


def test_processor_time_is_limited_too(runner):
    end = run(runner, "while True: pass", timeout=20).end
    assert (end.outcome, end.signal) == ("timeout", signal.SIGXCPU)
    assert end.message == "It used more than 1 s of processor time."


def test_an_endless_print(runner):
    end = run(runner, "while True: print('y' * 99)", timeout=0.4).end
    assert end.outcome == "timeout"
    assert end.output.startswith("y" * 99 + "\n")
    assert end.lost > 1_000_000
    assert len(end.output) < 5000


def test_much_output_passes_quickly_and_only_its_ends_are_kept(runner):
    code = """
import os
os.write(1, b'first\\n')
for _ in range(256):
    rest = memoryview(b'x' * (1 << 20))
    while rest:
        rest = rest[os.write(1, rest):]
os.write(1, b'last\\n')
"""
    seen = 0

    def count(stream, data):
        nonlocal seen
        assert stream == 1
        seen += len(data)

    end = run(runner, code, timeout=20, on_output=count).end
    assert end.outcome == "ok"
    total = 256 * (1 << 20) + len("first\n") + len("last\n")
    assert seen == total
    assert end.lost == total - 4096
    assert end.output.startswith("first\nxxx")
    assert f"{end.lost} bytes of output left out" in end.output
    assert end.output.endswith("xxxlast\n")
    assert end.seconds < 10


def test_a_big_allocation_is_refused(runner):
    trace = run(runner, "x = bytearray(10 * 1024**3)")
    assert (trace.end.outcome, trace.end.code) == ("out-of-memory", 1)
    assert trace.raised.kind == "MemoryError"


def test_memory_spread_over_processes_is_counted(runner):
    code = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        x = bytearray(100 * 1024**2)
        time.sleep(30)
time.sleep(30)
"""
    end = run(runner, code, timeout=20).end
    assert end.outcome == "out-of-memory"
    assert end.message == "It and its processes used more than 300 MiB."


def test_a_big_file_is_refused(runner):
    trace = run(runner, "open('big', 'wb').write(b'x' * 2_000_000)")
    assert trace.end.outcome == "error"
    assert "File too large" in trace.end.output


def test_fifty_forks(runner):
    code = """
import os, time
for _ in range(50):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
"""
    end = run(runner, code).end
    assert end.outcome == "ok"
    assert end.message == "50 of its processes still ran and were ended."


def test_too_many_forks(runner):
    code = """
import os, time
for _ in range(90):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
time.sleep(60)
"""
    end = run(runner, code, timeout=20).end
    assert end.outcome == "killed"
    assert end.message == "It had more than 60 processes at one time."


def test_a_fork_bomb(runner):
    """Each of its processes stops by itself after 3 s, in case we do not stop it."""
    code = """
import os, time
until = time.monotonic() + 3
while time.monotonic() < until:
    try: os.fork()
    except OSError: pass
"""
    end = run(runner, code, timeout=20).end
    assert end.outcome == "killed"
    assert end.seconds < 3


# -- what it leaves behind


def test_what_forks_share_counts_once(runner):
    """120 MB seen by five processes is no more memory than 120 MB."""
    code = """
import os, time
x = bytearray(120 * 1024**2)
for _ in range(5):
    if os.fork() == 0:
        time.sleep(0.35)
        os._exit(0)
for _ in range(5): os.wait()
"""
    assert run(runner, code).end.outcome == "ok"


def test_a_daemon_in_a_session_of_its_own(runner):
    code = """
import os, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.write(write, str(os.getpid()).encode())
        time.sleep(60)
    os._exit(0)
os.wait()
print(os.read(read, 20).decode())
"""
    trace = run(runner, code)
    assert trace.end.outcome == "ok"
    (daemon,) = pids(trace)
    assert gone_within([daemon], 0.0) == []


def test_a_process_that_forks_away_from_its_killer(runner):
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        if os.fork():
            os._exit(0)
print('left')
"""
    end = run(runner, code).end
    assert (end.outcome, end.output) == ("ok", "left\n")
    # The fixture looks whether anything is left.


def test_threads_and_subprocesses_left_running(runner):
    code = """
import subprocess, sys, threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
threading.Thread(target=time.sleep, args=(60,)).start()
print(subprocess.Popen(['sleep', '60']).pid, subprocess.Popen('sleep 60; true', shell=True).pid)
"""
    trace = run(runner, code)
    assert trace.end.outcome == "ok"
    assert len(pids(trace)) == 2
    assert gone_within(pids(trace), 0.0) == []


def test_a_daemon_is_gone_after_a_timeout_too(runner):
    code = """
import os, subprocess, sys
print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid, flush=True)
while True: pass
"""
    trace = run(runner, code, timeout=0.3)
    assert trace.end.outcome == "timeout"
    assert gone_within(pids(trace), 0.0) == []


# -- against the processes around it


DAEMON = """
import os, subprocess, time
print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid, flush=True)
def parent(pid):
    return int(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1])
warden = os.getppid()
host = parent(warden)
"""


def test_killing_its_parent(runner):
    trace = run(runner, DAEMON + "os.kill(warden, 9)\ntime.sleep(60)")
    assert (trace.end.outcome, trace.end.code) == ("killed", None)
    assert "watched over it was killed" in trace.end.message
    assert len(pids(trace)) == 1
    assert gone_within(pids(trace), 5.0) == []


def test_stopping_its_parent(runner):
    code = DAEMON + "os.kill(warden, 19)\nprint('stopped it')\n"
    trace = run(runner, code)
    assert trace.end.outcome == "ok"
    assert trace.end.output.endswith("stopped it\n")
    assert gone_within(pids(trace), 0.0) == []


def test_killing_the_host_does_not_harm_the_run(runner):
    trace = run(runner, DAEMON + "os.kill(host, 9)\nprint('still running')")
    assert trace.end.outcome == "ok"
    assert trace.end.output.endswith("still running\n")
    assert gone_within(pids(trace), 0.0) == []


def test_stopping_the_host(runner):
    trace = run(runner, DAEMON + "os.kill(host, 19)\nprint('still running')")
    assert trace.end.outcome == "ok"
    assert gone_within(pids(trace), 0.0) == []


@pytest.mark.parametrize(
    "order",
    [
        "os.kill(host, 9)\nos.kill(warden, 9)\ntime.sleep(60)",
        "os.kill(warden, 19)\nos.kill(host, 9)\nos.kill(warden, 9)\ntime.sleep(60)",
        "os.kill(host, 9)\ntime.sleep(0.1)\nos.kill(warden, 9)\ntime.sleep(60)",
    ],
    ids=["both", "stopped first", "one after the other"],
)
def test_killing_both(runner, order):
    """Nobody has inherited the daemon; it is known by a mark that it cannot help to bear."""
    trace = run(runner, DAEMON + order)
    assert trace.end.outcome == "killed"
    assert len(pids(trace)) == 1
    assert gone_within(pids(trace), 0.0) == []


def test_a_run_that_lost_its_host_says_so(runner):
    run(runner, DAEMON + "os.kill(host, 9)")
    for seat in runner._link._seats:  # and the seats that the dead host had made
        os.kill(seat.warden, signal.SIGKILL)
    end = run(runner, "print(2)").end
    assert (end.outcome, end.output) == ("ok", "2\n")
    assert end.message == "The process it was to start from had died and was replaced."


# -- its surroundings


def test_no_input(runner):
    trace = run(runner, "input()")
    assert trace.end.outcome == "error"
    assert trace.raised.kind == "EOFError"


def test_no_terminal(runner):
    trace = run(runner, "open('/dev/tty', 'w')")
    assert trace.end.outcome == "error"
    assert trace.raised.kind == "OSError"


def test_closing_all_descriptors(runner):
    trace = run(runner, "import os\nprint('first', flush=True)\nos.closerange(0, 4096)")
    assert trace.end.outcome == "exited"
    assert trace.end.output == "first\n"
    assert "descriptors closed" in trace.end.message


def test_only_its_own_descriptors_are_open(runner):
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))), events_fd)"
    output = run(runner, code).end.output
    listed, _, number = output.strip().rpartition(" ")
    # 3 is the listing's own.
    assert listed == str([0, 1, 2, 3, int(number)])


def test_signals_are_those_of_a_fresh_python(runner):
    code = """
import signal
print([(s.name, signal.getsignal(s)) for s in signal.Signals
       if signal.getsignal(s) not in (signal.SIG_DFL, None)])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""
    import subprocess
    import sys

    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = run(runner, code).end.output
    assert ours.split(" at 0x")[0] == fresh.stdout.split(" at 0x")[0]
    assert ours.splitlines()[1] == fresh.stdout.splitlines()[1] == "set()"


# -- what it sends


@pytest.mark.parametrize("how", ["raw(b'\\xff' * 64)", "raw(b'\\x05\\0\\0\\0hello')"])
def test_garbled_events_end_the_run_and_what_came_before_is_kept(runner, how):
    trace = run(runner, f"emit(ev.Line(1, 1), ev.Line(1, 2))\n{how}\nimport time; time.sleep(60)")
    assert trace.end.outcome == "garbled"
    assert trace.end.signal == signal.SIGKILL
    assert len(trace) == 3
    assert trace.end.message.startswith("What it sent as events is not readable")


def test_a_good_and_a_bad_frame_at_once(runner):
    code = """
from tutor.trace.wire import encode
raw(encode([ev.Line(1, 1)]) + encode([ev.Line(1, 2)]) + b'\\xff' * 9)
import time; time.sleep(60)
"""
    trace = run(runner, code)
    assert trace.end.outcome == "garbled"
    assert len(trace) == 3


def test_a_flood_of_garbled_bytes(runner):
    assert run(runner, "while True: raw(bytes(100_000))").end.outcome in ("garbled", "killed")


def test_a_flood_of_valid_events(runner):
    code = """
from tutor.trace.wire import encode
frame = encode([ev.Line(1, 1)] * 1000)
while True: raw(frame)
"""
    trace = run(runner, code, timeout=20)
    assert trace.end.outcome == "killed"
    assert "more than can be recorded" in trace.end.message
    assert len(trace) == 20_000


def test_a_frame_that_never_ends(runner):
    code = "raw(b'\\0\\0\\xf0\\0')\nwhile True: raw(b'x' * 4096)"
    assert run(runner, code, timeout=20).end.outcome in ("garbled", "killed")


def test_half_a_frame_at_the_end_is_no_fault(runner):
    trace = run(runner, "raw(b'\\x40\\0\\0\\0half'); import os; os._exit(0)")
    assert (trace.end.outcome, trace.end.code) == ("exited", 0)


def test_output_that_is_not_utf8_and_control_sequences(runner):
    code = r"""
import os
os.write(1, b'\xff\xfe \x1b[31mred\x1b[0m \x07\x00 a\tb\r\nc\rd ')
os.write(1, b'e'); os.write(2, b'.')
"""
    output = run(runner, code).end.output
    assert output == "\ufffd\ufffd ␛[31mred␛[0m ␇␀ a\tb\nc␍d e."
