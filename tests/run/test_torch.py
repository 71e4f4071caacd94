"""The room's own observer: what the fake one cannot show."""

import pytest

from tests.run.tree import wait_for
from tutor.run import Limits, Runner
from tutor.trace import snippet


@pytest.fixture(scope="module", params=["fork", "spare"])
def real_runner(request):
    limits = Limits(memory_bytes=512 * 1024**2)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPYCACHEPREFIX")  # torch's own bytecode stands beside its sources
        with Runner(backend=request.param, limits=limits) as runner:
            assert wait_for(lambda: runner.ready, 60)
            yield runner


def test_a_gradient(real_runner):
    """Of kernels that run in parallel: in a fork of a process that had computed they hang."""
    code = (
        "import torch\ntorch.set_num_threads(2)\n"
        "a = torch.ones(700, 700, requires_grad=True)\n"
        "(a @ a).sum().backward()\nprint(a.grad[0, 0].item())"
    )
    trace = real_runner.run(snippet(code, timeout=60))
    assert (trace.end.outcome, trace.end.output) == ("ok", "1400.0\n")
    assert trace.finished is not None
    assert trace.last.text == "1400.0\n"


def test_more_memory_than_allowed(real_runner):
    """At once, which torch refuses with an error, and little by little after that."""
    code = (
        "import torch\ntry: torch.ones(10 * 1024**3 // 4)\n"
        "except RuntimeError: print('refused')\n"
        "kept = []\nwhile True: kept.append(torch.ones(1 << 22))"
    )
    trace = real_runner.run(snippet(code, timeout=60))
    assert (trace.end.outcome, trace.end.code) == ("out-of-memory", 1)
    assert trace.end.output.startswith("refused\n")
    assert "DefaultCPUAllocator" in trace.raised.message


@pytest.mark.parametrize("block", ["time.sleep(100)", "while True: pass"])
def test_what_came_before_a_hang_is_seen(real_runner, block):
    """Nothing more is said by the program, so nothing may still be waiting for company."""
    code = f"import time, torch\nx = torch.ones(3)\ny = x * 2\nprint('now')\n{block}"
    trace = real_runner.run(snippet(code, timeout=2))
    assert (trace.end.outcome, trace.last.text) == ("timeout", "now\n")
    assert [op.event.func for op in trace.ops][-1] == "Tensor.mul"
    assert trace.last.stack[-1].line == 5
