"""`author check`: passes where all is so, and names the place of whatever is broken by hand."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path

import pytest

from tests.author.packs import LESSON, write_pack
from tutor.attempt import Attempts
from tutor.attempt.proofs import prove
from tutor.author.lint import lint
from tutor.cli import main
from tutor.cli.author_check import Progress
from tutor.lesson import Fault, load_pack
from tutor.run import Runner

KINDS = """
- {id: hello, kind: read, text: Hello.}
- id: look
  kind: run
  text: Look.
  code: y = x * 2  # by two
  checks: [{value: {of: y, equals: 6}}]
- id: guess
  kind: predict
  text: What is the gradient?
  code: (x ** 2).backward()
  choices:
    - {id: three, text: "3", holds: [{grad: {of: x, equals: 3}}]}
    - {id: six, text: "6", holds: [{grad: {of: x, equals: 6}}]}
  answer: six
- id: guesses
  kind: predict
  text: Two questions.
  code: (x ** 2).backward()
  questions:
    - id: end
      text: Does it end?
      choices:
        - {id: fine, text: It does., holds: [{raises: none}]}
        - {id: fails, text: It stops., holds: [{raises: {}}]}
      answer: fine
    - id: slope
      text: And the slope?
      choices:
        - {id: one, text: "1", holds: [{grad: {of: x, equals: 1}}]}
        - {id: two, text: "6", holds: [{grad: {of: x, equals: 6}}]}
      answer: two
- id: pick
  kind: choice
  text: Which is a leaf?
  choices: [{id: given, text: The input., right: true}, {id: made, text: The result.}]
- id: gap
  kind: fill
  text: Fill it.
  code: y = x * ⟦factor⟧
  blanks: {factor: {answer: "5", also: ["(2 + 3)"]}}
  checks: [{value: {of: y, equals: 15}}]
  hints: [It is odd.]
- id: mend
  kind: fix
  text: Make the gradient 12.
  starter: |
    y = x ** 2
    y.backward()
  checks: [{grad: {of: x, equals: 12}}]
  mistakes:
    - id: square
      when: [{grad: {of: x, equals: 9}}]
      say: That is the square.
      example: (x * 9).backward()
  hints: [Look at the factor., Is it two?]
  solution: |
    y = 2 * x ** 2
    y.backward()
  also:
    - |
      y = 12 * x
      y.backward()
- id: make
  kind: write
  text: Make z 7.
  checks: [{value: {of: z, equals: 7}}]
  hints: [One., Two.]
  solution: z = x + 4
- id: sabotage
  kind: break
  text: Make it stop.
  starter: y = x ** 2
  checks: [{raises: {kind: freed-graph}}]
  hints: [One.]
  solution: |
    y = x ** 2
    y.backward()
    y.backward()
- id: arrange
  kind: order
  text: Put them in order.
  lines: [p = x * 2, q = p + 1, q.backward()]
  extra: [p = 0]
  checks: [{graph: {of: q, path: [AddBackward0, MulBackward0], freed: true}}]
  hints: [One.]
"""
"""One step or more of each kind, all of them sound."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    steps = KINDS.replace("code: y = x * 2  # by two", "code: y = x * 2")
    return write_pack(tmp_path_factory.mktemp("sound") / "pack", {"group.kinds": steps})


def faults_of(folder: Path, runner: Runner, steps: set[str] | None = None) -> list[Fault]:
    """What lint and, for a lesson that opens, the proofs (of some steps) find."""
    found = list(lint([folder]).faults)
    pack = load_pack(folder)
    for lesson_id, lesson in pack.lessons.items():
        document = pack.documents[lesson_id]
        found += asyncio.run(prove(Attempts(runner), lesson, document, steps=steps))
    return found


def test_a_sound_pack_passes(sound: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["author", "check", str(sound), "--jobs", "2", "--repeat", "1", "--strict"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert re.fullmatch(r"group\.kinds: (\d+) runs, no faults", lines[0])
    assert re.fullmatch(r"1 lesson: no faults, \d+ runs, [\d.]+ s", lines[1])


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("{value: {of: y, equals: 6}}", "{value: {of: y, equals: 7}}", "E314", "code: y = x * 2"),
        ("code: y = x * 2\n", "code: y = x * 4\n", "E314", "code: y = x * 4"),
        ("answer: six", "answer: three", "E301", "answer: three"),
        ("{grad: {of: x, equals: 3}}", "{grad: {finite: true, of: x}}", "E302", "- {id: three"),
        ('text: "6", holds: [{grad: {of: x, equals: 6}}]}\n  answer: six',
         'text: "6", holds: [{grad: {of: x, equals: 7}}]}\n  answer: six', "E303", "- {id: three"),
        ("answer: fine", "answer: fails", "E301", "answer: fails"),
        ("answer: two", "answer: one", "E301", "answer: one"),
        ("holds: [{raises: {}}]", "holds: [{grad: {of: x, equals: 6}}]", "E302", "- {id: fine"),
        ("text: The input., right: true", "text: The input.", "E213", "choices: [{id: given"),
        ('answer: "5"', 'answer: "6"', "E310", "- id: gap"),
        ('also: ["(2 + 3)"]', 'also: ["(3 + 3)"]', "E312", "- id: gap"),
        ("hints: [It is odd.]", "hints: [y = x * 5]", "E330", "hints: [y = x * 5]"),
        ("checks: [{value: {of: y, equals: 15}}]", "checks: [{raises: none}]", "E313", "checks: ["),
        ("y = 2 * x ** 2", "y = 3 * x ** 2", "E310", "solution: |"),
        ("y = 12 * x", "y = 13 * x", "E312", "- |"),
        ("[{grad: {of: x, equals: 12}}]", "[{grad: {of: x, finite: true}}]", "E311", "starter: |"),
        ("[{grad: {of: x, equals: 12}}]", "[{grad: {of: x, equals: 13}}]", "E310", "solution: |"),
        ("example: (x * 9)", "example: (x * 12)", "E320", "example: (x * 12)"),
        ("example: (x * 9)", "example: (x * 8)", "E321", "example: (x * 8)"),
        ("[{grad: {of: x, equals: 9}}]", "[{raises: none}]", "E323", "when: [{raises: none}]"),
        ("\n      example: (x * 9).backward()", "", "E324", "- id: square"),
        ("Is it two?", "y = 2 * x ** 2", "E330", "hints: ["),
        ("solution: z = x + 4", "solution: z = x + 5", "E310", "solution: z = x + 5"),
        ("{value: {of: z, equals: 7}}", "{raises: none}", "E311", "starter"),
        ("solution: |\n    y = x ** 2\n    y.backward()\n    y.backward()",
         "solution: |\n    y = x ** 2\n    y.backward()", "E310", "solution: |"),
        ("kind: freed-graph", "kind: no-grad-fn", "E310", "solution: |"),
        ("q = p + 1", "q = x + 1", "E310", "- id: arrange"),
        ("freed: true", "freed: false", "E310", "- id: arrange"),
        ("{of: q, path: [AddBackward0, MulBackward0], freed: true}",
         "{of: q, path: [AddBackward0, MulBackward0]}", "E313", "checks: [{graph"),
    ],
)  # fmt: skip
def test_whatever_is_broken_by_hand_is_named_at_its_place(
    sound: Path, tmp_path: Path, runner: Runner, old: str, new: str, code: str, place: str
) -> None:
    text = (sound / "group" / "kinds.yaml").read_text(encoding="utf-8")
    wanted = re.sub(r"\n(?=.)", "\n  ", old)
    assert wanted in text, "the test breaks nothing"
    broken = text.replace(wanted, re.sub(r"\n(?=.)", "\n  ", new), 1)
    step = re.findall(r"^  - {?id: (\w+)", text[: text.index(wanted)] + wanted, re.MULTILINE)[-1]
    faults = faults_of(write_pack(tmp_path, {"group.kinds": broken}), runner, {step})
    told = [fault for fault in faults if fault.code == code]
    assert told, [str(fault) for fault in faults]
    if place != "starter":
        assert told[0].source.strip().startswith(place)


def test_faults_end_with_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lessons = {"a.b": LESSON.replace("equals: 12", "equals: 13"), "a.c": "- {id: Only}\n"}
    write_pack(tmp_path, lessons)
    assert main(["author", "check", str(tmp_path), "--repeat", "1"]) == 1
    out, err = capfd.readouterr()
    assert "E310 solution-rejected: solution fails: check 1 wanted" in out
    assert "E201 missing-key" in out  # what cannot be opened is told beside what was run
    assert "a.b: 4 runs, 1 fault\n" in err


def test_one_step_may_be_named(sound: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("guess", "group.kinds/guess"):
        assert main(["author", "check", str(sound), "--repeat", "1", "--step", name]) == 0
        assert "group.kinds: 1 runs" in capfd.readouterr().err
    for name in ("gess", "group.other/guess"):
        assert main(["author", "check", str(sound), "--step", name]) == 2
        assert f"None of these lessons has a step {name}." in capfd.readouterr().err


def test_steps_that_build_on_each_other_start_from_the_solutions(
    tmp_path: Path, runner: Runner
) -> None:
    steps = """\
- id: first
  kind: write
  text: Make w 6.
  checks: [{value: {of: w, equals: 6}}]
  hints: [One., Two.]
  solution: w = x * 2
- id: second
  kind: write
  text: Send it back.
  checks: [{grad: {of: x, equals: 2}}]
  hints: [One., Two.]
  solution: w.backward()
"""
    folder = write_pack(tmp_path, {"a.b": steps})
    alone = faults_of(folder, runner)
    assert "E310" in {fault.code for fault in alone}  # nothing made w before the second step
    path = folder / "a" / "b.yaml"
    path.write_text("carry: true\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert [str(fault) for fault in faults_of(folder, runner)] == []


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    progress = Progress(terminal=True)
    progress.begin(4)
    for _ in range(4):
        progress.ran()
    progress.lesson("a.b", "4 runs, no faults")
    progress.end()
    frames = [frame.removeprefix("\x1b[K") for frame in shown.getvalue().split("\r")]
    assert frames[1] == "░" * 30 + " 0 of 4 runs"
    assert frames[3] == "█" * 15 + "░" * 15 + " 2 of 4 runs"
    assert frames[5] == "█" * 30 + " 4 of 4 runs"
    assert frames[6] == "a.b: 4 runs, no faults\n"
