"""What the trace says of small programs, held against torch's own answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tutor.trace import NONE, Trace

Run = Callable[..., Trace]

LOOP = """\
import torch
a = torch.tensor(10., requires_grad=True)
def fn(a):
    b = a ** 2
    for i in range(5):
        b *= b
    return b
output = fn(a)
output.backward()
"""


def test_the_founding_loop(run: Run) -> None:
    trace = run(LOOP)
    output = trace.last.named("output")
    assert output is not None
    counter = trace.last.counters[output.meta.counter]
    assert [(w.before, w.after) for w in counter.writes] == [(n, n + 1) for n in range(5)]
    assert [w.site[-1].iteration for w in counter.writes] == [(n,) for n in range(1, 6)]
    assert {w.site[-1].line for w in counter.writes} == {6}
    multiplications = [n for n in trace.last.nodes.values() if n.name == "MulBackward0"]
    saves = {
        n.site[-1].iteration[0]: {s.name: (s.role, s.version) for s in n.saves}
        for n in multiplications
    }
    # In-place mul keeps a clone of the overwritten self, but the same tensor as other.
    for turn in range(1, 6):
        assert saves[turn]["self"][0] == "copy"
        assert saves[turn]["other"] == ("input", turn - 1)
    (only,) = trace.passes
    assert only.stale is not None
    node, save, found, expected = only.stale
    assert (save, found, expected) == ("other", 5, 4)
    assert trace.last.nodes[node].site[-1].iteration == (5,)
    assert [place.line for place in trace.last.nodes[node].site] == [8, 6]


def test_names_have_a_history(run: Run) -> None:
    trace = run(LOOP)
    output = trace.last.named("output")
    assert output is not None
    assert [(n.name, n.function, n.until is None) for n in output.names] == [
        ("b", "fn", False),
        ("output", "<module>", True),
    ]
    inside = trace.at(output.names[1].since)
    assert set(trace.at(output.names[0].since + 1).names_of(output.uid)) == {"b (in fn)"}
    assert inside.moment == output.names[1].since


def test_out_of_place_makes_another_tensor_each_time(run: Run) -> None:
    trace = run(LOOP.replace("b *= b", "b = b * b"))
    output = trace.last.named("output")
    assert output is not None
    assert trace.last.counters[output.meta.counter].writes == ()
    assert trace.passes[0].ok


def test_freeing_is_told_for_nodes_that_ran(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.ones(2, 2, requires_grad=True)\n"
        "v = x.pow(3)\n"
        "y = v + 2\n"
        "y.backward(torch.ones(2, 2))\n"
        "y.backward(torch.ones(2, 2))\n"
    )
    first, second = trace.passes
    freed = {n.name for n in trace.last.nodes.values() if n.freed == first.run}
    assert freed == {"AddBackward0", "PowBackward0"}
    assert second.stale is not None
    node, save, found, _ = second.stale
    assert (trace.last.nodes[node].name, save, found) == ("PowBackward0", "self", NONE)


def test_retained_graphs_are_not_freed(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.ones(2, 2, requires_grad=True)\n"
        "y = x.pow(3) + 2\n"
        "y.backward(torch.ones(2, 2), retain_graph=True)\n"
        "y.backward(torch.ones(2, 2))\n"
        "print(x.grad)\n"
    )
    x = trace.last.named("x")
    assert x is not None
    assert x.grad_value is not None
    assert x.grad_value.flat == (6.0,) * 4  # 3 * 1**2, twice
    added = [a for run_ in trace.passes for a in run_.accumulated]
    assert [(a.before and a.before.flat, a.after and a.after.flat) for a in added] == [
        (None, (3.0,) * 4),
        ((3.0,) * 4, (6.0,) * 4),
    ]


def test_gradients_on_the_edges(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.tensor([1., 2.], requires_grad=True)\n"
        "y = x * x\n"
        "z = y.sum()\n"
        "z.backward()\n"
    )
    (only,) = trace.passes
    arrived = {
        trace.last.nodes[n].name: grads[0].flat
        for n, grads in only.arrived.items()
        if grads[0] is not None
    }
    assert arrived == {
        "SumBackward0": (1.0,),
        "MulBackward0": (1.0, 1.0),
        "torch::autograd::AccumulateGrad": (2.0, 4.0),
    }


def test_views_and_detached_aliases_share_a_counter_data_does_not(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.zeros(4)\n"
        "v = x[:2]\n"
        "w = v.view(2, 1)\n"
        "d = x.detach()\n"
        "p = x.data\n"
        "v.add_(1)\n"
        "p.add_(1)\n"
        "print(x._version, v._version, w._version, d._version, p._version)\n"
    )
    assert trace.end is not None
    assert trace.end.output == "1 1 1 1 1\n"
    x, v, w, d, p = (trace.last.named(name) for name in "xvwdp")
    assert x
    assert v
    assert w
    assert d
    assert p
    assert {t.meta.counter for t in (x, v, w, d)} == {x.meta.counter}
    assert p.meta.counter != x.meta.counter
    assert {t.meta.storage for t in (x, v, w, d, p)} == {x.meta.storage}
    assert (v.meta.base, w.meta.base) == (x.uid, x.uid)
    (write,) = trace.last.counters[x.meta.counter].writes
    assert write.site[-1].line == 7
    (past,) = trace.last.counters[p.meta.counter].writes
    assert past.site[-1].line == 8


def test_an_optimizer_step_is_the_users_line(run: Run) -> None:
    trace = run(
        "import torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "opt = torch.optim.SGD([w], lr=0.5)\n"
        "(w * w).sum().backward()\n"
        "opt.step()\n"
        "print(w.tolist())\n"
    )
    w = trace.last.named("w")
    assert w is not None
    (write,) = trace.last.counters[w.meta.counter].writes
    assert [place.line for place in write.site] == [5]
    op = trace.op(write.op)
    assert op is not None
    assert any("Optimizer" in name or "SGD" in name for _, name in trace.vias[op.event.via])
    step = next(o for o in trace.ops if o.func == "Optimizer.step")
    assert (step.event.args, step.event.detail) == ((w.uid,), "SGD")
    assert w.value is not None
    assert w.value.flat == (0.0, 0.0)  # 1 - 0.5 * 2


@pytest.mark.parametrize(
    ("write", "name"),
    [
        ("y += 1", "Tensor.add_"),
        ("y[0] = 3", "Tensor.__setitem__"),
        ("torch.add(y, 1, out=y)", "torch.add"),
        ("torch._foreach_add_([y], 1)", "torch._foreach_add_"),
        ("torch.nn.functional.relu(y, inplace=True)", "functional.relu"),
        ("y.detach().mul_(2)", "Tensor.mul_"),
    ],
)
def test_writes_of_every_sort_are_seen(run: Run, write: str, name: str) -> None:
    trace = run(f"import torch\ny = torch.ones(2)\n{write}\nprint(y._version)\n")
    y = trace.last.named("y")
    assert y is not None
    assert trace.end is not None
    assert trace.end.output == "1\n"
    (only,) = trace.last.counters[y.meta.counter].writes
    op = trace.op(only.op)
    assert op is not None
    assert (op.func, only.site[-1].line) == (name, 3)


def test_a_write_that_no_call_shows_is_found_later(run: Run) -> None:
    trace = run(
        "import torch\ny = torch.ones(2)\ntorch.autograd.graph.increment_version(y)\nz = y + 1\n"
    )
    y = trace.last.named("y")
    assert y is not None
    (only,) = trace.last.counters[y.meta.counter].writes
    assert (only.before, only.after) == (0, 1)


def test_parameters_have_the_names_of_their_module(run: Run) -> None:
    trace = run(
        "import torch\n"
        "from torch import nn\n"
        "net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))\n"
    )
    labels = {t.meta.label for t in trace.last.tensors.values() if t.meta.label}
    assert labels == {"net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"}


def test_output_and_exception_come_in_order_with_the_rest(run: Run) -> None:
    trace = run("import torch\nprint('one')\nx = torch.ones(1)\nprint('two')\n1 / 0\n")
    x = trace.last.named("x")
    assert x is not None
    assert trace.at(x.moment).text == "one\n"
    assert trace.raised is not None
    assert (trace.raised.kind, trace.raised.frames[-1][1]) == ("ZeroDivisionError", 5)
    assert trace.last.text.startswith("one\ntwo\nTraceback")


def test_generators_and_comprehensions_keep_the_stack_straight(run: Run) -> None:
    trace = run(
        "import torch\n"
        "def numbers():\n"
        "    for n in range(3):\n"
        "        yield torch.tensor(float(n))\n"
        "total = sum(n * 2 for n in numbers())\n"
        "both = [t + 1 for t in numbers()]\n"
        "last = total + 1\n"
    )
    lines = {op.func: op.site[-1].line for op in trace.ops}
    assert lines["torch.tensor"] == 4
    last = trace.last.named("last")
    assert last is not None
    assert [place.line for place in last.born] == [7]


def test_a_saved_local_outlives_its_function(run: Run) -> None:
    trace = run(
        "import torch\n"
        "def fn(a):\n"
        "    b = torch.tensor(5., requires_grad=True)\n"
        "    return a * b\n"
        "a = torch.tensor(2., requires_grad=True)\n"
        "output = fn(a)\n"
    )
    output = trace.last.named("output")
    assert output is not None
    node = trace.last.nodes[output.meta.node]
    assert not node.dead
    kept = {s.name: s.value.flat for s in node.saves if s.value is not None}
    assert kept == {"self": (2.0,), "other": (5.0,)}


LONG = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters())
x = torch.randn(4, 2)
for i in range(200):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
loss = net(x.requires_grad_()).pow(2).mean()
opt.step()
loss.backward()
"""


def test_a_cause_at_the_end_of_a_long_run_is_still_there(run: Run) -> None:
    trace = run(LONG)
    assert trace.raised is not None
    last = trace.passes[-1]
    assert last.stale is not None
    node, save, found, expected = last.stale
    assert found == expected + 1
    kept = next(s for s in trace.last.nodes[node].saves if s.name == save)
    guilty = [w for w in trace.last.counters[kept.counter].writes if w.before == expected]
    assert [w.site[-1].line for w in guilty] == [13]
    assert trace.last.tensors[guilty[0].uid].meta.label == "net.weight"


def test_ops_of_a_recomputation_are_seen(run: Run) -> None:
    trace = run(
        "import torch\n"
        "from torch.utils.checkpoint import checkpoint\n"
        "def inner(t):\n"
        "    return t.sin().exp()\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = checkpoint(inner, x, use_reentrant=False)\n"
        "y.sum().backward()\n"
        "print(x.grad)\n"
    )
    seen = [(op.func, op.event.nested) for op in trace.ops if op.site[-1].function == "inner"]
    assert seen == [
        ("Tensor.sin", False),
        ("Tensor.exp", False),
        ("Tensor.sin", True),
        ("Tensor.exp", True),
    ]
    assert trace.passes[0].ok
