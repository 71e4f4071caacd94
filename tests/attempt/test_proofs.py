"""Each broken promise of a lesson is found, named and placed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.attempt.written import lesson
from tutor.attempt import Attempts
from tutor.attempt.proofs import RULES, prove
from tutor.attempt.trials import without_last_statement
from tutor.lesson import Fault
from tutor.run import Runner

SOUND = """
- id: guess
  kind: predict
  text: T
  code: |
    y = x ** 2
    y.backward()
  choices:
    - {id: six, text: S, holds: [{grad: {of: x, equals: 6}}]}
    - {id: nine, text: N, holds: [{grad: {of: x, equals: 9}}]}
  answer: six
- id: mend
  kind: fix
  text: T
  starter: |
    y = x ** 2
    y.backward()
  checks:
    - {raises: none}
    - {grad: {of: x, equals: 12}}
  mistakes:
    - id: forgot
      when: [{raises: none}, {grad: {of: x, is: none}}]
      say: Send it back.
      example: y = 2 * x ** 2
    - id: value
      when: [{value: {of: y, equals: 12}}]
      say: Not the value.
      example: |
        y = x + 9
        y.backward()
  hints:
    - Look at the factor.
  solution: |
    y = 2 * x ** 2
    y.backward()
  also:
    - |
      y = 12 * x
      y.backward()
- id: look
  kind: run
  text: T
  code: y = x
  checks: [{value: {of: y, equals: 3}}]
- id: gap
  kind: fill
  text: T
  code: |
    z = x * ⟦factor⟧
    z.backward()
  blanks: {factor: {answer: "7", also: ["(3 + 4)"]}}
  checks: [{grad: {of: x, equals: 7}}]
- id: arrange
  kind: order
  text: T
  lines: ["p = x * 2", "q = p + 1", "q.backward()"]
  extra: ["p = 0"]
  checks: [{graph: {of: q, path: [AddBackward0, MulBackward0], freed: true}}]
- id: pick
  kind: choice
  text: T
  choices: [{id: a, text: A, right: true}, {id: b, text: B}]
"""


@pytest.fixture
def faults(tmp_path: Path, runner: Runner):  # type: ignore[no-untyped-def]
    def go(steps: str, repeat: int = 1) -> list[Fault]:
        made, document = lesson(tmp_path, steps)
        found = asyncio.run(prove(Attempts(runner), made, document, repeat=repeat))
        for fault in found:
            assert RULES[fault.code] == fault.rule
            assert fault.line > 1
        return list(found)

    return go


def test_a_sound_lesson_has_no_faults(faults) -> None:  # type: ignore[no-untyped-def]
    assert faults(SOUND, repeat=2) == []


@pytest.mark.parametrize(
    ("old", "new", "code", "told", "line"),
    [
        ("answer: six", "answer: nine", "E301", 'but the run makes "six"', "answer: n"),
        ("equals: 9}}]}", "equals: 6}}]}", "E302", '"six" and "nine" hold', "- {id: six"),
        ("equals: 6}}]}", "equals: 5}}]}", "E303", "no choice", "- {id: six"),
        ("equals: 12}}\n", "equals: 13}}\n", "E310", "got 12.", "solution: |"),
        ("equals: 12}}\n", "equals: 6}}\n", "E311", "passes every check", "starter: |"),
        ("y = 12 * x", "y = 11 * x", "E312", "also[1] fails", "- |"),
        ('"(3 + 4)"', '"(3 + 5)"', "E312", "also[1] fails: check 1 wanted", "- id: gap"),
        ('answer: "7"', 'answer: "8"', "E310", "solution fails", "- id: gap"),
        ('"q = p + 1"', '"q = x + 1"', "E310", "solution fails", "- id: arrange"),
        ("    - {grad: {of: x, equals: 12}}\n", "", "E313", "no code at all", "- {raises: none}"),
        ("equals: 3}}]", "equals: 4}}]", "E314", "does not pass", "code: y = x"),
        ("y = x + 9", "y = 12 * x", "E320", "passes the step", "example: |"),
        ("y = x + 9", "y = x + 8", "E321", "does not trigger it", "example: |"),
        ("y = 2 * x ** 2\n    - id", "y = 4 * x\n    - id", "E322", 'triggers "value"', "example"),
        ("equals: 12}}]", "equals: 18}}]", "E323", "fires on solution", "when: [{value"),
        ("      example: y = 2 * x ** 2\n", "", "E324", "no example", "- id: forgot"),
        ("Look at the factor.", "Try y = 2 * x ** 2 maybe.", "E330", "gives a line", "- Try"),
        ("      y = 12 * x\n", "      y = 12 * x\n      import time; time.sleep(0.4)\n",
         "E341", "more than a third", "- |"),
    ],
)  # fmt: skip
def test_what_is_not_so_is_found(  # type: ignore[no-untyped-def]
    faults, tmp_path: Path, old: str, new: str, code: str, told: str, line: str
) -> None:
    assert old in SOUND
    steps = SOUND.replace(old, new)
    if code == "E341":
        steps = steps.replace("- id: mend\n", "- id: mend\n  timeout: 1\n")
    found = [fault for fault in faults(steps) if fault.code == code]
    assert found, f"{code} was not found"
    assert told in found[0].message
    assert found[0].source.strip().startswith(line)


def test_a_program_cut_short_must_not_pass(faults) -> None:  # type: ignore[no-untyped-def]
    steps = SOUND.replace(
        "    - {grad: {of: x, equals: 12}}\n", "    - {value: {of: y, equals: 18}}\n"
    )
    told = [f for f in faults(steps) if f.code == "E313"]
    assert ["cut short" in fault.message for fault in told] == [True]
    assert "y = 2 * x ** 2" in told[0].help


def test_a_setup_that_fails_is_told_and_nothing_else_of_that_run(  # type: ignore[no-untyped-def]
    faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.attempt import written

    monkeypatch.setattr(written, "HEAD", written.HEAD + "  1 / 0\n")
    found = faults(SOUND)
    assert {fault.code for fault in found} == {"E300"}
    assert "ZeroDivisionError" in found[0].message
    assert found[0].source == "setup: |"


def test_what_differs_from_run_to_run_is_found(faults) -> None:  # type: ignore[no-untyped-def]
    steps = """
- id: luck
  kind: run
  text: T
  code: |
    import os
    y = int.from_bytes(os.urandom(8), "big") % 2**40
  checks: [{value: {of: y, equals: 0}}]
"""
    assert "E340" in {fault.code for fault in faults(steps, repeat=2)}


@pytest.mark.parametrize(
    ("code", "shorter"),
    [
        ("a = 1\nb = 2\n", "a = 1\n"),
        ("a = 1; b = 2\n", "a = 1\n"),
        ("a = 1\nfor i in a:\n    b = 2\n    c = 3\n", "a = 1\n"),
        ("a = 1\n@a\ndef f():\n    pass\n", "a = 1\n"),
        ("a = 1\n", ""),
        ("", ""),
        ("a = (", ""),
    ],
)
def test_without_the_last_statement(code: str, shorter: str) -> None:
    assert without_last_statement(code) == shorter
