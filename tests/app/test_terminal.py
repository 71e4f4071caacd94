"""The installed command in a real terminal: from opening it to a terminal left as it was."""

from __future__ import annotations

import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pyte
import pytest

COMMAND = Path(sys.executable).with_name("autograd-tutor")
COLUMNS, LINES = 120, 40

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not installed")


class Terminal:
    """A terminal that a person would look at, with the command in it."""

    def __init__(self, *args: str, data: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.child = pexpect.spawn(
            str(COMMAND),
            list(args),
            dimensions=(LINES, COLUMNS),
            env={
                "PATH": str(COMMAND.parent),
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "HOME": str(data),
                "AUTOGRAD_TUTOR_DATA": str(data / "data"),
                "AUTOGRAD_TUTOR_CONFIG": str(data / "config"),
            },
            timeout=5,
        )
        self.before = termios.tcgetattr(self.child.child_fd)

    def read(self, seconds: float) -> None:
        """Take in what the command writes for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                data = self.child.read_nonblocking(65536, timeout=0.05)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                return
            self.written += data
            self._stream.feed(data)

    def wait(self, good: Callable[[str], bool], what: str, seconds: float = 60) -> str:
        """The screen once it is as wanted."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.read(0.1)
            text = "\n".join(self.screen.display)
            if good(text):
                return text
        raise AssertionError(f"never seen: {what}\n" + "\n".join(self.screen.display))

    def see(self, words: str, seconds: float = 60) -> str:
        return self.wait(lambda text: words in text, words, seconds)

    def press(self, keys: str) -> None:
        self.child.send(keys)


def test_a_failing_step_is_run_read_fixed_and_passed_and_the_terminal_is_restored(tmp_path):
    terminal = Terminal("inplace.version-counter/repair", data=tmp_path)
    try:
        terminal.see("Keep the value of y")
        terminal.press("r")
        text = terminal.see("was changed in place")
        assert "◆ y.add_(1)" in text
        assert "✗ y.sum().backward()" in text
        assert "cause" in text
        terminal.press("a")
        text = terminal.see("Done.")
        assert "y = y + 1" in text
        assert "[2.7183, 7.3891, 20.0855]" in text
        terminal.press("q")
        terminal.read(20)
        terminal.child.wait()
        assert terminal.child.exitstatus == 0
        assert terminal.before[3] == termios.tcgetattr(terminal.child.child_fd)[3]
        for restored in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l"):
            assert restored in terminal.written, restored
    finally:
        terminal.child.close(force=True)

    again = Terminal(data=tmp_path)
    try:
        text = again.see("y = y + 1")
        assert "step 4 of 5" in text, "it resumes where it was, with the code that was written"
        again.press("\x11")
        again.read(10)
    finally:
        again.child.close(force=True)
