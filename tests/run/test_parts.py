"""The parts that need no process of ours: output, folders, outcomes, what /proc and ps say."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.run.tree import below
from tutor.run import linux, posix
from tutor.run.limits import Limits
from tutor.run.outcome import Gone, judge
from tutor.run.output import Output, visible
from tutor.run.protocol import BY_ITSELF
from tutor.run.scratch import remove_scratch
from tutor.trace import Trace
from tutor.trace import events as ev


def kept(limit, *parts):
    output = Output(limit)
    for stream, data in parts:
        output.add(stream, data)
    return output


def test_short_output_is_whole():
    output = kept(100, (1, b"one\n"), (2, b"two\n"))
    assert (output.text(), output.lost) == ("one\ntwo\n", 0)


def test_long_output_keeps_its_first_and_last_part():
    output = kept(10, (1, b"abcdefghijklmnopqrstuvwxyz"))
    assert output.lost == 16
    assert output.text() == "abcde\n[… 16 bytes of output left out …]\nvwxyz"


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=30))), st.integers(2, 40))
def test_what_is_kept_and_what_is_lost_is_all_there_was(parts, limit):
    output = kept(limit, *parts)
    whole = b"".join(data for _, data in parts)
    assert output.lost == max(0, len(whole) - limit)
    chunks = [data for _, data in [*output._head, *output._tail]]
    head = limit - limit // 2
    if output.lost:
        assert b"".join(chunks) == whole[:head] + whole[len(whole) - limit // 2 :]
    else:
        assert b"".join(chunks) == whole


def test_a_character_cut_by_the_other_stream_is_whole():
    e = "é".encode()
    assert kept(100, (1, e[:1]), (2, b"."), (1, e[1:])).text() == ".é"


@settings(max_examples=50)
@given(st.text())
def test_no_control_character_stays(text):
    shown = visible(text)
    assert not [c for c in shown if c not in "\n\t" and (ord(c) < 32 or 127 <= ord(c) < 160)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("line\r\n", "line\n"),
        ("50%\r60%", "50%␍60%"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("del\x7f nul\0", "del␡ nul␀"),
        ("csi\x9b31m", "csi\ufffd31m"),
        ("right \u202eto left", "right \ufffdto left"),
        ("naïve ∂y/∂x 梯度 👍", "naïve ∂y/∂x 梯度 👍"),
    ],
)
def test_control_characters_are_seen(text, shown):
    assert visible(text) == shown


# -- folders


@pytest.mark.parametrize("depth", [1, 1500])
def test_a_deep_folder_is_removed(tmp_path, depth):
    top = os.open(tmp_path, os.O_RDONLY)
    folder = os.open(tmp_path, os.O_RDONLY)
    os.mkdir("scratch", dir_fd=folder)
    inner = os.open("scratch", os.O_RDONLY, dir_fd=folder)
    for _ in range(depth):
        os.mkdir("d", dir_fd=inner)
        os.close(os.open("file", os.O_CREAT, dir_fd=inner))
        os.symlink("/", "link", dir_fd=inner)
        os.close(folder)
        folder, inner = inner, os.open("d", os.O_RDONLY, dir_fd=inner)
    for descriptor in (top, folder, inner):
        os.close(descriptor)
    remove_scratch(str(tmp_path / "scratch"))
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_is_no_error():
    remove_scratch("/no/such/folder")


# -- outcomes


def ended(*events):
    trace = Trace()
    trace.extend(events)
    return trace


def raised(kind, message):
    return ended(ev.Raised(kind, message, (), ""), ev.Finished("error", 1, 0.1))


@pytest.mark.parametrize(
    ("trace", "code", "outcome"),
    [
        (ended(ev.Finished("ok", 0, 0.1)), 0, "ok"),
        (ended(ev.Finished("exited", 4, 0.1)), 4, "exited"),
        (ended(ev.Finished("strange", 0, 0.1)), 0, "garbled"),
        (ended(), 0, "exited"),
        (raised("ValueError", "x"), 1, "error"),
        (raised("MemoryError", ""), 1, "out-of-memory"),
        (raised("torch.OutOfMemoryError", "CUDA"), 1, "out-of-memory"),
        (raised("RuntimeError", "[..] DefaultCPUAllocator: can't allocate"), 1, "out-of-memory"),
        (raised("RuntimeError", "shapes differ"), 1, "error"),
    ],
)
def test_an_end_by_itself(trace, code, outcome):
    assert judge(trace, Gone(code, BY_ITSELF, 0), Limits())[:2] == (outcome, code)


@pytest.mark.parametrize(
    ("number", "oom", "outcome", "says"),
    [
        (9, False, "killed", "SIGKILL"),
        (9, True, "out-of-memory", "memory ran out"),
        (11, False, "killed", "SIGSEGV"),
        (24, False, "timeout", "60 s of processor time"),
        (40, False, "killed", "signal 40"),
    ],
)
def test_an_end_by_a_signal(number, oom, outcome, says):
    gone = Gone(-number, BY_ITSELF, 0, oom=oom)
    found, code, signal, message = judge(ended(), gone, Limits())
    assert (found, code, signal) == (outcome, None, number)
    assert says in message


# -- looking at processes


@pytest.fixture
def family():
    """A process with two children, one of them in a session of its own."""
    code = (
        "import subprocess as s, time\n"
        "s.Popen(['sleep', '30']); s.Popen(['sleep', '30'], start_new_session=True)\n"
        "print('up', flush=True); time.sleep(30)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    process.stdout.readline()
    pids = below(process.pid)
    yield process, pids
    for pid in (process.pid, *pids):
        os.kill(pid, 9)
    process.communicate()


@pytest.mark.parametrize("system", [linux, posix], ids=["linux", "posix"])
def test_descendants(system, family):
    process, pids = family
    assert len(pids) == 2
    assert sorted(system.descendants([process.pid])) == sorted(pids)
    assert sorted(system.descendants([process.pid, *pids])) == sorted(pids)
    above = system.descendants([os.getpid()])
    assert {process.pid, *pids} <= set(above)
    assert len(above) == len(set(above))
    assert not {process.pid, *pids} & set(system.descendants([os.getpid()], leave=[process.pid]))


@pytest.mark.parametrize("system", [linux, posix], ids=["linux", "posix"])
def test_memory_of_a_process(system):
    code = "x = bytearray(64 << 20); print('up', flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    try:
        process.stdout.readline()
        for measure in (system.resident, system.proportional):
            assert 64 << 20 < measure(process.pid) < 128 << 20
    finally:
        process.communicate(b"\n")
    assert system.resident(process.pid) == system.proportional(process.pid) == 0


def test_a_command_with_brackets_and_spaces_in_its_name(tmp_path):
    """The second field of /proc/PID/stat is whatever the program calls itself."""
    code = (
        "import ctypes, time; ctypes.CDLL(None).prctl(15, b'a) S 1 (b'); "
        "print(1, flush=True); time.sleep(30)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        assert process.pid in linux.descendants([os.getpid()])
    finally:
        process.kill()
        process.communicate()


def test_importing_the_room_is_light():
    code = (
        "import sys, tutor.run\n"
        "print(sorted({'torch', 'asyncio', 'textual', 'tutor.observe'} & set(sys.modules)))"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert (done.stdout, done.stderr) == ("[]\n", "")
