"""The traps of watching torch, each with the program that would fall into it."""

from __future__ import annotations

from collections.abc import Callable

from tutor.trace import NONE, Trace
from tutor.trace import events as ev

Run = Callable[..., Trace]


def printed(trace: Trace) -> str:
    assert trace.end is not None
    return trace.end.output


def test_the_version_guard_stays_on(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = x.exp()\n"
        "y.add_(1)\n"
        "y.sum().backward()\n"
    )
    assert trace.raised is not None
    assert "is at version 1; expected version 0" in trace.raised.message
    (only,) = trace.passes
    assert only.stale is not None
    assert only.stale[1:] == ("result", 1, 0)


def test_no_unpack_hook_is_called_and_no_checkpoint_recomputed(run: Run) -> None:
    trace = run(
        "import torch\n"
        "from torch.utils.checkpoint import checkpoint\n"
        "calls = []\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "def pack(t):\n"
        "    calls.append('pack')\n"
        "    return t\n"
        "def unpack(t):\n"
        "    calls.append('unpack')\n"
        "    return t\n"
        "with torch.autograd.graph.saved_tensors_hooks(pack, unpack):\n"
        "    y = x.exp()\n"
        "def inner(t):\n"
        "    calls.append('inner')\n"
        "    return t.sin()\n"
        "z = checkpoint(inner, x, use_reentrant=False)\n"
        "print(calls)\n"
        "(y.sum() + z.sum()).backward()\n"
        "print(calls)\n"
    )
    first, second = printed(trace).splitlines()[-2:]
    assert first == "['pack', 'inner']"
    assert sorted(eval(second)) == ["inner", "inner", "pack", "unpack"]
    packed = [save for node in trace.last.nodes.values() for save in node.saves if save.packed]
    assert packed, "a save behind a hook is told as packed"


def test_a_custom_function_is_seen_with_its_tensors(run: Run) -> None:
    trace = run(
        "import torch\n"
        "class Double(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, t):\n"
        "        return t * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n"
        "        h = g * 2\n"
        "        return h\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = Double.apply(x)\n"
        "y.sum().backward()\n"
    )
    (call,) = (op for op in trace.ops if op.func == "Function.apply Double")
    assert call.site[-1].line == 11
    x, y = (trace.last.named(name) for name in "xy")
    assert x is not None
    assert y is not None
    assert (call.event.args, call.event.outs) == ((x.uid,), (y.uid,))
    (inside,) = (op for op in trace.ops if op.site[-1].line == 8)
    assert inside.event.nested, "ops of a backward written in Python are seen"


def test_a_numpy_write_is_found_though_no_counter_moved(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "w = torch.ones(3)\n"
        "y = x * w\n"
        "w.numpy()[0] = 5\n"
        "y.sum().backward()\n"
        "print(x.grad)\n"
    )
    assert printed(trace) == "tensor([5., 1., 1.])\n"
    (only,) = trace.passes
    ((node, save, storage),) = only.altered
    assert trace.last.nodes[node].name == "MulBackward0"
    assert save == "other"
    w = trace.last.named("w")
    assert w is not None
    assert storage == w.meta.storage


def test_warnings_are_charged_to_the_users_line_once_each(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = x * 2\n"
        "for i in range(3):\n"
        "    y.grad\n"
        "y.grad\n"
    )
    shown = [(w.category, w.file, w.line) for w in trace.last.warnings]
    assert shown == [("UserWarning", "snippet.py", 5), ("UserWarning", "snippet.py", 6)]


def test_a_printed_traceback_has_no_frame_of_ours(run: Run) -> None:
    trace = run(
        "import traceback, torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "def fail():\n"
        "    return torch.nn.functional.relu(x, 1, 2, 3)\n"
        "try:\n"
        "    fail()\n"
        "except TypeError:\n"
        "    traceback.print_exc()\n"
        "try:\n"
        "    x.add_(1)\n"
        "except RuntimeError:\n"
        "    traceback.print_exc()\n"
    )
    assert printed(trace) == (
        "Traceback (most recent call last):\n"
        '  File "snippet.py", line 6, in <module>\n'
        "    fail()\n"
        '  File "snippet.py", line 4, in fail\n'
        "    return torch.nn.functional.relu(x, 1, 2, 3)\n"
        "           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "TypeError: relu() takes from 1 to 2 positional arguments but 4 were given\n"
        "Traceback (most recent call last):\n"
        '  File "snippet.py", line 10, in <module>\n'
        "    x.add_(1)\n"
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.\n"
    )


def test_objects_die_when_they_would(run: Run) -> None:
    trace = run(
        "import gc, weakref, torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "class Probe:\n"
        "    pass\n"
        "def work():\n"
        "    y = x.exp()\n"
        "    ref = weakref.ref(y)\n"
        "    del y\n"
        "    gone = ref() is None\n"
        "    z = x.sin()\n"
        "    other = weakref.ref(z)\n"
        "    z = z + 1\n"
        "    later = other() is None\n"
        "    return gone, later\n"
        "print(*work())\n"
        "t = x * 2\n"
        "ref = weakref.ref(t)\n"
        "t = None\n"
        "print(ref() is None)\n"
    )
    assert printed(trace) == "True True\nTrue\n"


def test_nodes_die_with_their_tensors(run: Run) -> None:
    trace = run(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x.exp()\ny = None\nz = x.sin()\n"
    )
    alive = {n.name for n in trace.last.nodes.values() if not n.dead and n.event.leaf == NONE}
    assert alive == {"SinBackward0"}


def test_reading_grad_in_library_code_is_no_reading_of_the_users(run: Run) -> None:
    trace = run(
        "import torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "opt = torch.optim.SGD([w], lr=0.1)\n"
        "(w * w).sum().backward()\n"
        "opt.step()\n"
        "print(w.grad)\n"
    )
    lines = [site[-1].line for _, _, site in trace.grad_reads]
    assert lines == [6]


def test_the_modes_of_torch_are_followed(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "with torch.no_grad():\n"
        "    a = x * 2\n"
        "b = x * 3\n"
        "with torch.inference_mode():\n"
        "    c = x * 4\n"
    )
    at = {op.site[-1].line: (op.grad_mode, op.inference) for op in trace.ops if op.event.outs}
    assert (at[4], at[5], at[7]) == ((False, False), (True, False), (False, True))


def test_a_programs_own_fork_is_not_observed(run: Run) -> None:
    trace = run(
        "import os, torch\n"
        "x = torch.ones(1)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    y = x + 1\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "z = x + 2\n"
    )
    lines = [op.site[-1].line for op in trace.ops]
    assert lines == [2, 8]
    assert trace.outcome == "ok"


def test_turning_the_line_tracer_off_stays_the_programs_right(run: Run) -> None:
    trace = run(
        "import sys, torch\n"
        "x = torch.ones(1, requires_grad=True)\n"
        "sys.settrace(None)\n"
        "y = x + 1\n"
        "print(sys.gettrace())\n"
        "y.backward()\n"
        "print(x.grad)\n"
    )
    assert printed(trace) == "None\ntensor([1.])\n"
    assert [op.func for op in trace.ops if op.event.outs][-1] == "Tensor.add"


def test_what_the_observer_could_not_do_is_counted_not_raised(run: Run) -> None:
    trace = run("import torch\nx = torch.ones(1)\nprint(x + 1)\n")
    assert not list(trace.of_kind(ev.Truncated))
