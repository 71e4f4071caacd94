"""Programs that misbehave, under the real observer: each ends as a result that says what was.

Each runs in both profiles where that is meant, and on both back ends, all of them in one runner.
After each run only the runner's own waiting processes are left, and it runs the next program: a
simple one where processes are forked; where each has to import torch anew, that of the next test.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.run import tree
from tutor.run import Limits, Runner, linux
from tutor.trace import Program, Source, Trace
from tutor.trace.events import Line

LEAN = "tests.run.lean_observer"

LIMITS = Limits(
    cpu_seconds=20,
    memory_bytes=400 * 1024 * 1024,
    file_bytes=1024 * 1024,
    descendants=60,
    interrupt_grace=0.3,
    output_bytes=4096,
    events=200_000,
)

NEXT = """
import torch
x = torch.ones(2, requires_grad=True)
(x * x).sum().backward()
print(x.grad)
"""

NO_LAST_EVENT = "It ended without a last event: by os._exit, or with its descriptors closed."
WARDEN_KILLED = "The process that watched over it was killed, most likely by the program."

BOTH = ("snippet", "script")


@dataclass(frozen=True)
class Abuse:
    """A program, and what a person is told of its end. `output` is a substring, or exact."""

    code: str
    outcome: str
    exit: int | None = None
    signal: int | None = None
    message: str = ""
    output: str | None = None
    exact: bool = False
    timeout: float = 60.0
    profiles: tuple[str, ...] = BOTH
    raised: str = ""
    check: Callable[[Trace], bool] = field(default=lambda trace: True)


def lines_seen(trace: Trace) -> set[int]:
    return {event.line for event in trace.events if isinstance(event, Line)}


FORK_AND_WAIT = "if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\n"

CASES = {
    "an infinite loop": Abuse(
        "print('on')\nwhile True: pass", "timeout", None, 9, "It was stopped after 0.5 s.",
        "on\n", exact=True, timeout=0.5, check=lambda t: lines_seen(t) == {1, 2},
    ),
    "an infinite loop of ops": Abuse(
        "import torch\nx = torch.ones(3, requires_grad=True)\nwhile True:\n    x = x * 1.0",
        "timeout", None, 9, "It was stopped after 0.5 s.", timeout=0.5,
        check=lambda t: len(t) > 100,
    ),
    "half a line, then sleep": Abuse(
        "import time\nprint('working', end='')\ntime.sleep(60)",
        "timeout", None, 9, "It was stopped after 0.5 s.", "working", exact=True, timeout=0.5,
    ),
    "an endless print": Abuse(
        "while True: print('y' * 99)", "timeout", None, 9, "It was stopped after 0.5 s.",
        "bytes of output left out", timeout=0.5, check=lambda t: t.end.lost > 100_000,
    ),
    "1 GB of output": Abuse(
        "line = 'x' * ((1 << 20) - 1)\nfor _ in range(1024): print(line)\nprint('end')",
        "ok", 0, output="xxx\nend\n", check=lambda t: t.end.lost == (1 << 30) + 4 - 4096,
    ),
    "one line of 50 MB": Abuse(
        "print('x' * (50 << 20))\nprint('end')", "ok", 0, output="xxx\nend\n",
        check=lambda t: t.finished is not None,
    ),
    "10 GB for torch": Abuse(
        "import torch\nx = torch.empty(10 * 1024**3 // 4)", "out-of-memory", 1,
        output="tried to allocate 10737418240 bytes", raised="RuntimeError",
        profiles=("snippet",),
    ),
    "10 GB for Python": Abuse(
        "x = bytearray(10 * 1024**3)", "out-of-memory", 1, output="MemoryError\n",
        raised="MemoryError", profiles=("snippet",),
    ),
    "os._exit": Abuse(
        "import os\nprint('before')\nos._exit(3)", "exited", 3, None, NO_LAST_EVENT, "before\n",
        exact=True, check=lambda t: lines_seen(t) == {1, 2, 3},
    ),
    "sys.exit with words": Abuse(
        "import sys\nsys.exit('no')", "exited", 1, output="no\n", exact=True,
    ),
    "a segmentation fault": Abuse(
        "import torch, ctypes\nx = torch.ones(2)\nctypes.string_at(0)", "killed", None, 11,
        "It was ended by SIGSEGV.", check=lambda t: lines_seen(t) == {1, 2, 3},
    ),
    "a segmentation fault with faulthandler": Abuse(
        "import faulthandler, ctypes\nfaulthandler.enable()\nctypes.string_at(0)", "killed",
        None, 11, "It was ended by SIGSEGV.", "",
    ),
    "os.abort": Abuse("import os\nos.abort()", "killed", None, 6, "It was ended by SIGABRT."),
    "signal.alarm": Abuse(
        "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0.1)\ntime.sleep(60)",
        "killed", None, 14, "It was ended by SIGALRM.",
    ),
    "signals while it computes": Abuse(
        "import signal, torch\nhits = []\n"
        "signal.signal(signal.SIGALRM, lambda *_: hits.append(1))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "for _ in range(100): (x * x).sum().backward()\n"
        "while not hits: pass\nsignal.setitimer(signal.ITIMER_REAL, 0)\nprint(x.grad)",
        "ok", 0, output="tensor([200., 200.])\n", exact=True,
    ),
    "killing its parent": Abuse(
        "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)", "killed", None, None,
        WARDEN_KILLED,
    ),
    "50 forks": Abuse(
        "import os, time\nfor _ in range(50):\n    " + FORK_AND_WAIT.replace("\n", "\n    "),
        "ok", 0, None, "50 of its processes still ran and were ended.",
    ),
    "forks that compute": Abuse(
        "import os, torch\nx = torch.ones(2, requires_grad=True)\n"
        "for _ in range(5):\n    if os.fork() == 0:\n        (x * x).sum().backward()\n"
        "        os._exit(0)\n    os.wait()\nprint(x.grad)", "ok", 0, output="None\n", exact=True,
    ),
    "a fork that goes on as the program": Abuse(
        "import os, torch\nx = torch.ones(2)\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n"
        "print('both')", "ok", 0, output="both\nboth\n", exact=True,
        check=lambda t: t.end.outcome == "ok" and t.finished.how == "ok",
    ),
    "a daemon in a session of its own": Abuse(
        "import os, time\nread, write = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
        "    if os.fork() == 0:\n        os.setsid()\n        os.write(write, b'up')\n"
        "        time.sleep(60)\n    os._exit(0)\nos.wait()\nprint(os.read(read, 2))",
        "ok", 0, None, "1 of its processes still ran and were ended.", "b'up'\n", exact=True,
    ),
    "threads and subprocesses left running": Abuse(
        "import subprocess, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "threading.Thread(target=time.sleep, args=(0.1,)).start()\n"
        "subprocess.Popen(['sleep', '60'])\nsubprocess.Popen(['sleep', '60'], "
        "start_new_session=True)\nprint('end')", "ok", 0, None,
        "2 of its processes still ran and were ended.", "end\n", exact=True,
    ),
    "another program in its place": Abuse(
        "import os\nos.execv('/bin/sh', ['sh', '-c', 'echo replaced; exit 4'])", "exited", 4, None,
        NO_LAST_EVENT, "replaced\n", exact=True,
    ),
    "input()": Abuse(
        "input()", "error", 1, output="EOFError: EOF when reading a line\n", raised="EOFError",
        profiles=("snippet",),
    ),
    "the terminal": Abuse(
        "open('/dev/tty', 'w').write('mine')", "error", 1, output="/dev/tty", raised="OSError",
    ),
    "all descriptors closed": Abuse(
        "import os, torch\nprint('first')\nos.closerange(0, 65536)\nx = torch.ones(2)\ny = x + 1",
        "exited", 0, None, NO_LAST_EVENT, "first\n", exact=True,
    ),
    "the events' descriptor used for a file": Abuse(
        "import os, torch\nos.closerange(3, 256)\n"
        "mine = open('mine', 'w+b')\n"
        "for fd in range(100, 110): os.dup2(mine.fileno(), fd)\n"
        "x = torch.ones(2)\nfor _ in range(3000): y = x + 1\n"
        "print(os.path.getsize('mine'))", "exited", 0, None, NO_LAST_EVENT, "0\n", exact=True,
    ),
    "a flood of valid events": Abuse(
        "import os\nfrom tutor.trace import events as ev\nfrom tutor.trace.wire import encode\n"
        "frame = encode([ev.Line(1, 1)] * 10_000)\nwhile True: os.write(100, frame)",
        "killed", None, 9, "It did more than can be recorded (200,000 events, or 256 MiB of "
        "them). Let its loops run less often.", profiles=("snippet",),
    ),
    "valid events without end": Abuse(
        "import os\nfrom tutor.trace import events as ev\nfrom tutor.trace.wire import encode\n"
        "frame = encode([ev.Line(1, 1)] * 10_000)\nwhile True: os.write(100, frame)",
        "timeout", None, 9, "It was stopped after 0.5 s.", timeout=0.5, profiles=("script",),
    ),
    "a flood of garbled bytes": Abuse(
        "import os\nnoise = os.urandom(4096)\nwhile True: os.write(100, b'\\xff' + noise)",
        "garbled", None, 9, "What it sent as events is not readable",
    ),
    "output that is not UTF-8, with escapes": Abuse(
        r"import os, sys; os.write(1, b'\xff\x1b[2J\x1b]0;t\x07'); print('\x1b[31mred'); "
        r"sys.stdout.buffer.write(b'\xc3'); sys.stdout.flush()",
        "ok", 0, output="\ufffd␛[2J␛]0;t␇␛[31mred\n\ufffd", exact=True,
    ),
    "a message that is no Unicode": Abuse(
        "raise ValueError('\\ud800')", "error", 1, output="ValueError: \\ud800\n",
        raised="ValueError", check=lambda t: t.raised.message == "?",
    ),
    "sys.settrace(None)": Abuse(
        "import sys, torch\nx = torch.ones(2, requires_grad=True)\nsys.settrace(None)\n"
        "y = (x * x).sum()\ny.backward()\nprint(x.grad)", "ok", 0,
        output="tensor([2., 2.])\n", exact=True,
    ),
    "replaced functions of torch": Abuse(
        "import torch\nx = torch.ones(2, requires_grad=True)\n"
        "torch.Tensor.backward = lambda *a, **k: print('mine')\ntorch.add = None\n"
        "torch.ones = lambda *a: 5\ny = (x * x).sum()\ny.backward()\nprint(x.grad, torch.ones(3))",
        "ok", 0, output="mine\nNone 5\n", exact=True,
    ),
    "replaced builtins": Abuse(
        "import builtins, os, sys, time, threading\n"
        "builtins.print = lambda *a: sys.stdout.write('mine\\n')\n"
        "os.write = os.fstat = os.getpid = None\ntime.monotonic = time.perf_counter = None\n"
        "import torch\nx = torch.ones(2, requires_grad=True)\n"
        "(x * x).sum().backward()\nprint(x.grad)", "ok", 0, output="mine\n", exact=True,
        check=lambda t: len(t.last.nodes) > 0,
    ),
    "emptied sys.modules": Abuse(
        "import sys\nsys.modules.clear()\n1 / 0", "error", 1, raised="ZeroDivisionError",
    ),
    "a RecursionError": Abuse(
        "def f(n):\n    global depth\n    depth = n\n    f(n + 1)\n"
        "try: f(1)\nexcept RecursionError: print('deep enough', depth > 950)\nf(1)",
        "error", 1, output="deep enough True\n", raised="RecursionError",
    ),
    "recursion without a limit, of ops": Abuse(
        "import sys, torch\nsys.setrecursionlimit(10**6)\nx = torch.ones(1, requires_grad=True)\n"
        "def f(n):\n    y = x * x\n    if n: f(n - 1)\nf(2000)\nprint('end')",
        "ok", 0, output="end\n", exact=True,
    ),
    "recursion in C": Abuse(
        "import sys\nsys.setrecursionlimit(10**8)\nclass A:\n    def __repr__(self): "
        "return repr([self])\nrepr(A())", "killed", None, 11, "It was ended by SIGSEGV.",
    ),
    "100 000 lines": Abuse(
        "x = 0\n" * 99_999 + "print('end')", "ok", 0, output="end\n", exact=True,
        check=lambda t: max(lines_seen(t)) == 100_000, profiles=("snippet",),
    ),
    "threads that print at the end": Abuse(
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), "
        "print('late'))).start()\nprint('end')", "ok", 0, output="end\nlate\n", exact=True,
    ),
    "a daemon thread that prints": Abuse(
        "import threading\ndef talk():\n    while True: print('z')\n"
        "threading.Thread(target=talk, daemon=True).start()", "ok", 0,
    ),
    "an exit from another thread": Abuse(
        "import threading, os, time\nthreading.Thread(target=lambda: os._exit(9)).start()\n"
        "time.sleep(60)", "exited", 9, None, NO_LAST_EVENT,
    ),
    "atexit prints and raises": Abuse(
        "import atexit\natexit.register(print, 'bye')\natexit.register(lambda: 1 / 0)\n"
        "print('end')", "ok", 0, output="ZeroDivisionError: division by zero\n",
    ),
    "atexit hangs": Abuse(
        "import atexit, time\natexit.register(time.sleep, 60)\nprint('end')", "timeout", None, 9,
        "It was stopped after 0.5 s.", "end\n", exact=True, timeout=0.5,
    ),
    "__del__ at the end": Abuse(
        "class A:\n    def __del__(self): print('del')\na = A()\nprint('end')", "ok", 0,
        output="end\ndel\n", exact=True,
    ),
    "setsid": Abuse(
        "import os\ntry: os.setsid()\nexcept OSError as error: print(error)\nprint(os.getpid() == "
        "os.getsid(0))", "ok", 0, output="[Errno 1] Operation not permitted\nTrue\n", exact=True,
    ),
    "its folder removed": Abuse(
        "import os, tempfile, torch\nhere = tempfile.mkdtemp()\nos.chdir(here)\nos.rmdir(here)\n"
        "x = torch.ones(2)\nprint('end')", "ok", 0, output="end\n", exact=True,
    ),
    "no more descriptors": Abuse(
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\n"
        "open('file', 'w')", "error", 1, output="Too many open files", raised="OSError",
    ),
    "no more address space": Abuse(
        "import resource, torch\nresource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))\n"
        "x = torch.ones(10_000_000)", "out-of-memory", 1, raised="RuntimeError",
    ),
    "a text that raises": Abuse(
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E", "error", 1,
        output="E: <exception str() failed>\n", raised="E",
        check=lambda t: t.raised.message == "<the message could not be read>",
    ),
    "an excepthook that exits": Abuse(
        "import sys\nsys.excepthook = lambda *a: sys.exit(4)\n1 / 0", "error", 4,
        output="", exact=True, raised="ZeroDivisionError",
    ),
    "an excepthook that is none": Abuse(
        "import sys\nsys.excepthook = None\n1 / 0", "error", 1, raised="ZeroDivisionError",
        output="Original exception was:\nTraceback (most recent call last):\n",
    ),
    "a status that is too large": Abuse("import sys\nsys.exit(10**30)", "exited", 255),
    "stopping itself": Abuse(
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", "timeout", None, 9,
        "It was stopped after 0.5 s.", timeout=0.5,
    ),
}  # fmt: skip


@contextmanager
def running(backend: str, folder: Path) -> Iterator[Runner]:
    """One runner for all of a back end's runs; afterwards the folder of their folders is empty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(
            "PYTHONPYCACHEPREFIX", raising=False
        )  # torch's own bytecode stands beside its sources
        patch.setattr(tempfile, "tempdir", str(folder))
        with Runner(backend=backend, observer=LEAN, limits=LIMITS) as runner:
            yield runner
            end = runner.run(Program((Source("snippet.py", NEXT),))).end
            assert end is not None
            assert (end.outcome, end.output) == ("ok", "tensor([2., 2.])\n")
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def forking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with running("fork", tmp_path_factory.mktemp("scratch")) as runner:
        yield runner


@pytest.fixture(scope="module")
def sparing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with running("spare", tmp_path_factory.mktemp("scratch")) as runner:
        yield runner


def program(code: str, profile: str, folder: Path, timeout: float = 20.0) -> Program:
    if profile == "snippet":
        return Program((Source("snippet.py", code),), timeout=timeout)
    source = Source(str(folder / "script.py"), code)
    return Program((source,), profile="script", cwd=str(folder), timeout=timeout)


def goes_on(runner: Runner) -> None:
    """The next run works, and no process is left but those that wait for the one after it."""
    if runner.backend == "fork":
        end = runner.run(Program((Source("snippet.py", NEXT),))).end
        assert end is not None
        assert (end.outcome, end.output) == ("ok", "tensor([2., 2.])\n")
    link = runner._link

    def only_seats() -> bool:
        """Each is a warden with its child; nothing that bears the runner's mark is elsewhere."""
        link.poll()
        ours = tree.below(link._process.pid)
        seats = len(link._seats)
        return not link._coming and len(ours) == 2 * seats == len(linux.marked(link._mark)) - 1

    assert tree.wait_for(only_seats, 10), tree.below(os.getpid())


ALSO_WITH_SPARES = (
    "an infinite loop",
    "an endless print",
    "1 GB of output",
    "10 GB for torch",
    "os._exit",
    "sys.exit with words",
    "a segmentation fault",
    "killing its parent",
    "50 forks",
    "forks that compute",
    "a daemon in a session of its own",
    "threads and subprocesses left running",
    "input()",
    "the terminal",
    "all descriptors closed",
    "the events' descriptor used for a file",
    "a flood of valid events",
    "a flood of garbled bytes",
    "output that is not UTF-8, with escapes",
    "sys.settrace(None)",
    "replaced functions of torch",
    "a RecursionError",
)
"""Each of these costs an import of torch, so what no back end can change is not run twice."""


@pytest.mark.parametrize(
    ("name", "profile"),
    [(name, profile) for name, abuse in CASES.items() for profile in abuse.profiles],
)
def test_it_ends_as_a_result(forking: Runner, tmp_path: Path, name: str, profile: str) -> None:
    check(forking, name, profile, tmp_path)


@pytest.mark.parametrize("name", ALSO_WITH_SPARES)
def test_it_ends_so_with_spares_too(sparing: Runner, tmp_path: Path, name: str) -> None:
    check(sparing, name, CASES[name].profiles[0], tmp_path)


def check(runner: Runner, name: str, profile: str, tmp_path: Path) -> None:
    abuse = CASES[name]
    trace = runner.run(program(abuse.code, profile, tmp_path, abuse.timeout))
    end = trace.end
    assert end is not None
    found = (end.outcome, end.code, end.signal)
    assert found == (abuse.outcome, abuse.exit, abuse.signal), end
    assert end.message.startswith(abuse.message) if abuse.message else end.message == "", end
    if abuse.exact:
        assert end.output == abuse.output
    else:
        assert (abuse.output or "") in end.output
    assert (trace.raised.kind if trace.raised else "") == abuse.raised
    assert abuse.check(trace)
    goes_on(runner)
