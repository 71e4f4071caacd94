"""The programs that are measured: each prints what its timed part took, in seconds."""

from __future__ import annotations

TEN_LINES = """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.zeros(2, requires_grad=True)
x = torch.tensor([[0.5, -1.0], [2.0, 1.0], [0.0, 3.0]])
h = (x * w + b).tanh()
loss = (h**2).mean()
loss.backward()
print(w.grad)
print(b.grad)
"""

_TIMED = """\
import time
import torch
torch.manual_seed(0)
{before}
began = time.perf_counter()
{body}
print(time.perf_counter() - began)
"""


def timed(body: str, before: str = "") -> str:
    """A program that prints the seconds its body took."""
    return _TIMED.format(before=before, body=body)


TRAINING_STEP = timed(
    """\
for step in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), target)
    loss.backward()
    optimizer.step()
""",
    """\
from torch import nn
model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, target = torch.randn(256, 1024), torch.randint(0, 1024, (256,))
torch.nn.functional.cross_entropy(model(x), target).backward()
optimizer.step()
""",
)

SMALL_TRAINING = timed(
    """\
for step in range(300):
    optimizer.zero_grad()
    loss = ((model(x) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    """\
from torch import nn
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
x, target = torch.randn(32, 64), torch.randn(32, 1)
""",
)

ONE_ELEMENT_OPS = timed(
    """\
for i in range(10_000):
    y = y + 1.0
""",
    "y = torch.ones(1)",
)

ONE_ELEMENT_FUNCTION = timed(
    """\
for i in range(2_500):
    y = step(y)
""",
    """\
def step(a):
    b = a * w
    c = b.exp()
    d = c * b
    return torch.tanh(d)
w = torch.tensor([0.5], requires_grad=True)
y = torch.ones(1)
""",
)


def chain(length: int) -> str:
    """A chain of this many nodes and its backward; prints seconds and the bytes it grew by."""
    return f"""\
import time
import torch
def resident():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * 4096
x = torch.ones(1, requires_grad=True)
(x * 1.0).backward()
before = resident()
began = time.perf_counter()
y = x
for i in range({length}):
    y = y * 1.0001
grown = resident() - before
y.backward()
print(time.perf_counter() - began, grown)
"""


LONG_PEAK = """\
import atexit, resource
peak = lambda: print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, flush=True)
atexit.register(peak)
"""
"""Before each of them: prints the peak of the program's process in megabytes."""

LONG_RUNS = {
    "chain": """\
import torch
x = torch.ones(1, requires_grad=True)
y = x
for i in range({size}):
    y = y * 1.0001
y.backward()
""",
    "steps": """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.randn(8, 4)
for step in range({size}):
    opt.zero_grad()
    h = net(x).tanh()
    if step == {size} - 1:
        h += 1
    loss = (h * h).mean()
    loss.backward()
    opt.step()
""",
    "kept": """\
import torch
w = torch.ones(1, requires_grad=True)
total = torch.zeros(1)
for i in range({size} // 2):
    total = total + w * 2
total.backward()
""",
    "ops": """\
import torch
y = torch.ones(1)
for i in range({size}):
    y = y + 1.0
""",
}
"""Programs of any size, the source for `bench.growth`; `steps` fails in its last step."""
