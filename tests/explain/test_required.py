"""The programs that `explain` has to get right to the last number."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tutor.explain import Finding, findings, words
from tutor.trace import Trace

Run = Callable[..., Trace]

TWICE = """\
import torch
x = torch.ones(2, 2, requires_grad=True)
{forward}
y.backward(torch.ones(2, 2){first})
print(x.grad)
y.backward(torch.ones(2, 2))
print(x.grad)
"""

OUT_OF_PLACE = """\
import torch
a = torch.tensor(5., requires_grad=True)
def fn(a):
    b = a ** 2
    for i in range(2):
        b = b * b
    return b
def fn2(a):
    b = a ** 2
    c = a ** 2
    for i in range(2):
        c *= b
    return c
output = fn(a)
output.backward()
print(a.grad)
output = fn2(a)
output.backward()
print(a.grad)
"""

OVERWRITTEN = """\
import torch
a = torch.tensor(10., requires_grad=True)
def fn(a):
    b = a ** 2
    for i in range(5):
        b *= b
    return b
output = fn(a)
output.backward()
print(a.grad)
"""

APART = """\
import torch
x = torch.ones(3, requires_grad=True)
y = x.exp()

def bump(t):
    t.add_(1)
bump(y)
y.sum().backward()
"""

STEPPED = """\
import torch
w = torch.nn.Parameter(torch.tensor([1., 2.]))
opt = torch.optim.SGD([w], lr=0.1)
loss = (w ** 2).sum()
loss.backward(retain_graph=True)
opt.step()
loss.backward()
"""


def lines(finding: Finding, role: str) -> list[int]:
    return [place.line for place in finding.places if place.role == role]


def only(trace: Trace) -> Finding:
    found = findings(trace)
    assert len(found) == 1, [one.message for one in found]
    return found[0]


def test_a_sum_nothing_saved_for_is_a_note(run: Run) -> None:
    trace = run(TWICE.format(forward="y = x + 2", first=""))
    assert trace.outcome == "ok"
    note = only(trace)
    assert (note.kind, note.severity) == ("grad-accumulation", "note")
    assert [note.facts[name] for name in ("old", "new", "total")] == [1, 1, 2]
    assert words(note).title == "x.grad is a sum: 1 + 1 = 2"
    assert "tensor([[2., 2.]" in trace.end.output  # type: ignore[union-attr]


def test_a_second_backward_is_a_freed_graph(run: Run) -> None:
    trace = run(TWICE.format(forward="v = x.pow(3)\ny = v + 2", first=""))
    error = only(trace)
    assert (error.kind, error.severity) == ("freed-graph", "error")
    assert set(lines(error, "cause")) <= {3, 4}
    assert (lines(error, "witness"), lines(error, "surfaced")) == ([5], [7])
    assert error.facts["op"] == "PowBackward0"


def test_a_kept_graph_adds_up(run: Run) -> None:
    forward, first = "v = x.pow(3)\ny = v + 2", ", retain_graph=True"
    note = only(run(TWICE.format(forward=forward, first=first)))
    assert (note.kind, note.severity) == ("grad-accumulation", "note")
    assert [note.facts[name] for name in ("old", "new", "total")] == [3, 3, 6]
    assert (lines(note, "cause"), lines(note, "witness")) == ([7], [5])
    assert lines(note, "surfaced") == [8]


def test_the_loop_that_overwrites_what_it_kept(run: Run) -> None:
    error = only(run(OVERWRITTEN))
    assert (error.kind, error.severity) == ("inplace-saved", "error")
    assert (error.facts["found"], error.facts["expected"]) == (5, 4)
    assert (error.facts["tensor"], error.facts["op"]) == ("b", "MulBackward0")
    (cause,), (witness,) = error.at("cause"), error.at("witness")
    assert (cause.line, cause.iteration, cause.function) == (6, (5,), "fn")
    assert (witness.line, witness.iteration) == (6, (5,))
    assert [(spot.line, spot.function) for spot in cause.stack] == [(8, "<module>"), (6, "fn")]
    assert lines(error, "surfaced") == [9]
    assert cause.text == "b *= b"
    assert error.fixes[0].edits[0].new == "        b = b * b"


def test_out_of_place_and_a_write_that_nothing_needs(run: Run) -> None:
    trace = run(OUT_OF_PLACE)
    assert trace.outcome == "ok"
    note = only(trace)
    # d(a**8)/da = 8 * 5**7 = 625000 and d(a**6)/da = 6 * 5**5 = 18750.
    assert [note.facts[name] for name in ("old", "new", "total")] == [625000, 18750, 643750]


def test_the_places_of_a_helper_that_writes(run: Run) -> None:
    error = only(run(APART))
    assert error.kind == "inplace-saved"
    assert [lines(error, role) for role in ("cause", "witness", "surfaced")] == [[6], [3], [8]]
    (cause,) = error.at("cause")
    assert [(spot.line, spot.function) for spot in cause.stack] == [(7, "<module>"), (6, "bump")]


def test_a_step_between_a_forward_and_its_second_backward(run: Run) -> None:
    error = only(run(STEPPED))
    assert (error.kind, error.facts["optimizer"]) == ("optimizer-step-stale", "SGD")
    assert [lines(error, role) for role in ("cause", "witness", "surfaced")] == [[6], [4], [7]]


@pytest.mark.parametrize(
    ("code", "variant", "says"),
    [
        ("x = 1\nprint(y)\n", "other.name", "y is not defined"),
        ("value = 1\nprint(valeu)\n", "other.name-close", "Did you mean value?"),
        (
            "import torch\nx = torch.ones(2)\nprint x.grad\n",
            "other.old-print",
            "print is a function",
        ),
        ("def f(:\n    pass\n", "other.syntax", "not Python"),
        ("if True:\nx = 1\n", "other.indentation", "indentation"),
        ("print(1 / 0)\n", "other.zero-division", "Division by zero"),
        ("import torch\ntorch.ones(2, 3) @ torch.ones(2, 3)\n", "other.shapes", "torch refused"),
        ("import torch\ntorch.ones(2).to('cuda')\n", "other.device", "device is not there"),
        ("raise LookupError('no such row')\n", "other.own", "no such row"),
        ("import nosuchthing\n", "other.module", "nosuchthing"),
        ("assert 1 == 2\n", "other.assertion", "assertion"),
    ],
)
def test_ordinary_errors_tell_no_autograd_story(
    run: Run, code: str, variant: str, says: str
) -> None:
    error = only(run(code))
    assert (error.kind, error.message) == ("other", variant)
    said = words(error)
    assert says in said.title
    assert "backward" not in said.title + said.explanation
    (cause,), (surfaced,) = error.at("cause"), error.at("surfaced")
    assert (cause.file, cause.line) == (surfaced.file, surfaced.line)


def test_a_failing_backward_that_was_caught_is_no_failure(run: Run) -> None:
    code = OVERWRITTEN.replace(
        "output.backward()\nprint(a.grad)",
        "try:\n    output.backward()\nexcept RuntimeError:\n    print('caught')",
    )
    trace = run(code)
    assert (trace.outcome, findings(trace)) == ("ok", [])


def test_a_caught_failure_that_ends_the_program_is_explained(run: Run) -> None:
    code = OVERWRITTEN.replace(
        "output.backward()\nprint(a.grad)",
        "try:\n    output.backward()\nexcept RuntimeError:\n    raise SystemExit(3)",
    )
    trace = run(code)
    assert trace.outcome == "exited"
    assert only(trace).kind == "inplace-saved"
