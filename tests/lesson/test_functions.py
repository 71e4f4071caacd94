"""Checks on functions: hooks in their order, and functions that agree with the solution's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.attempt.written import lesson
from tutor.attempt import Attempts, CheckResult
from tutor.explain import findings
from tutor.lesson import Check, Evidence, Outcome
from tutor.run import Runner
from tutor.trace import snippet

SETUP = "import torch\nx = torch.tensor([1., 2.], requires_grad=True)\n"

HOOKS = """\
def inner(g):
    return g
def on_y(g):
    return inner(g)
def on_x(g):
    pass
def after(leaf):
    pass
y = x * 2
inner(1)
x.register_hook(on_x)
x.register_post_accumulate_grad_hook(after)
y.register_hook(on_y)
y.sum().backward()
inner(2)
"""


@pytest.mark.parametrize(
    ("code", "data", "status", "got"),
    [
        # The engine comes to y first; a post hook runs when the gradient is there.
        (HOOKS, {"order": ["on_y", "on_x", "after"]}, "holds", "on_y, then on_x, then after"),
        (HOOKS, {"order": ["on_x", "on_y", "after"]}, "fails", "on_y, then on_x, then after"),
        (HOOKS, {"order": ["on_y", "on_x", "after"], "count": 3}, "holds", ""),
        (HOOKS, {"count": 4}, "fails", "on_y"),
        (HOOKS + "(x * 3).sum().backward()", {"count": 5}, "holds", "on_x"),
        ("y = x * 2", {"count": 0}, "holds", "no function of yours"),
        ("y = x * 2", {"order": ["on_y"]}, "fails", "no function of yours"),
        (HOOKS.replace("    pass", "    raise ValueError", 1), {"count": 3}, "fails", "on_x"),
        ("(x * 2).sum().backward()\nwhile True: pass", {"count": 0}, "undecided", "not seen whole"),
    ],
)
def test_hooks(runner: Runner, code: str, data: Any, status: str, got: str) -> None:
    check = Check.model_validate({"hooks": data})
    slow = "while" in code
    trace = runner.run(snippet(code, setup=SETUP, timeout=0.7 if slow else 20.0))
    outcome: Outcome = check.judge(Evidence(trace, findings(trace)))
    assert outcome.status == status
    assert got in outcome.got


STEPS = """
- id: write
  kind: write
  text: T
  checks:
    - agrees: {call: f, inputs: {a: {shape: [3]}, b: {shape: [3], range: [1, 2]}}, cases: 4}
  solution: |
    def f(a, b):
        return (a * b).sum()
"""


@pytest.fixture
def judged(tmp_path: Path, runner: Runner) -> Callable[[str], CheckResult]:
    """What the check says of a code, against the solution above."""
    made, _ = lesson(tmp_path, STEPS)

    def go(code: str) -> CheckResult:
        return Attempts(runner).try_(made, made.steps[0], code).verdict.checks[0]

    return go


@pytest.mark.parametrize(
    ("code", "status", "wanted", "got"),
    [
        ("def f(a, b):\n    return (a * b).sum()", "holds", "", "4 inputs agree"),
        ("def f(u, v):\n    return torch.dot(u, v)", "holds", "", "4 inputs agree"),
        ("f = lambda a, b: sum(p * q for p, q in zip(a, b))", "holds", "", "agree"),
        ("def f(a, b):\n    return (a + b).sum()", "fails", "the value for a = [", ""),
        # The value is right, and the way back is cut or bent.
        ("def f(a, b):\n    return (a.data * b).sum()", "fails", "gradient of a", "no gradient"),
        ("def f(a, b):\n    return (a * b).sum() + (b - b.detach()).sum()",
         "fails", "the gradient of b", "["),
        ("def f(a, b):\n    return a * b", "fails", "the value", "["),
        ("def f(a, b):\n    return (a * b).sum(), 1", "fails", "the number of results", "2"),
        ("def f(a):\n    return a", "fails", "the call", "TypeError"),
        ("def f(a, b):\n    raise SystemExit", "fails", "the call", "SystemExit"),
        ("def f(a, b):\n    print('noise')\n    return (a * b).sum()", "holds", "", "agree"),
        ("f = 3", "undecided", "", "`f` is not a function"),
        ("g = 3", "undecided", "", "there is no `f`"),
    ],
)  # fmt: skip
def test_a_function_agrees_with_the_solution(
    judged: Callable[[str], CheckResult], code: str, status: str, wanted: str, got: str
) -> None:
    result = judged(code)
    assert result.status == status, result
    assert wanted in result.wanted
    assert got in result.got


def test_what_is_printed_while_comparing_is_not_the_programs(
    tmp_path: Path, runner: Runner
) -> None:
    made, _ = lesson(tmp_path, STEPS)
    code = "def f(a, b):\n    print('noise')\n    return (a * b).sum()\nprint('mine')"
    attempt = Attempts(runner).try_(made, made.steps[0], code)
    assert "".join(text for _, text in attempt.trace.last.output) == "mine\n"


def test_a_solution_that_defines_no_such_function_is_undecided(
    tmp_path: Path, runner: Runner
) -> None:
    made, _ = lesson(tmp_path, STEPS.replace("def f(a, b)", "def g(a, b)"))
    verdict = Attempts(runner).try_(made, made.steps[0], "def f(a, b):\n    return a").verdict
    assert verdict.status == "undecided"
    assert "the solution cannot be called: it defines no function f" in verdict.checks[0].got
