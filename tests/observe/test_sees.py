"""What the observer sees: a program, and what its trace must tell, with the line.

A row names each thing as `telling.told` words it. Where something cannot be seen, the row names
the word that says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.observe.telling import told
from tutor.diagnose import diagnose
from tutor.explain import findings
from tutor.explain.unseen import unseen
from tutor.plain import story
from tutor.report import html, text
from tutor.run import Runner
from tutor.trace import Program, Trace, snippet
from tutor.trace.program import Source

Run = Callable[..., Trace]

SEEN: dict[str, tuple[str, list[str]]] = {
    "foreach-writes-each": (
        "import torch\na, b = torch.zeros(2), torch.zeros(2)\ntorch._foreach_add_([a, b], 1)\n",
        ["write a 0>1 by torch._foreach_add_ @3", "write b 0>1 by torch._foreach_add_ @3"],
    ),
    "foreach-of-an-optimizer": (
        "import torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "opt = torch.optim.SGD([w], lr=0.1, foreach=True)\n"
        "w.sum().backward()\n"
        "opt.step()\n",
        ["call Optimizer.step @5", "write w 0>1 by torch._foreach_add_ @5"],
    ),
    "fused-writes-past-the-counter": (
        "import torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "opt = torch.optim.SGD([w], lr=0.1, fused=True)\n"
        "w.sum().backward()\n"
        "opt.step()\n",
        ["write w 0>0 by torch._fused_sgd_ @5"],
    ),
    "out-argument": (
        "import torch\nb = torch.zeros(2)\ntorch.add(torch.ones(2), 1, out=b)\n",
        ["write b 0>1 by torch.add @3"],
    ),
    "two-out-arguments": (
        "import torch\n"
        "low, high = torch.zeros(()), torch.zeros(())\n"
        "torch.aminmax(torch.ones(2), out=(low, high))\n",
        ["write low 0>1 by torch.aminmax @3", "write high 0>1 by torch.aminmax @3"],
    ),
    "set_-keeps-the-tensor": (
        "import torch\nx = torch.ones(2)\ny = torch.arange(3.0)\nx.set_(y)\nz = x + 1\n",
        ["write x 0>1 by nothing seen @4", "name x in <module> @2", "tensor x Tensor v1"],
    ),
    "resize_-keeps-the-tensor": (
        "import torch\nx = torch.zeros(2)\nx.resize_(400)\nx.fill_(2)\n",
        ["write x 0>1 by Tensor.resize_ @3", "write x 1>2 by Tensor.fill_ @4"],
    ),
    "data-keeps-the-tensor": (
        "import torch\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "x.data = torch.zeros(2)\n"
        "x.sum().backward()\n",
        ["call Tensor.data = @3", "accumulate x"],
    ),
    "batch-norm-statistics": (
        "import torch\nbn = torch.nn.BatchNorm1d(2)\nbn(torch.arange(6.0).view(3, 2))\n",
        [
            "write bn.running_mean 1>1 by functional.batch_norm @3",
            "write bn.running_var 1>1 by functional.batch_norm @3",
            "write bn.num_batches_tracked 1>2 by Tensor.add_ @3",
        ],
    ),
    "writes-that-no-call-shows": (
        "import torch\nx = torch.ones(2)\ntorch.autograd.graph.increment_version(x)\ny = x + 1\n",
        ["write x 0>1 by nothing seen @4"],
    ),
    "numpy-writes": (
        "import torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "x = torch.ones(2)\n"
        "y = w * x\n"
        "x.numpy()[0] = 5\n"
        "y.sum().backward()\n",
        ["altered MulBackward0 other"],
    ),
    "custom-function": (
        "import torch\n"
        "class Twice(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, t):\n"
        "        ctx.save_for_backward(t)\n"
        "        return t * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n"
        "        (t,) = ctx.saved_tensors\n"
        "        return g * t\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = Twice.apply(x)\n"
        "y.sum().backward()\n",
        [
            "enter Twice.forward snippet.py via Function.apply",
            "call Tensor.mul @6 Twice.forward no_grad",
            "call Function.apply Twice @12",
            "node TwiceBackward (tensors[0]:input) @12",
            "enter Twice.backward snippet.py via BackwardCFunction.apply",
            "call Tensor.mul @10 Twice.backward nested no_grad",
            "name t in Twice.backward @9 Twice.backward",
        ],
    ),
    "tensor-hook": (
        "import torch\n"
        "def hook(g):\n"
        "    return g * 3\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "x.register_hook(hook)\n"
        "(x * 2).sum().backward()\n",
        [
            "call Tensor.register_hook @5",
            "enter hook snippet.py via _engine_run_backward",
            "call Tensor.mul @3 hook nested no_grad",
        ],
    ),
    "post-accumulate-grad-hook": (
        "import torch\n"
        "def after(p):\n"
        "    p.grad.mul_(2)\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "x.register_post_accumulate_grad_hook(after)\n"
        "(x * 2).sum().backward()\n",
        [
            "call Tensor.register_post_accumulate_grad_hook @5",
            "enter after snippet.py via _engine_run_backward",
            "call Tensor.mul_ @3 after nested no_grad",
            "write ? 0>1 by Tensor.mul_ @3 after",
        ],
    ),
    "node-hooks": (
        "import torch\n"
        "def before(gs):\n"
        "    return (gs[0] * 2,)\n"
        "def behind(sent, arrived):\n"
        "    torch.relu(arrived[0])\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = x.sin()\n"
        "y.grad_fn.register_prehook(before)\n"
        "y.grad_fn.register_hook(behind)\n"
        "y.sum().backward()\n",
        [
            "call Tensor.mul @3 before nested no_grad",
            "call torch.relu @5 behind nested no_grad",
        ],
    ),
    "module-hooks": (
        "import torch\n"
        "net = torch.nn.Linear(2, 2)\n"
        "def before(module, args):\n"
        "    return (args[0] * 2,)\n"
        "def after(module, args, out):\n"
        "    return out + 1\n"
        "def back_before(module, arrived):\n"
        "    return (arrived[0] * 3,)\n"
        "def back(module, sent, arrived):\n"
        "    return (sent[0] * 4,)\n"
        "net.register_forward_pre_hook(before)\n"
        "net.register_forward_hook(after)\n"
        "net.register_full_backward_pre_hook(back_before)\n"
        "net.register_full_backward_hook(back)\n"
        "x = torch.ones(1, 2, requires_grad=True)\n"
        "net(x).sum().backward()\n",
        [
            "call Tensor.mul @4 before",
            "call Tensor.add @6 after",
            "call Tensor.mul @8 back_before nested no_grad",
            "call Tensor.mul @10 back nested no_grad",
            "node BackwardHookFunctionBackward () @16",
        ],
    ),
    "saved-tensor-hooks": (
        "import torch\n"
        "def pack(t):\n"
        "    return t * 1\n"
        "def unpack(t):\n"
        "    return t * 1\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "with torch.autograd.graph.saved_tensors_hooks(pack, unpack):\n"
        "    y = x.exp()\n"
        "y.sum().backward()\n",
        [
            "enter pack snippet.py",
            "line 3",
            "node ExpBackward0 (result:packed) @8",
            "call Tensor.mul @5 unpack nested no_grad",
        ],
    ),
    "checkpoint-reentrant": (
        "import torch\n"
        "from torch.utils.checkpoint import checkpoint\n"
        "def inner(t):\n"
        "    return t.sin()\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "checkpoint(inner, x, use_reentrant=True).sum().backward()\n",
        [
            "call utils.checkpoint @6",
            "node CheckpointFunctionBackward (tensors[0]:input) @6",
            "call Tensor.sin @4 inner no_grad",
            "call Tensor.sin @4 inner nested",
            "visit SinBackward0",
        ],
    ),
    "checkpoint-non-reentrant": (
        "import torch\n"
        "from torch.utils.checkpoint import checkpoint\n"
        "def inner(t):\n"
        "    return t.sin().cos()\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "checkpoint(inner, x, use_reentrant=False).sum().backward()\n",
        [
            "call utils.checkpoint @6",
            "node SinBackward0 (self:packed) @4 inner",
            "call Tensor.sin @4 inner",
            "call Tensor.sin @4 inner nested",
        ],
    ),
    "create-graph": (
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = x.sin().sum()\n"
        "(g,) = torch.autograd.grad(y, x, create_graph=True)\n"
        "g.sum().backward()\n",
        [
            "grad ok @4",
            "node CosBackward0 (self:input) @4",
            "name g in <module> @4",
            "backward ok @5",
            "visit CosBackward0",
            "accumulate x",
        ],
    ),
    "func-grad": (
        "import torch\n"
        "def f(t):\n"
        "    return (t * t).sum()\n"
        "g = torch.func.grad(f)(torch.ones(2))\n",
        [
            "enter f snippet.py via grad_and_value_impl",
            "call Tensor.mul @3 f",
            "node MulBackward0 (other:input,self:input) @3 f",
            "grad ok @4",
            "visit MulBackward0",
            "unseen torch.func @4",
        ],
    ),
    "func-vmap": (
        "import torch\ndef f(t):\n    return t.sin()\nv = torch.func.vmap(f)(torch.ones(2))\n",
        ["call Tensor.sin @3 f", "name v in <module> @4", "unseen torch.func @2 f"],
    ),
    "func-jacrev": (
        "import torch\ndef f(t):\n    return t.sin()\nj = torch.func.jacrev(f)(torch.ones(2))\n",
        ["node SinBackward0 (self:input) @3 f", "visit SinBackward0", "unseen torch.func @4"],
    ),
    "func-jvp": (
        "import torch\n"
        "def f(t):\n"
        "    return t.sin()\n"
        "p, t = torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),))\n",
        ["call Tensor.sin @3 f", "unseen torch.func @4", "unseen forward-mode @4"],
    ),
    "forward-mode": (
        "import torch\n"
        "import torch.autograd.forward_ad as fw\n"
        "with fw.dual_level():\n"
        "    d = fw.make_dual(torch.ones(2), torch.ones(2))\n"
        "    e = d * d\n",
        ["call torch._make_dual @4", "call Tensor.mul @5", "unseen forward-mode @4"],
    ),
    "grad-modes": (
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "with torch.no_grad():\n"
        "    a = x * 2\n"
        "    with torch.enable_grad():\n"
        "        b = x * 3\n"
        "with torch.inference_mode():\n"
        "    c = x.sin()\n"
        "@torch.no_grad()\n"
        "def f():\n"
        "    return x.cos()\n"
        "f()\n"
        "d = x.exp()\n",
        [
            "call Tensor.mul @4 no_grad",
            "call Tensor.mul @6",
            "call Tensor.sin @8 no_grad inference",
            "call Tensor.cos @11 f no_grad",
            "call Tensor.exp @13",
        ],
    ),
    "autocast": (
        "import torch\n"
        "x = torch.ones(2, 2, requires_grad=True)\n"
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n"
        "    y = x @ x\n"
        "z = x @ x\n",
        ["call autocast @3", "node ToCopyBackward0 () @4", "call autocast ends @3"],
    ),
    "anomaly": (
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "with torch.autograd.detect_anomaly():\n"
        "    (x * 2).sum().backward()\n"
        "torch.autograd.set_detect_anomaly(True)\n",
        [
            "call detect_anomaly @3",
            "backward ok @4",
            "call detect_anomaly ends @3",
            "call set_detect_anomaly @5",
        ],
    ),
    "names-have-a-history": (
        "import torch\n"
        "class Model:\n"
        "    def __init__(self, x):\n"
        "        self.w = x\n"
        "def f(a):\n"
        "    b = a\n"
        "    return [b]\n"
        "x = torch.ones(2)\n"
        "y = f(x)\n"
        "m = Model(x)\n"
        "d = {'k': x}\n",
        [
            "name x in <module> @8",
            "name a in f @5 f",
            "name b in f @6 f",
            "name y[0] in <module> @9",
            "name x in Model.__init__ @3 Model.__init__",
            "name self.w in Model.__init__ @4 Model.__init__",
            "name d['k'] in <module> @11",
        ],
    ),
    "threads": (
        "import threading, torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "def work():\n"
        "    (x * 2).sum().backward()\n"
        "t = threading.Thread(target=work, name='other')\n"
        "t.start()\n"
        "t.join()\n"
        "y = x + 1\n",
        [
            "thread other",
            "enter work snippet.py via Thread.run",
            "call Tensor.mul @4 work",
            "backward ok @4 work",
            "accumulate x",
            "call Tensor.add @8",
        ],
    ),
    "a-loader-in-this-process": (
        "import torch\n"
        "from torch.utils.data import DataLoader, Dataset\n"
        "class Data(Dataset):\n"
        "    def __len__(self):\n"
        "        return 2\n"
        "    def __getitem__(self, n):\n"
        "        return torch.full((1,), float(n))\n"
        "for x in DataLoader(Data()):\n"
        "    y = x * 2\n",
        ["call torch.full @7 Data.__getitem__", "call Tensor.mul @9"],
    ),
    "workers-of-a-loader": (
        "import torch\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "for (x,) in DataLoader(TensorDataset(torch.ones(2, 1)), num_workers=1):\n"
        "    y = x * 2\n",
        ["unseen worker @3", "call Tensor.mul @4"],
    ),
    "another-process": (
        "import os, torch\n"
        "x = torch.ones(1)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "y = x + 1\n",
        ["unseen process @3", "call Tensor.add @7"],
    ),
    "compile": (
        "import torch\n"
        "def f(x):\n"
        "    return x.sin().sum()\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = torch.compile(f, backend='eager')(x)\n"
        "y.backward()\n",
        [
            "unseen torch.compile @5",
            "name y in <module> @5",
            "visit SinBackward0",
            "backward ok @6",
            "accumulate x",
        ],
    ),
    "jit": (
        "import torch\n"
        "f = torch.jit.trace(lambda x: x.sin(), torch.ones(1))\n"
        "@torch.jit.script\n"
        "def g(x):\n"
        "    return x * 2\n"
        "y = g(f(torch.ones(1)))\n",
        ["unseen torch.jit.trace @2", "unseen torch.jit.script @3", "name y in <module> @6"],
    ),
    "distributed": (
        "import os, torch\n"
        "import torch.distributed as dist\n"
        "place = 'file://' + os.path.abspath('rendezvous')\n"
        "dist.init_process_group('gloo', init_method=place, rank=0, world_size=1)\n"
        "net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))\n"
        "net(torch.ones(1, 1)).sum().backward()\n"
        "dist.destroy_process_group()\n",
        ["unseen torch.distributed @4", "backward ok @6", "accumulate net.module.weight"],
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SEEN)
def test_the_trace_tells(run: Run, name: str) -> None:
    program, wanted = SEEN[name]
    trace = run(program, timeout=60.0)
    assert trace.outcome == "ok", trace.end
    lines = told(trace)
    missing = [line for line in wanted if line not in lines]
    assert not missing, "\n".join([*missing, "--- told:", *lines])
    sentences = "\n".join(unseen(trace))
    for line in wanted:
        if line.startswith("unseen"):  # and a person is told, with the line
            assert f"line {line.split('@')[1].split()[0]}" in sentences
    kinds = [finding.kind for finding in findings(trace) if finding.severity != "note"]
    assert kinds == (["data-bypass"] if name == "numpy-writes" else [])


def test_people_are_told_what_was_not_seen(runner: Runner) -> None:
    code = (
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "torch.compile(lambda t: t.sum(), backend='eager')(x).backward()\n"
    )
    run = diagnose(snippet(code, timeout=60.0), runner, lessons=[])
    sentence = "Not seen: what runs inside torch.compile (line 3)."
    assert sentence in text.render(run, width=100)
    assert sentence in " ".join(story.outcome(run.trace))
    assert sentence in html.render(run)
    seen = diagnose(snippet("import torch\ntorch.ones(1)\n"), runner, lessons=[])
    for said in (text.render(seen), " ".join(story.outcome(seen.trace)), html.render(seen)):
        assert "Not seen" not in said


VIEWS = (
    """
x[0]; x[:, 1]; x.view(3, 2); x.T; x.mT; x.diagonal(); x.unsqueeze(0); x.expand(2, 2, 3)
x.narrow(1, 0, 2); x.select(0, 1); x.as_strided((2,), (1,)); x.unfold(1, 2, 1); x.unbind(0)[1]
x.split(1)[0]; x.chunk(2)[1]; x.detach(); x.reshape(6); x.flatten(); x.squeeze(); x.ravel()
x.movedim(0, 1); x.permute(1, 0); x.transpose(0, 1); x.swapaxes(0, 1); x.view_as(x)
x.hsplit([1])[0]; torch.atleast_3d(x); x.view(torch.int32); x.tensor_split(2)[0]
x.unflatten(1, (3, 1))
""".strip()
    .replace("\n", "; ")
    .split("; ")
)


@pytest.mark.parametrize("inplace", ["x.add_(1)", "v.zero_()"])
def test_views_share_the_counter_of_their_base(run: Run, inplace: str) -> None:
    lines = ["import torch"]
    for view in VIEWS:
        lines += ["x = torch.ones(2, 3)", f"v = {view}", inplace, "print(v._version, x._version)"]
    trace = run("\n".join(lines) + "\n")
    assert trace.end is not None
    assert trace.end.output == "1 1\n" * len(VIEWS), "torch says so"
    tensors = trace.last.tensors.values()
    for number, view in enumerate(VIEWS):
        x, v = (
            next(t for t in tensors if any(n.site[-1].line == line for n in t.names))
            for line in (4 * number + 2, 4 * number + 3)
        )
        counter = trace.last.counters[x.meta.counter]
        assert v.meta.counter == x.meta.counter, view
        writes = [(w.before, w.after, w.site[-1].line) for w in counter.writes]
        assert writes == [(0, 1, 4 * number + 4)], view


def test_what_only_looks_like_a_view_has_a_counter_of_its_own(run: Run) -> None:
    trace = run(
        "import torch\n"
        "x = torch.ones(2)\n"
        "a = x.data\n"
        "b = x.clone()\n"
        "c = torch.nn.Parameter(x.data)\n"
        "d = x.to(torch.float64)\n"
        "x.add_(1)\n"
        "print([t._version for t in (x, a, b, c, d)])\n"
    )
    assert trace.end is not None
    assert trace.end.output == "[1, 0, 0, 0, 0]\n"
    counters = [trace.last.named(name).meta.counter for name in "xabcd"]
    assert len(set(counters)) == 5


def test_several_files_of_the_user(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text(
        "import torch\n\n\ndef scale(t):\n    t = t * 2\n    return t\n", encoding="utf-8"
    )
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text(
        "def shift(t):\n    return t + 1\n", encoding="utf-8"
    )
    main = tmp_path / "main.py"
    text = (
        "import torch\nfrom layers import scale\nfrom pack import shift\n"
        "y = shift(scale(torch.ones(2)))\n"
    )
    main.write_text(text, encoding="utf-8")
    program = Program((Source(str(main), text),), profile="script", cwd=os.fspath(tmp_path))
    trace = runner.run(program)
    assert trace.outcome == "ok", trace.end
    where = {
        op.func: [(Path(place.file).name, place.line) for place in op.site] for op in trace.ops
    }
    assert where["Tensor.mul"] == [("main.py", 4), ("layers.py", 5)]
    assert where["Tensor.add"] == [("main.py", 4), ("__init__.py", 2)]
    assert {Path(file).name for file in trace.texts} == {"main.py", "layers.py", "__init__.py"}
