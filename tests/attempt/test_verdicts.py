"""A try of each kind of step: what is decided, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.attempt.written import lesson
from tutor.attempt import Answer, Attempt, Attempts
from tutor.run import Runner
from tutor.trace import Trace

STEPS = """
- {id: read, kind: read, text: T}
- {id: look, kind: run, text: T, code: y = x ** 2}
- id: checked
  kind: run
  text: T
  code: y = x ** 2
  checks: [{value: {of: y, equals: 9}}]
- id: guess
  kind: predict
  text: T
  code: |
    y = x ** 2
    y.backward()
  choices:
    - {id: six, text: S, holds: [{grad: {of: x, equals: 6}}]}
    - {id: nine, text: N, holds: [{grad: {of: x, equals: 9}}], say: That is y.}
  answer: six
- id: guesses
  kind: predict
  text: T
  code: y = x ** 2
  questions:
    - id: value
      text: V
      choices:
        - {id: nine, text: N, holds: [{value: {of: y, equals: 9}}]}
        - {id: six, text: S, holds: [{value: {of: y, equals: 6}}]}
      answer: nine
    - id: grad
      text: G
      choices:
        - {id: none, text: N, holds: [{grad: {of: x, is: none}}]}
        - {id: some, text: S, holds: [{not: {grad: {of: x, is: none}}}]}
      answer: none
- id: pick
  kind: choice
  text: T
  choices:
    - {id: a, text: A, right: true}
    - {id: b, text: B, say: Not b.}
    - {id: c, text: C, right: true}
- id: gap
  kind: fill
  text: T
  code: y = ⟦left⟧ * ⟦right⟧
  blanks: {left: {answer: x}, right: {answer: "2"}}
  checks: [{value: {of: y, equals: 6}}]
- id: mend
  kind: fix
  text: T
  starter: y = x ** 2
  solution: |
    y = 2 * x ** 2
    y.backward()
  checks:
    - {raises: none}
    - {grad: {of: x, equals: 12}, why: Twice as steep.}
  mistakes:
    - id: forgot
      when: [{raises: none}, {grad: {of: x, is: none}}]
      say: Send it back.
      example: y = 2 * x ** 2
  hints:
    - First.
    - {say: Only while there is no gradient., when: [{grad: {of: x, is: none}}]}
    - Last.
- id: steep
  kind: write
  text: T
  solution: |
    y = x ** 3
    y.backward()
  checks: [{grad: {of: x, numeric: {}}}]
- id: arrange
  kind: order
  text: T
  lines: ["y = x * 2", "z = y + 1", "z.backward()"]
  extra: ["y = 0"]
  checks: [{grad: {of: x, equals: 2}}]
"""


@pytest.fixture
def attempt(tmp_path: Path, runner: Runner) -> Any:
    made, _ = lesson(tmp_path, STEPS)
    attempts = Attempts(runner)

    def go(step_id: str, code: str | None = None, answer: Answer = None) -> Attempt:
        step = made.step(step_id)
        assert step is not None
        return attempts.try_(made, step, step.starting_code if code is None else code, answer)

    return go


def test_reading_is_done_by_reading(attempt: Any) -> None:
    tried = attempt("read")
    assert tried.verdict.done
    assert len(tried.trace) == 0


def test_a_run_without_checks_is_done_when_it_ended(attempt: Any) -> None:
    assert attempt("look").verdict.status == "ran"
    assert attempt("look", "1 / 0").verdict.status == "ran"
    assert attempt("checked").verdict.status == "passed"
    assert attempt("checked", "y = x").verdict.status == "failed"


def test_the_run_decides_a_prediction(attempt: Any) -> None:
    right = attempt("guess", answer="six").verdict
    assert (right.status, right.true_choice, right.chosen_right) == ("passed", "six", True)
    wrong = attempt("guess", answer="nine").verdict
    assert (wrong.status, wrong.true_choice, wrong.chosen_right) == ("passed", "six", False)
    assert wrong.mistake == "That is y."
    got = {choice.id: choice.checks[0].got for choice in wrong.choices}
    assert got == {"six": "6.", "nine": "6."}
    assert [choice.id for choice in wrong.choices if choice.chosen] == ["nine"]


def test_without_an_answer_nothing_is_predicted(attempt: Any) -> None:
    for answer in (None, "no such choice"):
        verdict = attempt("guess", answer=answer).verdict
        assert (verdict.status, verdict.chosen_right) == ("undecided", None)
        assert verdict.true_choice == "six"


def test_a_run_that_makes_two_answers_true_decides_nothing(attempt: Any) -> None:
    both = attempt("guess", code="x.grad = torch.tensor(6.)\nx = x", answer="six").verdict
    assert both.true_choice == "six"
    neither = attempt("guess", code="pass", answer="six").verdict
    assert (neither.status, neither.true_choice) == ("undecided", None)


def test_several_questions_about_one_run(attempt: Any) -> None:
    verdict = attempt("guesses", answer={"value": "nine", "grad": "some"}).verdict
    assert verdict.status == "passed"
    assert verdict.chosen_right is False
    assert [(q.id, q.true_choice, q.right) for q in verdict.questions] == [
        ("value", "nine", True),
        ("grad", "none", False),
    ]
    assert attempt("guesses", answer={"value": "nine"}).verdict.status == "undecided"


@pytest.mark.parametrize(
    ("answer", "status", "say"),
    [
        (("a", "c"), "passed", None),
        (("c", "a"), "passed", None),
        (("a",), "failed", None),
        (("a", "b", "c"), "failed", "Not b."),
        ("b", "failed", "Not b."),
        (None, "undecided", None),
        ((), "undecided", None),
    ],
)
def test_a_choice_is_right_with_all_right_ones(
    attempt: Any, answer: Answer, status: str, say: str | None
) -> None:
    verdict = attempt("pick", answer=answer).verdict
    assert (verdict.status, verdict.mistake) == (status, say)


def test_blanks_are_judged_by_running(attempt: Any) -> None:
    tried = attempt("gap", answer={"left": "x + 0", "right": "(4 - 2)"})
    assert tried.code == "y = x + 0 * (4 - 2)"
    assert tried.verdict.status == "failed"
    assert attempt("gap", answer={"left": "(x + 0)", "right": "2"}).verdict.status == "passed"
    half = attempt("gap", answer={"left": "x"})
    assert half.verdict.status == "undecided"
    assert half.trace.raised.kind == "SyntaxError"


def test_a_fix_says_wanted_got_and_why(attempt: Any) -> None:
    failed = attempt("mend", "y = x ** 2\ny.backward()").verdict
    assert failed.status == "failed"
    wrong = failed.checks[1]
    assert (wrong.status, wrong.got, wrong.why) == ("fails", "6.", "Twice as steep.")
    assert "12" in wrong.wanted
    passed = attempt("mend", "y = 2 * x ** 2\ny.backward()").verdict
    assert passed.status == "passed"
    assert all(check.why == "" for check in passed.checks)


def test_a_known_mistake_is_answered(attempt: Any) -> None:
    verdict = attempt("mend", "y = 2 * x ** 2").verdict
    assert verdict.status == "undecided"
    assert (verdict.mistake_id, verdict.mistake) == ("forgot", "Send it back.")


def test_hints_that_were_followed_are_left_out(attempt: Any) -> None:
    assert attempt("mend", "y = x").verdict.hints == (
        "First.",
        "Only while there is no gradient.",
        "Last.",
    )
    verdict = attempt("mend", "y = x ** 2\ny.backward()").verdict
    assert verdict.hints == ("First.", "Last.")
    assert verdict.next_hint == "First."


def test_a_slope_is_measured_by_running_again(attempt: Any) -> None:
    right = attempt("steep", "y = x.sin() * x\ny.backward()").verdict
    assert right.status == "passed", right.checks
    painted = attempt("steep", "y = x ** 3\ny.backward()\nx.grad += 1").verdict
    assert painted.status == "failed"
    # The slope of x ** 3 at 3 is 27, along a direction that is 1 or -1.
    assert "27" in painted.checks[0].wanted
    assert "28" in painted.checks[0].got
    random = attempt("steep", "y = x * torch.randn(()) \ny.backward()").verdict
    assert random.status == "passed", random.checks
    none = attempt("steep", "y = x ** 3").verdict
    assert none.status == "undecided"


def test_any_order_that_passes_is_right(attempt: Any) -> None:
    made = attempt("arrange", answer=())
    shown = list(made.step.shown)
    number = {line: shown.index(line) + 1 for line in shown}
    right = tuple(number[line] for line in made.step.lines)
    assert attempt("arrange", answer=right).verdict.status == "passed"
    assert attempt("arrange", answer=right[::-1]).verdict.status != "passed"
    assert attempt("arrange", answer=right[:-1]).verdict.status == "undecided"


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("while True: pass", "timeout"),
        ("import os; os._exit(3)", "exited"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed"),
        ("print x.grad", "error"),
        ("x\0y", "error"),
        ("é = 'ü'", "ok"),
    ],
)
def test_any_end_of_a_run_is_a_verdict(
    tmp_path: Path, runner: Runner, code: str, outcome: str
) -> None:
    made, _ = lesson(tmp_path, STEPS.replace("id: mend", "id: mend\n  timeout: 0.5"))
    step = made.step("mend")
    assert step is not None
    tried = Attempts(runner).try_(made, step, code)
    assert tried.trace.outcome == outcome
    assert tried.verdict.status in ("failed", "undecided")
    assert all(check.got for check in tried.verdict.checks)


async def test_the_same_without_blocking(tmp_path: Path, runner: Runner) -> None:
    made, _ = lesson(tmp_path, STEPS)
    attempts, heard = Attempts(runner), []
    step = made.step("mend")
    assert step is not None

    def hear(trace: Trace, events: Any) -> None:
        heard.extend(events)

    tried = await attempts.try_async(made, step, step.solution or "", on_events=hear)
    assert tried.verdict.status == "passed"
    assert heard == list(tried.trace.events)
    steep = made.step("steep")
    assert steep is not None
    tried = await attempts.try_async(made, steep, steep.solution or "")
    assert tried.verdict.status == "passed"


def test_judging_again_gives_the_same(tmp_path: Path, runner: Runner) -> None:
    made, _ = lesson(tmp_path, STEPS)
    attempts = Attempts(runner)
    step = made.step("mend")
    assert step is not None
    tried = attempts.try_(made, step, "y = 2 * x ** 2")
    again = attempts.judge(made, step, tried.code, None, tried.trace)
    assert again.verdict == tried.verdict


def test_carried_code_runs_before_the_learners(tmp_path: Path, runner: Runner) -> None:
    made, _ = lesson(tmp_path, STEPS)
    carrying = made.model_copy(update={"carry": True})
    step = made.step("checked")
    assert step is not None
    attempts = Attempts(runner)
    earlier = ["def square(v):\n    return v ** 2"]
    assert attempts.try_(carrying, step, "y = square(x)", carried=earlier).verdict.done
    plain = attempts.try_(made, step, "y = square(x)", carried=earlier)
    assert plain.trace.raised is not None
    assert plain.trace.raised.kind == "NameError"
