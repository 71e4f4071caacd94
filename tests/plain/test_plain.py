"""Line mode, by piped lines: what a learner reads, with nothing a reader of screens stumbles on."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tutor.lesson import ChoiceStep, Fill, Pack, Predict, load_pack
from tutor.locations import lessons_dir
from tutor.plain.editing import interrupts_elsewhere
from tutor.plain.prose import lines_of, plain, safe
from tutor.plain.session import Session
from tutor.plain.talk import Talk
from tutor.progress import Progress
from tutor.run import Runner

Walk = Callable[..., str]


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_pack(lessons_dir())


@pytest.fixture
def walk(pack: Pack, runner: Runner, tmp_path: Path) -> Walk:
    """Type lines at a lesson, and read all that is said."""

    def go(place: str, *lines: str) -> str:
        lesson_id, _, step = place.partition("/")
        said = io.StringIO()
        talk = Talk(io.StringIO("".join(f"{line}\n" for line in lines)), said)
        lesson = pack.lesson(lesson_id)
        assert lesson is not None
        with Progress(tmp_path / "p.jsonl") as progress:
            Session(talk, pack, runner, progress).walk(lesson, step)
        text = said.getvalue()
        plain_characters(text)
        return text

    return go


def plain_characters(text: str) -> None:
    """No cursor addressing, no box characters, no line that only a wide screen holds."""
    assert "\x1b" not in text
    assert not re.search(r"[\u2500-\u259f\u2800-\u28ff]", text)
    assert "Traceback" not in text


def after(text: str, command: str) -> str:
    """What was said after a command, up to the next prompt."""
    return text.split(f"> {command}\n", 1)[1].split("\n> ", 1)[0]


def test_a_lesson_from_its_first_line_to_its_last(walk: Walk, tmp_path: Path) -> None:
    text = walk(
        "inplace.version-counter",
        "next",
        "2",
        "next",
        "2",
        "next",
        "run",
        "edit",
        "y = x.exp()",
        "y = y + 1",
        "y.sum().backward()",
        ".",
        "run",
        "next",
        "solution",
        "edit",
        "y = x.exp()",
        "y.data.mul_(10)",
        "y.sum().backward()",
        ".",
        "run",
        "next",
    )
    assert "Step 1 of 5, read: promise" in text
    wrong, right = text.split("> 2\n")[1:3]
    assert "You said: x.grad becomes exp(x)." in wrong
    assert "The run says: It stops with an error." in wrong
    assert "So it went otherwise." in wrong
    assert 'The run says: x.grad is "[2, 2, 2]".' in right
    assert "That is right." in right
    failed, passed, sabotaged = text.split("> run\n")[1:4]
    assert "[NO] the program ends without an error" in failed
    assert "Not there yet." in failed
    assert '[yes] y is "start.x.exp() + 1"' in passed
    assert "Passed." in passed
    assert "[yes] the explanation names data-bypass" in sabotaged
    assert "That was the last step of What the version counter protects." in text
    assert "Lesson inplace.same-name" in text
    with Progress(tmp_path / "p.jsonl") as progress:
        steps = ["promise", "guess-exp", "guess-mul", "repair", "sabotage"]
        assert [progress.status("inplace.version-counter", s, 1) for s in steps] == ["done"] * 5
        assert progress.code("inplace.version-counter", "repair") == (
            "y = x.exp()\ny = y + 1\ny.sum().backward()\n"
        )


LESSONS = sorted(f"{p.parent.name}.{p.stem}" for p in lessons_dir().glob("*/*.yaml"))


@pytest.mark.parametrize("lesson_id", LESSONS)
def test_every_lesson_can_be_walked_to_its_end(
    walk: Walk, pack: Pack, tmp_path: Path, lesson_id: str
) -> None:
    lines: list[str] = []
    lesson = pack.lessons[lesson_id]
    for step in lesson.steps:
        if isinstance(step, Predict):
            for question in step.asked:
                ids = [choice.id for choice in question.choices]
                lines.append(str(ids.index(question.answer) + 1))
        elif isinstance(step, ChoiceStep):
            right = [str(n) for n, option in enumerate(step.choices, 1) if option.right]
            lines.append(" ".join(right))
        elif isinstance(step, Fill):
            lines += [f"{name} = {blank.answer}" for name, blank in step.blanks.items()]
        elif step.solution is not None:
            lines += ["edit", *step.solution.splitlines(), ".", "run"]
        elif step.runs:
            lines.append("run")
        lines += ["graph", "versions", "tensors", "why", "next"]
    text = walk(f"{lesson_id}/{lesson.steps[0].id}", *lines)
    assert f"That was the last step of {lesson.title}." in text
    with Progress(tmp_path / "p.jsonl") as progress:
        standing = {s.id: progress.status(lesson_id, s.id, lesson.revision) for s in lesson.steps}
    assert set(standing.values()) == {"done"}, standing


def test_the_founding_question_can_be_looked_into(walk: Walk) -> None:
    text = walk(
        "inplace.same-name/five-times",
        "why",
        "1",
        "why",
        "graph",
        "versions of b",
        "at line 4 iteration 3",
        "versions of b",
        "graph",
        "at line 4 iteration 9",
        "at noon",
        "at end",
        "graph of a",
        "graph of nobody",
    )
    assert "Nothing has run yet." in after(text, "why")
    why = text.split("> why\n")[2].split("\n> ")[0]
    assert "cause: line 4 round 5 in fn: b *= b" in why
    assert "came out: line 8: fn(a).backward()" in why
    graph = after(text, "graph")
    # Five products from the last to the first, then the power, then the leaf.
    products = re.findall(r"^\d: MulBackward0, .*line 4 round (\d)", graph, re.MULTILINE)
    assert products == ["5", "4", "3", "2", "1"]
    assert "6: PowBackward0, line 2, leads to leaf a" in graph
    for version in range(5):
        assert f"at version {version}, changed since, now version 5" in graph
    assert "keeps self: a copy of its own" in graph
    versions = after(text, "versions of b")
    assert "reads 5." in versions
    assert "version 4 to 5: written at line 4 round 5" in versions
    moment = after(text, "at line 4 iteration 3")
    # 10 squared is 100; three rounds make its 8th power.
    assert "b (in fn): 1e+16" in moment
    earlier = text.split("> versions of b\n")[2].split("\n> ")[0]
    assert "The counter of b (in fn) reads 3." in earlier
    assert "version 3 to 4" not in earlier
    then = text.split("> graph\n")[2].split("\n> ")[0]
    assert "round 3" in then
    assert "round 4" not in then
    assert "never came to line 4 in round 9" in after(text, "at line 4 iteration 9")
    assert "at line 7 iteration 3" in after(text, "at noon")
    assert "a is a leaf" in after(text, "graph of a")
    assert "No tensor is called nobody" in after(text, "graph of nobody")


def test_a_proposed_change_is_made_and_passes(walk: Walk) -> None:
    text = walk("inplace.same-name/repair", "run", "apply 1", "apply 9", "run", "apply")
    assert "b = b * b" in after(text, "apply 1")
    assert "There is no change 9" in after(text, "apply 9")
    assert "Passed." in text.split("> run\n")[2]


def test_a_change_is_not_made_in_other_code_than_it_was_meant_for(walk: Walk) -> None:
    text = walk("inplace.same-name/repair", "run", "edit", "x = 1", ".", "apply 1")
    assert "The code has changed since the run." in after(text, "apply 1")


def test_blanks_are_asked_for_by_name(walk: Walk) -> None:
    text = walk("basics.first-backward/slope", "run", "3 * x ** 2", "slope = 3 * x ** 2 + 2", "run")
    assert "Blank slope: type what belongs there." in text
    assert "First your answer" in after(text, "run")
    assert '"2 * x" has a slope of its own; add it.' in after(text, "3 * x ** 2")
    assert "Passed." in after(text, "slope = 3 * x ** 2 + 2")


def test_hints_solution_and_skipping(walk: Walk, tmp_path: Path) -> None:
    text = walk("backward.freed/repair", *["hint"] * 4, "solution", "skip", "previous", "show")
    hints = [part.split("\n> ")[0] for part in text.split("> hint\n")[1:]]
    assert [h.startswith(f"Hint {n} of 3") for n, h in enumerate(hints, 1)] == [True] * 3 + [False]
    assert "There are no more hints here." in hints[3]
    assert "retain_graph=True" in after(text, "solution")
    assert "Step 5 of 5" in after(text, "skip")
    assert "fix, skipped" in after(text, "previous")
    assert "retain_graph=True" in after(text, "show")  # skipping enters the solution
    with Progress(tmp_path / "p.jsonl") as progress:
        assert progress.status("backward.freed", "repair", 1) == "skipped"


def test_code_from_a_file_and_back_again(walk: Walk, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("y = x.exp() + 1\ny.sum().backward()\n")
    bad.write_bytes(b"\xff\xfe\x00x")
    text = walk(
        "inplace.version-counter/repair",
        f"code {good}",
        "run",
        f"code {bad}",
        f"code {tmp_path}",
        "code no-such-file.py",
        "reset",
        "run",
    )
    assert "Passed." in after(text, "run")
    assert "not UTF-8" in after(text, f"code {bad}")
    assert "cannot be read" in after(text, f"code {tmp_path}")
    assert "cannot be read: No such file" in after(text, "code no-such-file.py")
    assert "y.add_(1)" in after(text, "reset")
    assert "Not there yet." in text.split("> run\n")[2]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "did not end by itself"),
        ("pass", "This could not be decided."),
        ("import sys; sys.exit(3)", "exit code 3"),
        ("print('a\\x1b[2Jb\\rc')", "^["),
        ("print x.grad", "SyntaxError"),
        ("for i in range(100): print(i)", "and 60 lines more"),
        ("print('ü日本')", "ü日本"),
    ],
)
def test_what_programs_do_is_said_in_plain_lines(walk: Walk, code: str, said: str) -> None:
    text = walk("start.tour/change-it", "edit", code, ".", "run", "output")
    assert said in after(text, "run")


def test_going_about(walk: Walk) -> None:
    text = walk(
        "start.tour",
        "previous",
        "step",
        "step 4",
        "step repair",
        "lessons",
        "lesson nowhere",
        "lesson backward.freed/sabotage",
        "help",
        "",
        "dance",
    )
    assert "first step of the lesson" in after(text, "previous")
    assert "4. guess, predict, new" in after(text, "step")
    assert "Step 4 of 5" in after(text, "step 4")
    assert "Step 5 of 5" in after(text, "step repair")
    assert "inplace.same-name: The same name, another tensor, 0 of 8" in after(text, "lessons")
    assert "There is no lesson nowhere." in after(text, "lesson nowhere")
    assert "Step 5 of 5, break" in after(text, "lesson backward.freed/sabotage")
    assert "at line 7 iteration 3" in after(text, "help")
    assert "There is no command dance." in after(text, "dance")


def test_wrong_answers_to_questions_are_met_kindly(walk: Walk) -> None:
    text = walk("start.tour/guess", "run", "7", "one", "1 2", "edit", "again", "1", "graph", "edit")
    assert "First your answer" in after(text, "run")
    assert "There is no number 7; they go from 1 to 3." in after(text, "7")
    assert "A number from 1 to 3 is needed" in after(text, "one")
    assert "One number is needed" in after(text, "1 2")
    assert "cannot be changed" in after(text, "edit")
    assert "That is right." in after(text, "1")
    assert "SumBackward0" in after(text, "graph")


def test_a_lesson_is_taken_up_where_it_was_left(walk: Walk) -> None:
    walk("start.tour", "next", "edit", "y = x * 3", ".")
    text = walk("start.tour")
    assert "Step 2 of 5" in text
    assert "  1  y = x * 3" in text


def test_recall_asks_what_is_due(
    pack: Pack, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "p.jsonl", [1000.0]
    lesson = pack.lessons["inplace.version-counter"]
    with Progress(path, clock=lambda: now[0]) as progress:
        for step in lesson.steps:
            progress.tried(lesson.id, step.id, 1, "passed")
        now[0] += 2 * 24 * 3600
        said = io.StringIO()
        talk = Talk(io.StringIO("recall\n\nyes\nrecall\n"), said)
        Session(talk, pack, runner, progress).walk(lesson)
    text = said.getvalue()
    assert "Question: Does no_grad stop the version counter from moving?" in text
    assert "Answer: No. It stops recording only." in text
    assert "No question from earlier lessons is due." in text


def test_lines_that_end_in_the_middle_lose_nothing(walk: Walk) -> None:
    text = walk("inplace.version-counter/repair", "edit", "y = 1")
    assert "so the code stays as it was" in text


class Interrupting(io.StringIO):
    """Lines typed by a person who presses ctrl+c where a line says ^C."""

    def readline(self, size: int | None = -1, /) -> str:
        line = super().readline()
        if line == "^C\n":
            raise KeyboardInterrupt
        return line


def test_what_was_typed_before_ctrl_c_is_kept_and_gone_on_with(
    pack: Pack, runner: Runner, tmp_path: Path
) -> None:
    def go(*lines: str) -> str:
        said = io.StringIO()
        talk = Talk(Interrupting("".join(f"{line}\n" for line in lines)), said)
        lesson = pack.lesson("inplace.version-counter")
        assert lesson is not None
        with Progress(tmp_path / "p.jsonl") as progress:
            Session(talk, pack, runner, progress).walk(lesson, "repair")
        plain_characters(said.getvalue())
        return said.getvalue()

    text = go("edit", "y = x.exp()", "y = y + 1", "^C", "show", "edit", "y.sum().backward()", ".")
    assert "what you typed is kept (2 lines)" in text
    assert "y.add_(1)" in after(text, "show"), "the code is still the old one"
    told = after(text, "edit\n" + text.split("> edit\n")[2].split("\n")[0])
    assert told.splitlines()[:2] == ["  1  y = x.exp()", "  2  y = y + 1"]
    assert "  3  y.sum().backward()" in told.split("Code:")[1]

    text = go("edit", "a = 1", "^C", "edit new", "b = 2", ".")
    assert "  1  b = 2" in text.split("Code:")[-1]
    assert "a = 1" not in text.split("> edit new")[1]

    assert "Nothing was typed, so the code stays as it was." in go("edit", "^C")


def test_ctrl_c_in_an_editor_is_for_the_editor() -> None:
    with interrupts_elsewhere():
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_the_command_by_a_pipe(tmp_path: Path) -> None:
    environment = {**os.environ, "AUTOGRAD_TUTOR_DATA": str(tmp_path), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tutor", "plain", "inplace.version-counter/guess-exp"],
        input="1\nversions of y\nquit\nnever read\n",
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    plain_characters(done.stdout)
    assert "That is right." in done.stdout
    assert "version 0 to 1: written at line 2" in done.stdout
    assert "never read" not in done.stdout
    assert (tmp_path / "progress.jsonl").read_bytes().count(b'"k":"tried"') == 1
    again = subprocess.run(
        [sys.executable, "-m", "tutor", "plain"],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert again.returncode == 0, again.stderr
    assert "Step 2 of 5, predict, done: guess-exp" in again.stdout


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tutor", "plain", "start.tour/change-it"],
        input=b'edit\nx = "\xff"\n.\nrun\nquit\n',
        capture_output=True,
        timeout=60,
        env={
            **os.environ,
            "AUTOGRAD_TUTOR_DATA": str(tmp_path),
            "PYTHONIOENCODING": "utf-8:strict",
        },
    )
    assert done.returncode == 0, done.stderr
    assert b"It ran to its end." in done.stdout


def test_a_step_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tutor", "plain", "start.tour/nowhere"],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "AUTOGRAD_TUTOR_DATA": str(tmp_path)},
    )
    assert done.returncode == 2
    assert "start.tour has no step 'nowhere'" in done.stderr


@pytest.mark.parametrize(
    ("markdown", "said"),
    [
        ("**Bold** and *soft* and `x`", "Bold and soft and x"),
        ("`b *= b` five *times*", '"b *= b" five times'),
        ("`2 * x` and 3 * 4 * 5", '"2 * x" and 3 * 4 * 5'),
    ],
)
def test_marks_are_taken_out_of_prose_and_left_in_code(markdown: str, said: str) -> None:
    assert plain(markdown) == said


def test_code_in_prose_stays_as_it_stands() -> None:
    assert lines_of("Look:\n\n    y = x  # *\n\n- one\n- two\n") == [
        "Look:",
        "",
        "    y = x  # *",
        "",
        "- one",
        "- two",
    ]


def test_control_characters_are_made_visible() -> None:
    assert safe("a\x1b[2Jb\tc\x07") == ["a^[[2Jb\tc^G"]
