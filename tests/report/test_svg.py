"""The picture of the graph: what a person reads in it, with either engine, whatever the size."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tutor.diagnose import Diagnosis
from tutor.report import svg
from tutor.report.layout import Engine, arrange
from tutor.run import Runner
from tutor.trace import Trace, snippet

ENGINES: tuple[Engine, ...] = ("dot", "graphlay")

LOOP = """import torch
a = torch.tensor([1., 2.], requires_grad=True)
def fn(a):
    b = a.exp()
    for i in range(2):
        b *= b
    return b.sum()
out = fn(a)
out.backward()
"""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "dot" and not shutil.which("dot"):
        pytest.skip("Graphviz's dot is not installed")
    found: Engine = request.param
    return found


def texts(document: str) -> list[str]:
    """The rows of text that are shown, from top to bottom of the file."""
    root = ElementTree.fromstring(document)
    return [
        "".join(row.itertext())
        for row in root.iter("{http://www.w3.org/2000/svg}text")
        if row.get("class") != "off"
    ]


def test_a_failed_pass_shows_which_save_was_changed_and_where_it_stopped(
    run: Callable[..., Trace], engine: Engine
) -> None:
    rows = texts(svg.render(Diagnosis(run(LOOP), ()), engine))
    # exp saved its result at v0; `b *= b` saved b at v0 and v1, and moved it to v2.
    assert "ExpBackward0  line 4" in rows
    assert "✗ result: b (in fn) v0, now v2" in rows
    assert "MulBackward0  line 6·1" in rows
    assert "✗ other: b (in fn) v0, now v2" in rows
    assert "✗ other: b (in fn) v1, now v2" in rows
    assert rows.count("the backward stopped here") == 1
    assert "✗ other: b (in fn) v1, now v2" in rows[: rows.index("the backward stopped here")]
    assert "a  leaf [2]" in rows
    assert ".grad None" in rows


def test_a_good_pass_shows_gradients_and_what_was_freed(
    run: Callable[..., Trace], engine: Engine
) -> None:
    trace = run("import torch\nx = torch.tensor(3., requires_grad=True)\n(x * x).backward()\n")
    rows = texts(svg.render(Diagnosis(trace, ()), engine))
    assert "MulBackward0  line 3" in rows
    assert "grad 1." in rows
    assert ".grad 6." in rows  # d(x²)/dx at 3
    assert "✂ self: x v0 freed" in rows


def test_what_is_alive_is_shown_where_no_backward_ran(run: Callable[..., Trace]) -> None:
    trace = run("import torch\nx = torch.ones(2, requires_grad=True)\ny = x.exp()\n")
    rows = texts(svg.render(Diagnosis(trace, ())))
    assert rows[0] == "The graph that is alive at the end; no backward went through it"
    assert "ExpBackward0 = y  line 3" in rows
    assert "✓ result: y v0" in rows


def test_a_run_without_a_graph_says_so(run: Callable[..., Trace]) -> None:
    document = svg.render(Diagnosis(run("x = 1\n"), ()))
    assert texts(document)[0].startswith("No graph:")


def test_names_of_the_program_are_no_markup(run: Callable[..., Trace], engine: Engine) -> None:
    code = (
        "import torch\nd = {'</svg><script>': torch.ones(1, requires_grad=True)}\n"
        "z = d['</svg><script>'] * 2\nz.sum().backward()\n"
    )
    document = svg.render(Diagnosis(run(code), ()), engine)
    assert "<script" not in document
    assert "d['</svg><script>']  leaf [1]" in texts(document)


def test_many_thousand_nodes_are_one_picture_of_a_few_boxes(runner: Runner) -> None:
    trace = runner.run(
        snippet(
            "import torch\nx = torch.ones(1, requires_grad=True)\ny = x\n"
            "for _ in range(3_000):\n    y = y * 1.5\n    y = y.sin()\ny.backward()\n",
            timeout=100,
        )
    )
    began = time.process_time()
    document = svg.render(Diagnosis(trace, ()))
    assert time.process_time() - began < 4
    rows = texts(document)
    assert "(6000 nodes, folded)" in rows[0]
    assert any(row.startswith("×") for row in rows)
    assert len(rows) < 60
    assert len(document) < 50_000


def test_the_engines_keep_boxes_apart_and_edges_point_down(engine: Engine) -> None:
    sizes = [(60.0 + 10 * (i % 4), 30.0 + 7 * (i % 3)) for i in range(40)]
    edges = [(i, i + 1) for i in range(39)] + [(i, i + 5) for i in range(0, 35, 3)]
    placed = arrange(sizes, edges, engine)
    for source, target in edges:
        assert placed.centres[source][1] < placed.centres[target][1]
    boxes = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for (x, y), (w, h) in zip(placed.centres, sizes, strict=True)
    ]
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            apart = one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
            assert apart, (one, other)
        assert one[0] >= -1
        assert one[1] >= -1
        assert one[2] <= placed.width + 1
        assert one[3] <= placed.height + 1
    assert all(len(way) >= 2 for way in placed.ways)


def test_a_broken_dot_is_no_trouble(
    run: Callable[..., Trace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "dot"
    fake.write_text("#!/bin/sh\necho nonsense\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    rows = texts(svg.render(Diagnosis(run(LOOP), ())))
    assert "a  leaf [2]" in rows


def test_stacked_modules_are_told_by_their_names(run: Callable[..., Trace]) -> None:
    code = """import torch
from torch import nn
net = nn.Sequential(*[m for _ in range(20) for m in (nn.Linear(4, 4), nn.ReLU())], nn.Linear(4, 1))
net(torch.ones(3, 4)).sum().backward()
"""
    rows = texts(svg.render(Diagnosis(run(code), ())))
    assert "×20 times in a row" in rows
    assert "  net.0…38 Linear" in rows
    assert "  ReLU" in rows
    assert "net.40 Linear" in rows
    at = rows.index("net.40 Linear")
    assert any(row.startswith("weight [1, 4] .grad [") for row in rows[at:])
    assert list(pairwise(rows)).count(("40 parameters", ".grad in all")) == 1
