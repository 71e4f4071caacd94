"""Large graphs in few boxes: modules by name, repetitions counted, nothing lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.explain.graphs import Folded, folded, ordered
from tutor.explain.graphs.repeats import repeats
from tutor.trace import Trace
from tutor.trace.state import State


def graph_of(trace: Trace, **options: object) -> tuple[Folded, State]:
    run = trace.passes[-1]
    state = trace.at(run.end_moment)
    roots = [node for _, node in run.event.roots]
    return folded(trace, state, roots, **options), state  # type: ignore[arg-type]


def told(graph: Folded) -> list[tuple[str, int]]:
    return [(box.title, box.times) for box in graph.boxes]


def whole(graph: Folded, state: State, trace: Trace) -> None:
    """Every node is in exactly one box, and every edge leads to an earlier one."""
    inside = [number for box in graph.boxes for number in box.nodes]
    roots = [node for _, node in trace.passes[-1].event.roots]
    every = [n.event.node for n in ordered(state, roots) if n.event.leaf == -1]
    assert sorted(inside) == sorted(every)
    assert all(source > target for source, target in graph.edges)


def test_a_small_graph_stays_as_it_is(run: Callable[..., Trace]) -> None:
    trace = run("import torch\nx = torch.ones(1, requires_grad=True)\n(x.exp() * x).backward()\n")
    graph, state = graph_of(trace)
    assert told(graph) == [("ExpBackward0", 1), ("MulBackward0", 1)]
    assert [leaf.users for leaf in graph.leaves] == [(0, 1)]
    whole(graph, state, trace)


def test_blocks_of_a_users_module_are_counted(run: Callable[..., Trace]) -> None:
    trace = run("""import torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)
    def forward(self, x):
        return self.norm(torch.relu(self.a(x))) + x
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.ModuleList(Block() for _ in range(24)), nn.Linear(4, 1)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
net = Net()
net(torch.ones(3, 4)).sum().backward()
""")
    graph, state = graph_of(trace)
    assert told(graph) == [
        (
            "net.layers.0…23.a Linear, ReluBackward0, net.layers.0…23.norm LayerNorm, AddBackward0",
            24,
        ),
        ("net.head Linear", 1),
        ("SumBackward0", 1),
    ]
    whole(graph, state, trace)


def test_layers_of_the_library_begin_where_they_begin(run: Callable[..., Trace]) -> None:
    trace = run("""import torch
from torch import nn
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
enc = nn.TransformerEncoder(layer, 4)
enc(torch.ones(2, 5, 16, requires_grad=True)).sum().backward()
""")
    graph, state = graph_of(trace)
    # The input requires grad, so that all four layers record the same.
    assert graph.boxes[0].times == 4
    assert graph.boxes[0].title.startswith("enc.layers.0…3.self_attn MultiheadAttention, ")
    assert graph.boxes[0].title.endswith("enc.layers.0…3.norm2 LayerNorm")
    whole(graph, state, trace)


def test_large_blocks_fold_as_a_whole(run: Callable[..., Trace]) -> None:
    trace = run("""import torch
from torch import nn
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        return self.a(x) * torch.sigmoid(self.b(x))
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.norm = Gate(), Gate(), nn.LayerNorm(4)
    def forward(self, x):
        h = torch.sin(self.one(x)) + torch.cos(self.two(x)) + torch.tanh(-x)
        return self.norm(h)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.ModuleList(Block() for _ in range(6)), nn.Linear(4, 1)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
net = Net()
net(torch.ones(3, 4, requires_grad=True)).sum().backward()
""")
    graph, state = graph_of(trace)
    assert told(graph) == [("net.blocks.0…5 Block", 6), ("net.head Linear", 1), ("SumBackward0", 1)]
    (block,) = graph.boxes[0].parts
    assert [part.title for part in block.parts if part.kind == "module"] == [
        "net.blocks.0.one Gate",
        "net.blocks.0.two Gate",
        "net.blocks.0.norm LayerNorm",
    ]
    whole(graph, state, trace)


def test_two_modules_of_one_class_without_parameters_are_two(run: Callable[..., Trace]) -> None:
    trace = run("""import torch
from torch import nn
net = nn.Sequential(nn.Tanh(), nn.Tanh(), nn.Linear(2, 1))
x = torch.ones(2, requires_grad=True)
net(x).sum().backward()
""")
    graph, _ = graph_of(trace, limit=4)
    titles = [box.title for box in graph.boxes]
    assert titles == ["Tanh", "Tanh", "net.2 Linear", "SumBackward0"]


def test_loops_in_loops_fold(run: Callable[..., Trace]) -> None:
    trace = run("""import torch
x = torch.ones(1, requires_grad=True)
y = x
for _ in range(10):
    y = y.sin()
    for _ in range(5):
        y = y * 1.1
y.backward()
""")
    graph, state = graph_of(trace)
    assert told(graph) == [("SinBackward0, (MulBackward0 ×5)", 10)]
    assert graph.count == 60
    whole(graph, state, trace)


def test_what_is_kept_has_a_box_of_its_own(run: Callable[..., Trace]) -> None:
    trace = run("""import torch
x = torch.ones(1, requires_grad=True)
y = x
for _ in range(200):
    y = y.sin()
y.backward()
""")
    state = trace.at(trace.passes[-1].end_moment)
    roots = [node for _, node in trace.passes[-1].event.roots]
    middle = [n.event.node for n in ordered(state, roots) if n.event.leaf == -1][100]
    graph, _ = graph_of(trace, kept={middle})
    assert [(box.times, len(box.nodes)) for box in graph.boxes] == [(100, 100), (1, 1), (99, 99)]
    assert graph.boxes[1].nodes == (middle,)
    whole(graph, state, trace)


def test_a_graph_without_any_order_is_cut_and_counted(run: Callable[..., Trace]) -> None:
    code = ["import torch", "import random", "x = torch.ones(1, requires_grad=True)", "y = x"]
    letters = random_words(400)
    code += [f"y = y.{letter}()" for letter in letters]  # a line each: no two are the same
    code += ["y.backward()"]
    trace = run("\n".join(code))
    graph, state = graph_of(trace)
    assert len(graph.boxes) <= 48
    (rest,) = [box for box in graph.boxes if box.kind == "rest"]
    assert rest.title.startswith(f"{len(rest.nodes)} nodes: ")
    assert sum(len(box.nodes) for box in graph.boxes) == 400
    whole(graph, state, trace)


def random_words(count: int) -> list[str]:
    return list(itertools.islice(itertools.cycle(["sin", "cos", "tanh", "exp", "sigmoid"]), count))


@given(st.lists(st.integers(0, 2), max_size=60))
def test_repeats_lose_nothing_and_keep_the_order(numbers: list[int]) -> None:
    items = [(number,) for number in numbers]
    found = repeats(
        items,
        lambda item: hash(item),
        lambda copies: tuple(n for copy in copies for item in copy for n in item),
    )
    assert [n for item in found for n in item] == numbers


@pytest.mark.parametrize(
    ("text", "folded_text"),
    [
        ("", ""),
        ("aab", "a a b"),
        ("aaab", "3a b"),
        ("ababab", "3ab"),
        ("xababaz", "x a b a b a z"),
        ("aabaabaabc", "3aab c"),
        ("aaaabaaaabaaaab", "3(4a)b"),
    ],
)
def test_repeats_are_found(text: str, folded_text: str) -> None:
    def join(copies: object) -> str:
        parts = list(copies)  # type: ignore[call-overload]
        inner = "".join(f"({part})" if part[0].isdigit() else part for part in parts[0])
        return f"{len(parts)}{inner}"

    assert " ".join(repeats(list(text), hash, join)) == folded_text
