"""Traces made by hand: the events that a run of a small program emits, values written out."""

from __future__ import annotations

import math

from tutor.explain.finding import Edit, Finding, FindingPlace, Fix
from tutor.trace import events as ev
from tutor.trace.events import NONE, Save, Value
from tutor.trace.program import snippet
from tutor.trace.trace import End, Trace

SETUP = "import torch\nx = torch.tensor([1., 2., 3.], requires_grad=True)\n"
FAILING = "y = x.exp()\ny.add_(1)\ny.sum().backward()\n"
HEALTHY = "y = x.exp()\ny = y + 1\ny.sum().backward()\n"
FOUNDING = (
    "a = torch.full((), 5., requires_grad=True)\n"
    "def fn(a):\n"
    "    b = a ** 2\n"
    "    for _ in range(5):\n"
    "        b *= b\n"
    "    return b\n"
    "output = fn(a)\n"
    "output.backward()\n"
)
X = (1.0, 2.0, 3.0)
EXP = tuple(math.exp(v) for v in X)
EXP1 = tuple(v + 1 for v in EXP)
MESSAGE = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [torch.FloatTensor [3]], which is output 0 of Add, is at version 1; expected "
    "version 0 instead."
)


def vec(*flat: float) -> Value:
    return Value((len(flat),), "torch.float32", tuple(flat))


def scalar(value: float) -> Value:
    return Value((), "torch.float32", (value,))


def tensor(
    uid: int,
    counter: int,
    *,
    shape: tuple[int, ...] = (3,),
    leaf: bool = False,
    node: int = NONE,
    version: int = 0,
    requires_grad: bool = True,
    label: str = "",
    storage: int | None = None,
    base: int = NONE,
) -> ev.Tensor:
    return ev.Tensor(
        uid,
        shape,
        "torch.float32",
        "cpu",
        requires_grad,
        leaf,
        node,
        0,
        counter,
        version,
        storage if storage is not None else counter,
        base,
        "Tensor",
        label,
    )


def save(name: str, uid: int, counter: int, version: int, role: str = "input") -> Save:
    return Save(name, uid, counter, counter, version, (3,), "torch.float32", role)


def ended(trace: Trace, outcome: str = "ok", output: str = "") -> Trace:
    trace.end = End(outcome, 0, None, 0.03, output)  # type: ignore[arg-type]
    return trace


def _opening(code: str) -> list[ev.AnyEvent]:
    """The setup: x, a leaf of three elements."""
    return [
        ev.Start("2.13.0", "3.11", 1),
        ev.Text("setup.py", SETUP, "setup"),
        ev.Enter(1, "<module>", "setup.py", 1),
        ev.Line(1, 1),
        ev.Line(1, 2),
        ev.Op(0, "torch.tensor", (), (1,)),
        tensor(1, 1, leaf=True),
        ev.Contents(1, vec(*X)),
        ev.Bind(1, "x", 1),
        ev.Leave(1),
        ev.Text("snippet.py", code),
        ev.Enter(1, "<module>", "snippet.py", 1),
    ]


def _exp() -> list[ev.AnyEvent]:
    return [
        ev.Line(1, 1),
        ev.Op(1, "Tensor.exp", (1,), (2,)),
        ev.Node(10, "torch::autograd::AccumulateGrad", 2**64 - 1, 1, (), (), 1),
        ev.Node(11, "ExpBackward0", 0, 1, ((10, 0),), (save("result", 2, 2, 0, "output"),)),
        tensor(2, 2, node=11),
        ev.Contents(2, vec(*EXP)),
    ]


def failing_trace(code: str = FAILING, upto: int | None = None) -> Trace:
    """`y = x.exp(); y.add_(1); y.sum().backward()`: found version 1 where 0 was kept."""
    trace = Trace(snippet(code, setup=SETUP))
    ones = vec(1.0, 1.0, 1.0)
    events = [
        *_opening(code),
        *_exp(),
        ev.Bind(1, "y", 2),
        ev.Line(1, 2),
        ev.Op(2, "Tensor.add_", (2,), (2,), "1"),
        ev.Write(2, 2, 2, 0, 1, 2),
        ev.Node(12, "AddBackward0", 1, 2, ((11, 0),)),
        tensor(2, 2, node=12, version=1),
        ev.Contents(2, vec(*EXP1)),
        ev.Line(1, 3),
        ev.Op(3, "Tensor.sum", (2,), (3,)),
        ev.Node(13, "SumBackward0", 2, 3, ((12, 0),)),
        tensor(3, 3, shape=(), node=13),
        ev.Contents(3, scalar(sum(EXP1))),
        ev.Op(4, "Tensor.backward", (3,), ()),
        ev.BackwardStart(1, "backward", ((3, 13),), (None,), False, False, None),
        ev.Visit(1, 13, (scalar(1.0),)),
        ev.Visit(1, 12, (ones,)),
        ev.Visit(1, 11, (ones,)),
        ev.Stale(1, 11, "result", 1, 0),
        ev.Freed(1, (13, 12)),
        ev.BackwardEnd(1, False, 11, ("RuntimeError", MESSAGE)),
        ev.Raised(
            "RuntimeError",
            MESSAGE,
            (("snippet.py", 3, "<module>"),),
            'Traceback (most recent call last):\n  File "snippet.py", line 3, in <module>\n'
            f"    y.sum().backward()\nRuntimeError: {MESSAGE}\n",
        ),
        ev.Dead((13,)),
        ev.Finished("error", 1, 0.01),
    ]
    trace.extend(events[:upto])
    return ended(trace, "error") if upto is None else trace


def healthy_trace(code: str = HEALTHY) -> Trace:
    """`y = x.exp(); y = y + 1; y.sum().backward()`: x.grad is exp(x)."""
    trace = Trace(snippet(code, setup=SETUP))
    ones = vec(1.0, 1.0, 1.0)
    trace.extend(
        [
            *_opening(code),
            *_exp(),
            ev.Bind(1, "y", 2),
            ev.Line(1, 2),
            ev.Op(2, "Tensor.add", (2,), (4,), "1"),
            ev.Node(12, "AddBackward0", 1, 2, ((11, 0),)),
            tensor(4, 4, node=12),
            ev.Contents(4, vec(*EXP1)),
            ev.Bind(1, "y", 4),
            ev.Line(1, 3),
            ev.Op(3, "Tensor.sum", (4,), (3,)),
            ev.Node(13, "SumBackward0", 2, 3, ((12, 0),)),
            tensor(3, 3, shape=(), node=13),
            ev.Contents(3, scalar(sum(EXP1))),
            ev.Op(4, "Tensor.backward", (3,), ()),
            ev.BackwardStart(1, "backward", ((3, 13),), (None,), False, False, None),
            ev.Visit(1, 13, (scalar(1.0),)),
            ev.Visit(1, 12, (ones,)),
            ev.Visit(1, 11, (ones,)),
            ev.Visit(1, 10, (vec(*EXP),)),
            ev.Accumulate(1, 1, 20, None, vec(*EXP)),
            ev.Freed(1, (11, 12, 13)),
            ev.BackwardEnd(1, True, NONE, None),
            ev.Dead((13,)),
            ev.Output(1, "done\n"),
            ev.Finished("ok", 0, 0.01),
        ]
    )
    return ended(trace, "ok", "done\n")


def founding_trace() -> Trace:
    """`b *= b` five times: five writes of one counter, each with a save that it broke."""
    trace = Trace(snippet(FOUNDING))
    events: list[ev.AnyEvent] = [
        ev.Start("2.13.0", "3.11", 1),
        ev.Text("snippet.py", FOUNDING),
        ev.Enter(1, "<module>", "snippet.py", 1),
        ev.Line(1, 1),
        ev.Op(0, "torch.full", (), (1,)),
        tensor(1, 1, shape=(), leaf=True),
        ev.Contents(1, scalar(5.0)),
        ev.Bind(1, "a", 1),
        ev.Line(1, 2),
        ev.Line(1, 7),
        ev.Enter(2, "fn", "snippet.py", 2),
        ev.Bind(2, "a", 1),
        ev.Line(2, 3),
        ev.Op(1, "Tensor.__pow__", (1,), (2,), "2"),
        ev.Node(10, "torch::autograd::AccumulateGrad", 2**64 - 1, 1, (), (), 1),
        ev.Node(11, "PowBackward0", 0, 1, ((10, 0),), (save("self", 1, 1, 0),)),
        tensor(2, 2, shape=(), node=11),
        ev.Contents(2, scalar(25.0)),
    ]
    value, node = 25.0, 11
    for i in range(5):
        events += ([ev.Bind(2, "b", 2)] if i == 0 else []) + [ev.Line(2, 4), ev.Line(2, 5)]
        value *= value
        new = 12 + i
        copy = Save("self", NONE, NONE, 90 + i, 0, (), "torch.float32", "copy")
        events += [
            ev.Op(2 + i, "Tensor.mul_", (2, 2), (2,)),
            ev.Write(2, 2, 2, i, i + 1, 2 + i),
            ev.Node(
                new,
                "MulBackward0",
                1 + i,
                2 + i,
                ((node, 0), (node, 0)),
                (copy, save("other", 2, 2, i)),
            ),
            tensor(2, 2, shape=(), node=new, version=i + 1),
            ev.Contents(2, scalar(value)),
        ]
        node = new
    events += [
        ev.Line(2, 4),
        ev.Line(2, 6),
        ev.Leave(2),
        ev.Bind(1, "output", 2),
        ev.Line(1, 8),
        ev.Op(9, "Tensor.backward", (2,), ()),
        ev.BackwardStart(1, "backward", ((2, node),), (None,), False, False, None),
        ev.Visit(1, node, (scalar(1.0),)),
        ev.Stale(1, node, "other", 5, 4),
        ev.BackwardEnd(1, False, node, ("RuntimeError", MESSAGE)),
        ev.Raised("RuntimeError", MESSAGE, (("snippet.py", 8, "<module>"),), ""),
        ev.Finished("error", 1, 0.01),
    ]
    trace.extend(events)
    return ended(trace, "error")


def chain_trace(length: int) -> Trace:
    """A leaf and `length` nodes in a row."""
    trace = Trace(snippet("..."))
    trace.extend(
        [
            ev.Text("snippet.py", "..."),
            ev.Enter(1, "<module>", "snippet.py", 1),
            ev.Line(1, 1),
            tensor(1, 1, leaf=True),
            ev.Bind(1, "x", 1),
            ev.Node(1, "torch::autograd::AccumulateGrad", 2**64 - 1, 0, (), (), 1),
            *(ev.Node(i, "SinBackward0", i, i, ((i - 1, 0),)) for i in range(2, length + 2)),
        ]
    )
    return ended(trace)


def diamond_trace(depth: int = 1) -> Trace:
    """`z = s * t` where both come from one node `a`: drawn once, linked the second time."""
    trace = Trace(snippet("..."))
    events: list[ev.AnyEvent] = [
        ev.Text("snippet.py", "..."),
        ev.Enter(1, "<module>", "snippet.py", 1),
        ev.Line(1, 1),
        tensor(1, 1, leaf=True),
        ev.Bind(1, "x", 1),
        ev.Node(1, "torch::autograd::AccumulateGrad", 2**64 - 1, 0, (), (), 1),
        ev.Node(2, "ExpBackward0", 0, 0, ((1, 0),)),
    ]
    below, number = 2, 3
    for _ in range(depth):
        events += [
            ev.Node(number, "SinBackward0", number, 0, ((below, 0),)),
            ev.Node(number + 1, "CosBackward0", number, 0, ((below, 0),)),
            ev.Node(number + 2, "MulBackward0", number, 0, ((number, 0), (number + 1, 0))),
        ]
        below, number = number + 2, number + 3
    trace.extend(events)
    return ended(trace)


def inplace_finding(moment: int | None = None) -> Finding:
    """What explain says of the failing program, with a fix of one line."""
    return Finding(
        kind="inplace-saved",
        severity="error",
        message="inplace-saved.result",
        facts={
            "found": 1,
            "expected": 0,
            "before": 0,
            "after": 1,
            "tensor": "y",
            "saver": "exp",
            "writer": "add_",
            "witness_line": 1,
            "cause_line": 2,
            "surfaced_line": 3,
        },
        places=(
            FindingPlace(
                "cause",
                "snippet.py",
                2,
                "<module>",
                text="y.add_(1)",
                note="y v0 → v1",
                moment=moment,
            ),
            FindingPlace(
                "witness", "snippet.py", 1, "<module>", text="y = x.exp()", note="saves y at v0"
            ),
            FindingPlace(
                "surfaced",
                "snippet.py",
                3,
                "<module>",
                text="y.sum().backward()",
                note="wanted v0, is v1",
            ),
        ),
        fixes=(
            Fix(
                "make a new tensor instead of writing into `y`",
                (Edit("snippet.py", 2, 2, "y = y + 1"),),
                True,
                "ran without the finding",
            ),
        ),
        lesson="inplace.version-counter",
    )
