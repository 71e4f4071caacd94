"""Each check on real runs: it holds, fails or stays undecided, and says what it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tutor.explain import findings
from tutor.lesson import Check, Evidence, Outcome
from tutor.run import Runner
from tutor.trace import Program, snippet

SETUP = "import torch\nx = torch.tensor([1., 2., 3.], requires_grad=True)\n"

Decide = Callable[[str, Any], Outcome]


@pytest.fixture(scope="module")
def decide(runner: Runner) -> Decide:
    """Run a code once for each check asked of it."""

    def go(code: str, data: Any) -> Outcome:
        check = Check.model_validate(data)
        program: Program = snippet(code, setup=SETUP, probes=check.asks(), timeout=20.0)
        trace = runner.run(program)
        return check.judge(Evidence(trace, findings(trace)))

    return go


EXP = "y = x.exp()\ny.sum().backward()\n"
STALE = "y = x.exp()\ny.add_(1)\ny.sum().backward()\n"
TWICE = "y = x.exp().sum()\ny.backward()\ny.backward()\n"
SUM = "y = x + 2\ny.sum().backward()\n"
LOOP = "a = torch.tensor(2., requires_grad=True)\nb = a ** 2\nfor i in range(3):\n    b *= b\n"

CASES = [
    # raises
    (EXP, {"raises": "none"}, "holds", "no error"),
    (STALE, {"raises": "none"}, "fails", "RuntimeError: one of the variables"),
    (STALE, {"raises": {"kind": "inplace-saved", "found": 1, "expected": 0}}, "holds", ""),
    (STALE, {"raises": {"kind": "freed-graph"}}, "fails", "kind inplace-saved"),
    (STALE, {"raises": {"expected": 7}}, "fails", "version expected 0"),
    (STALE, {"raises": {"at_line": 3, "cause_line": 2}}, "holds", ""),
    (STALE, {"raises": {"cause_line": 1}}, "fails", "line of the cause 2"),
    (LOOP + "b.backward()", {"raises": {"cause_iteration": ["3"]}}, "holds", ""),
    (TWICE, {"raises": {"kind": "freed-graph", "at_line": 3}}, "holds", ""),
    (EXP, {"raises": {"kind": "freed-graph"}}, "fails", "no error"),
    ("y = (", {"raises": "none"}, "fails", "SyntaxError"),
    ("import sys; sys.exit(3)", {"raises": "none"}, "holds", "no error"),
    # finding
    (EXP, {"finding": "none"}, "holds", "nothing"),
    (STALE, {"finding": "none"}, "fails", "inplace-saved (error)"),
    (STALE, {"finding": {"kind": "inplace-saved", "cause_line": 2}}, "holds", ""),
    (STALE, {"finding": {"severity": "warning"}}, "fails", "inplace-saved (error)"),
    # grad
    (EXP, {"grad": {"of": "x", "equals": "start.x.exp()"}}, "holds", "[2.7183, 7.3891, 20.086]"),
    (SUM, {"grad": {"of": "x", "equals": "[1., 1., 1.]"}}, "holds", "[1., 1., 1.]"),
    (SUM, {"grad": {"of": "x", "equals": "[1., 1., 2.]"}}, "fails", "[1., 1., 1.]"),
    (SUM, {"grad": {"of": "x", "equals": "1"}}, "fails", "of shape [3] instead of []"),
    ("y = x + 2", {"grad": {"of": "x", "equals": "1"}}, "undecided", "`x.grad` is None"),
    ("y = x + 2", {"grad": {"of": "x", "is": "none"}}, "holds", "None"),
    (SUM, {"grad": {"of": "x", "is": "none"}}, "fails", "a gradient"),
    (SUM, {"grad": {"of": "z", "is": "none"}}, "undecided", "there is no `z`"),
    (SUM, {"grad": {"of": "x", "finite": "true"}}, "holds", ""),
    (
        "x.log().mul(0).div(0).sum().backward()",
        {"grad": {"of": "x", "finite": "true"}},
        "fails",
        "nan",
    ),
    (
        "z = x.detach().clone().requires_grad_()\n(x.sum() + z.sum()).backward()",
        {"grad": {"of": "x", "same_as": "z"}},
        "holds",
        "",
    ),
    # the learner may have changed x: start.x is what the setup gave
    (
        EXP + "with torch.no_grad(): x.zero_()",
        {"grad": {"of": "x", "equals": "start.x.exp()"}},
        "holds",
        "",
    ),
    # value
    (SUM, {"value": {"of": "y", "equals": "[3, 4, 5]"}}, "holds", "[3., 4., 5.]"),
    (SUM, {"value": {"of": "y", "shape": ["3"], "dtype": "torch.float32"}}, "holds", ""),
    (SUM, {"value": {"of": "y", "shape": ["1", "3"]}}, "fails", "shape [3]"),
    (SUM, {"value": {"of": "y.sum()", "equals": "12"}}, "holds", "12."),
    ("n = 3", {"value": {"of": "n", "equals": "3"}}, "holds", "3"),
    ("n = 'three'", {"value": {"of": "n", "equals": "3"}}, "undecided", "not a tensor"),
    ("y = torch.tensor([torch.nan])", {"value": {"of": "y", "equals": "[torch.nan]"}}, "holds", ""),
    # flags
    (EXP, {"flags": {"of": "y", "is_leaf": "false", "requires_grad": "true"}}, "holds", ""),
    (EXP, {"flags": {"of": "y", "retains_grad": "true"}}, "fails", "does not retain"),
    (
        "with torch.inference_mode(): y = x * 2",
        {"flags": {"of": "y", "is_inference": "true"}},
        "holds",
        "",
    ),
    # version
    ("y = x * 2\ny.add_(1).add_(1)", {"version": {"of": "y", "equals": "2"}}, "holds", "version 2"),
    ("with torch.no_grad(): x.add_(1)", {"version": {"of": "x", "bumped_by": "1"}}, "holds", ""),
    ("y = x * 2\ny.add_(1)", {"version": {"of": "y", "bumped_by": "2"}}, "fails", "moved by 1"),
    (
        "y = x * 2\ny.add_(1)\nv = y[:2]\nv.mul_(2)",
        {"version": {"of": "v", "bumped_by": "1"}},
        "holds",
        "moved by 1",
    ),
    ("y = x.detach()", {"version": {"of": "y", "same_counter_as": "x"}}, "holds", "share one"),
    ("y = x.data", {"version": {"of": "y", "same_counter_as": "x"}}, "fails", "its own"),
    # storage
    ("y = x.data", {"storage": {"same": ["x", "y"]}}, "holds", ""),
    ("y = x.clone()", {"storage": {"same": ["x", "y"]}}, "fails", "of their own"),
    ("y = x[:2]", {"storage": {"of": "y", "view_of": "x"}}, "holds", ""),
    ("y = x.detach()", {"storage": {"of": "y", "view_of": "x"}}, "fails", "no view"),
    # graph
    (EXP, {"graph": {"of": "y", "path": ["ExpBackward0", "leaf x"]}}, "holds", ""),
    (
        "y = (x.exp() + 1) * 2",
        {"graph": {"of": "y", "path": ["MulBackward0", "ExpBackward0"]}},
        "holds",
        "",
    ),
    (
        "y = (x.exp() + 1) * 2",
        {"graph": {"of": "y", "path": ["ExpBackward0", "MulBackward0"]}},
        "fails",
        "MulBackward0(AddBackward0(ExpBackward0(leaf x)))",
    ),
    (
        "w = torch.ones(3, requires_grad=True)\ny = x * w",
        {"graph": {"of": "y", "tree": "MulBackward0(leaf x, leaf w)"}},
        "holds",
        "",
    ),
    (
        "w = torch.ones(3, requires_grad=True)\ny = x * w",
        {"graph": {"of": "y", "leaves": ["x"]}},
        "fails",
        "",
    ),
    (
        "w = torch.ones(3, requires_grad=True)\ny = x * w",
        {"graph": {"of": "y", "leaves": ["w", "x"], "nodes": {"max": "3"}}},
        "holds",
        "",
    ),
    (EXP, {"graph": {"of": "y", "lacks": ["AddBackward0"], "has": ["ExpBackward0"]}}, "holds", ""),
    ("y = x.exp().detach()", {"graph": {"of": "y", "has": ["ExpBackward0"]}}, "fails", "nothing"),
    (EXP, {"graph": {"of": "y", "freed": "true"}}, "holds", "freed"),
    ("y = x.exp()", {"graph": {"of": "y", "freed": "true"}}, "fails", "no backward"),
    ("y = x + 1", {"graph": {"of": "y", "freed": "true"}}, "fails", "no backward"),
    (
        "y = x.exp()\ny.sum().backward(retain_graph=True)",
        {"graph": {"of": "y", "freed": "true"}},
        "fails",
        "ExpBackward0 still keeps",
    ),
    ("y = x.exp()", {"graph": {"of": "y", "path": ["leaf gone"]}}, "undecided", "no `gone`"),
    # saved
    ("y = x.exp()", {"saved": {"of": "y", "names": ["result"], "state": "live"}}, "holds", ""),
    ("y = x.exp()\ny.add_(1)", {"saved": {"of": "ExpBackward0", "state": "stale"}}, "holds", ""),
    ("y = x + 2", {"saved": {"of": "y", "count": "0"}}, "holds", "keeps nothing"),
    ("y = x.pow(2)", {"saved": {"of": "y", "shares_storage_with": "x"}}, "holds", ""),
    ("y = x.pow(2)", {"saved": {"of": "y", "shares_storage_with": "y"}}, "fails", "self"),
    ("y = x * 1\ny *= y", {"saved": {"of": "y", "save": "self", "role": "copy"}}, "holds", ""),
    (
        "y = x * 1\ny *= y",
        {"saved": {"of": "y", "save": "other", "version": "0", "state": "stale"}},
        "holds",
        "",
    ),
    (
        "y = x.pow(2)",
        {"saved": {"of": "SinBackward0", "count": "1"}},
        "undecided",
        "no SinBackward0",
    ),
    # output and warnings
    ("print('a\\nb  ')", {"output": {"equals": "a\nb\n", "lines": "2"}}, "holds", ""),
    ("print('a')", {"output": {"contains": ["a", "b"]}}, "fails", "'a\\n'"),
    ("print('x = 17')", {"output": {"matches": r"^x = \d+$"}}, "holds", ""),
    ("pass", {"output": {"contains": "a"}}, "fails", "printed nothing"),
    (
        "import warnings\nwarnings.warn('careful', FutureWarning)",
        {"warns": {"category": "FutureWarning", "contains": "care"}},
        "holds",
        "",
    ),
    ("pass", {"warns": {"contains": "care"}}, "fails", "nothing"),
    # source and calls
    (
        "with torch.no_grad():\n    y = x",
        {"source": {"uses": ["torch.no_grad", "with"]}},
        "holds",
        "",
    ),
    ("y = x.data", {"source": {"forbids": ["data"]}}, "fails", "data is there"),
    ("b = 2\nb *= b", {"source": {"uses": ["*="]}}, "holds", ""),
    ("# one\n\nb = 2\nb = 3", {"source": {"max_lines": "1"}}, "fails", "2 lines"),
    ("b = (", {"source": {"uses": ["b"]}}, "undecided", "not valid Python"),
    ("def f(): pass\nf()\nf()", {"calls": {"fn": "f", "times": "2"}}, "holds", "called 2 times"),
    # logic
    (EXP, {"all": [{"raises": "none"}, {"finding": "none"}]}, "holds", ""),
    (EXP, {"any": [{"raises": {"kind": "other"}}, {"finding": "none"}]}, "holds", ""),
    (
        EXP,
        {"any": [{"raises": {"kind": "other"}}, {"value": {"of": "z", "equals": "1"}}]},
        "undecided",
        "",
    ),
    (
        EXP,
        {"all": [{"raises": {"kind": "other"}}, {"value": {"of": "z", "equals": "1"}}]},
        "fails",
        "",
    ),
    (EXP, {"not": {"raises": {"kind": "other"}}}, "holds", ""),
    (EXP, {"not": {"value": {"of": "z", "equals": "1"}}}, "undecided", "there is no `z`"),
]


@pytest.mark.parametrize(("code", "data", "status", "got"), CASES)
def test_check(decide: Decide, code: str, data: Any, status: str, got: str) -> None:
    outcome = decide(code, data)
    assert (outcome.status, outcome.wanted, outcome.got) == (status, outcome.wanted, outcome.got)
    assert got in outcome.got
    assert outcome.wanted


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"raises": "none"}, "undecided"),
        ({"finding": "none"}, "undecided"),
        ({"output": {"contains": "never"}}, "undecided"),
        ({"output": {"contains": "begun"}}, "holds"),
        ({"grad": {"of": "x", "is": "none"}}, "undecided"),
        ({"not": {"output": {"contains": "never"}}}, "undecided"),
    ],
)
def test_a_run_that_was_stopped_leaves_open_what_did_not_come(
    runner: Runner, data: Any, status: str
) -> None:
    check = Check.model_validate(data)
    code = "print('begun', flush=True)\nwhile True: pass"
    trace = runner.run(snippet(code, setup=SETUP, probes=check.asks(), timeout=0.5))
    outcome = check.judge(Evidence(trace, findings(trace)))
    assert outcome.status == status
    if status == "undecided":
        assert "did not end by itself" in outcome.got


def test_equal_questions_are_asked_once() -> None:
    check = Check.model_validate(
        {
            "all": [
                {"grad": {"of": "x", "is": "none"}},
                {"flags": {"of": "x", "is_leaf": "true"}},
                {"version": {"of": "x", "equals": "0"}},
            ]
        }
    )
    assert len(check.asks()) == 1


def test_what_a_check_says_reads_as_a_sentence() -> None:
    says = {
        "`x.grad` is `2 * start.x`": {"grad": {"of": "x", "equals": "2 * start.x"}},
        "the graph of `y` leads through ExpBackward0, then leaf x": {
            "graph": {"of": "y", "path": ["ExpBackward0", "leaf x"]}
        },
        "it is not so that the program ends without an error": {"not": {"raises": "none"}},
        "`y` requires grad and is not a leaf": {
            "flags": {"of": "y", "requires_grad": "true", "is_leaf": "false"}
        },
        "the code does without `data`": {"source": {"forbids": "data"}},
    }
    for sentence, data in says.items():
        assert Check.model_validate(data).says() == sentence
