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
    code = "import torch\nx = torch.tensor(3.0, requires_grad=True)\n(x * x).backward()\n"
    trace = real_runner.run(snippet(code + "print(x.grad)", timeout=60))
    assert (trace.end.outcome, trace.end.output) == ("ok", "tensor(6.)\n")
    assert trace.finished is not None
    assert trace.last.text == "tensor(6.)\n"


def test_a_tensor_of_ten_gigabytes(real_runner):
    trace = real_runner.run(snippet("import torch\nx = torch.ones(10 * 1024**3 // 4)", timeout=60))
    assert (trace.end.outcome, trace.end.code) == ("out-of-memory", 1)
    assert "DefaultCPUAllocator" in trace.raised.message


def test_many_small_tensors(real_runner):
    code = "import torch\nkept = []\nwhile True: kept.append(torch.ones(1 << 20))"
    trace = real_runner.run(snippet(code, timeout=60))
    assert trace.end.outcome == "out-of-memory"


def test_computing_works_in_a_fork(real_runner):
    """Kernels that would run in parallel: a fork of a process that had computed would hang."""
    code = (
        "import torch\ntorch.manual_seed(0)\na = torch.ones(700, 700, requires_grad=True)\n"
        "(a @ a).sum().backward()\nprint(a.grad[0, 0].item())"
    )
    end = real_runner.run(snippet(code, timeout=60)).end
    assert (end.outcome, end.output) == ("ok", "1400.0\n")
