"""Python numbers in formulas: torch wraps them in tensors that live where dead ones did."""

from __future__ import annotations

from collections.abc import Callable

from tutor.trace import Trace
from tutor.trace import events as ev

CODE = """
import torch

x = torch.ones(4, requires_grad=True)
for i in range(900):
    dead = torch.rand((), dtype=torch.float64)
    del dead
    y = (x * 0.99).sum() * 2.0
    y.backward()
    x.grad = None
"""


def test_a_number_is_a_constant_whatever_lay_there(run: Callable[..., Trace]) -> None:
    trace = run(CODE)
    assert trace.outcome == "ok"
    saves = [
        save
        for _, node in trace.of_kind(ev.Node)
        if node.name == "MulBackward0"
        for save in node.saves
        if save.name == "other"
    ]
    assert len(saves) == 2 * 900
    assert {save.role for save in saves} == {"constant"}
    assert list(trace.of_kind(ev.Altered)) == []
