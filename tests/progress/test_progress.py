"""Progress outlives crashes, cuts, other programs and full disks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tutor.progress import Progress, export, merge, progress_file
from tutor.progress.history import DAY

LESSON, STEP = "inplace.version-counter", "repair"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "progress.jsonl"


def test_what_was_done_is_there_again(path: Path) -> None:
    with Progress(path) as progress:
        assert progress.status(LESSON, STEP, 1) == "new"
        progress.opened(LESSON, STEP)
        progress.edited(LESSON, STEP, "y = x.exp()\n# ⟦ü⟧")
        progress.tried(LESSON, STEP, 1, "failed", code="y = 1")
        assert progress.status(LESSON, STEP, 1) == "tried"
        progress.tried(LESSON, STEP, 1, "passed", code="y = 2")
    with Progress(path) as progress:
        assert progress.status(LESSON, STEP, 1) == "done"
        assert progress.code(LESSON, STEP) == "y = x.exp()\n# ⟦ü⟧"
        assert progress.accepted(LESSON, STEP) == "y = 2"
        assert [t.code for t in progress.tries(LESSON, STEP)] == ["y = 1", "y = 2"]
        assert progress.place == (LESSON, STEP)


def test_an_old_pass_becomes_revised_and_is_not_lost(path: Path) -> None:
    with Progress(path) as progress:
        progress.tried(LESSON, STEP, 1, "passed")
        assert progress.status(LESSON, STEP, 2) == "revised"
        progress.tried(LESSON, STEP, 2, "failed")
        assert progress.status(LESSON, STEP, 2) == "revised"
        progress.tried(LESSON, STEP, 2, "ran")
        assert progress.status(LESSON, STEP, 2) == "done"


def test_skipping_is_not_failing_and_may_be_made_good(path: Path) -> None:
    with Progress(path) as progress:
        progress.skipped(LESSON, STEP, 1)
        assert progress.status(LESSON, STEP, 1) == "skipped"
        progress.tried(LESSON, STEP, 1, "passed")
        assert progress.status(LESSON, STEP, 1) == "done"


def test_a_renamed_step_keeps_its_history(path: Path) -> None:
    with Progress(path) as progress:
        progress.tried("old.lesson", "old", 1, "passed", code="kept")
    renames = {("old.lesson", "old"): (LESSON, STEP)}
    with Progress(path, renames=renames) as progress:
        assert progress.accepted(LESSON, STEP) == "kept"


def test_a_file_cut_at_any_byte_loads_up_to_the_cut(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress(path) as progress:
        for number in range(3):
            progress.tried(LESSON, f"s{number}", 1, "passed")
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # hundreds of files, no crash
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        with Progress(path) as progress:
            done = [progress.status(LESSON, f"s{n}", 1) == "done" for n in range(3)]
            # A line that lacks nothing but its end counts too.
            assert done == [cut >= end - 1 for end in ends], cut
            assert progress.problem is None
            progress.tried(LESSON, "later", 1, "passed")
        with Progress(path) as progress:
            assert progress.status(LESSON, "later", 1) == "done", cut
            assert [progress.status(LESSON, f"s{n}", 1) == "done" for n in range(3)] == done


def test_damage_in_the_middle_costs_that_line_alone_and_is_told_once(path: Path) -> None:
    with Progress(path) as progress:
        for number in range(3):
            progress.tried(LESSON, f"s{number}", 1, "passed")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"k":"tried","at":\xff\x00}\n' + lines[2])
    with Progress(path) as progress:
        assert "1 line" in (progress.problem or "")
        assert progress.status(LESSON, "s0", 1) == "done"
        assert progress.status(LESSON, "s1", 1) == "new"
        assert progress.status(LESSON, "s2", 1) == "done"
    with Progress(path) as progress:
        assert progress.problem is None
    assert path.with_suffix(".damaged").read_bytes().startswith(lines[0])


def test_a_record_of_a_newer_program_is_passed_over(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"k":"hologram","at":1.0}\n')
    with Progress(path) as progress:
        progress.tried(LESSON, STEP, 1, "passed")
    assert b"tried" in path.read_bytes()


def test_an_edit_older_than_a_second_survives_kill(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(
                f"""
                import time
                from pathlib import Path
                from tutor.progress import Progress
                progress = Progress(Path({str(path)!r}))
                for number in range(3):
                    progress.edited("a.b", "s", f"code {{number}}")
                print("written", flush=True)
                time.sleep(60)
                """
            ),
        ],
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(1.0)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    with Progress(path) as progress:
        assert progress.code("a.b", "s") == "code 2"


def test_what_is_no_text_is_written_as_far_as_it_can_be(path: Path) -> None:
    with Progress(path) as progress:
        progress.edited(LESSON, STEP, "x = '\ud800'")
    with Progress(path) as progress:
        assert progress.code(LESSON, STEP) == "x = '?'"


def test_two_programs_may_work_at_once(path: Path) -> None:
    with Progress(path) as first, Progress(path) as second:
        first.tried(LESSON, "a", 1, "passed")
        second.tried(LESSON, "b", 1, "passed")
        first.tried(LESSON, "c", 1, "passed")
    with Progress(path) as progress:
        assert all(progress.status(LESSON, s, 1) == "done" for s in "abc")


def test_a_large_file_is_rewritten_without_replaced_edits(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress(path) as progress:
        for number in range(50):
            progress.edited(LESSON, STEP, "x" * 100 + str(number))
            progress.flush()
        progress.tried(LESSON, STEP, 1, "passed")
    before = path.stat().st_size
    monkeypatch.setattr("tutor.progress.log.COMPACT_AT", 1000)
    with Progress(path) as other:  # in use elsewhere: left alone
        size = path.stat().st_size
        with Progress(path) as progress:
            assert path.stat().st_size == size
        assert other.code(LESSON, STEP) == "x" * 100 + "49"
    with Progress(path) as progress:
        assert path.stat().st_size < before / 10
        progress.tried(LESSON, "more", 1, "passed")
    with Progress(path) as progress:
        assert progress.code(LESSON, STEP) == "x" * 100 + "49"
        assert progress.status(LESSON, STEP, 1) == "done"
        assert progress.status(LESSON, "more", 1) == "done"


def test_a_place_that_cannot_be_written_is_said_and_survived(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with Progress(blocked / "progress.jsonl") as progress:
        assert "cannot be saved" in (progress.problem or "")
        progress.tried(LESSON, STEP, 1, "passed")
        progress.edited(LESSON, STEP, "kept until the end")
        assert progress.status(LESSON, STEP, 1) == "done"
        assert progress.code(LESSON, STEP) == "kept until the end"


def test_a_full_disk_is_said_and_survived(path: Path) -> None:
    progress = Progress(path)

    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            pass

    assert progress._log is not None
    progress._log._file = Full()  # type: ignore[assignment]
    progress.tried(LESSON, STEP, 1, "passed")
    assert "No space left" in (progress.problem or "")
    assert progress.status(LESSON, STEP, 1) == "done"
    progress.close()


def test_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRAD_TUTOR_DATA", str(tmp_path / "mine"))
    assert progress_file() == tmp_path / "mine" / "progress.jsonl"


def test_cards_come_back_on_a_schedule(path: Path) -> None:
    clock = Clock()
    cards = [(LESSON, "kept", ("a", "b"))]
    with Progress(path, clock=clock) as progress:
        progress.tried(LESSON, "a", 1, "passed")
        clock.now += 10 * DAY
        assert progress.due(cards) == ()  # the lesson is not finished
        progress.skipped(LESSON, "b", 1)
        assert progress.finished(LESSON, ("a", "b"))
        assert progress.due(cards) == ()
        clock.now += 1 * DAY
        assert progress.due(cards) == ((LESSON, "kept"),)
        progress.recalled(LESSON, "kept", True)
        clock.now += 2.9 * DAY
        assert progress.due(cards) == ()
        clock.now += 0.2 * DAY
        assert progress.due(cards) == ((LESSON, "kept"),)
        progress.recalled(LESSON, "kept", False)
        clock.now += 1.1 * DAY
        assert progress.due(cards) == ((LESSON, "kept"),)


def test_progress_goes_from_machine_to_machine(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    clock = Clock()
    with Progress(path, clock=clock) as progress:
        progress.edited(LESSON, STEP, "old")
    with Progress(other, clock=clock) as progress:
        progress.edited(LESSON, STEP, "new")
        progress.tried(LESSON, STEP, 1, "passed")
    with Progress(path, clock=clock) as progress:
        progress.tried(LESSON, "more", 1, "passed")
    assert merge(path, other) == (2, 0)
    assert merge(path, other) == (0, 0)
    with Progress(path) as progress:
        assert progress.code(LESSON, STEP) == "new"
        assert progress.status(LESSON, STEP, 1) == "done"
        assert progress.status(LESSON, "more", 1) == "done"
    assert export(path).count(b"\n") == 4
