"""Long runs: the cause is named where the trace has let go of most events in between."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import pytest

from tutor.explain import Finding, findings
from tutor.run import Runner
from tutor.trace import Trace, chunks, fold, snippet, sweep, trace

STEPS = 150


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner() as running:
        yield running


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace that keeps some 40 steps, so that a hundred and fifty are a long run."""
    monkeypatch.setattr(trace, "CHUNK", 32)
    monkeypatch.setattr(chunks, "HEAD", 8)
    monkeypatch.setattr(chunks, "TAIL", 16)
    monkeypatch.setattr(chunks, "ISLANDS", 8)
    monkeypatch.setattr(fold, "KEPT_DEAD", 64)
    monkeypatch.setattr(fold, "SWEEP", 128)
    monkeypatch.setattr(sweep, "HEAD_EVENTS", 256)
    monkeypatch.setattr(sweep, "RECENT_TENSORS", 128)
    monkeypatch.setattr(sweep, "RECENT_PASSES", 16)


def explained(runner: Runner, code: str) -> tuple[Trace, list[Finding]]:
    recorded = runner.run(snippet(textwrap.dedent(code), timeout=60.0))
    assert recorded.gaps, "this is meant to be a run of which not all is kept"
    return recorded, findings(recorded)


def places(one: Finding, role: str) -> list[tuple[int, tuple[int, ...]]]:
    return [(place.line, place.iteration) for place in one.places if place.role == role]


def test_a_fault_in_the_last_step(runner: Runner) -> None:
    code = f"""
        import torch
        w = torch.ones(3, requires_grad=True)
        for step in range({STEPS}):
            h = (w * 2).exp()
            if step == {STEPS - 1}:
                h.add_(1)
            h.sum().backward()
            w.grad = None
        """
    _, found = explained(runner, code)
    assert [one.kind for one in found] == ["inplace-saved"]
    assert places(found[0], "cause") == [(7, (STEPS,))]
    assert places(found[0], "witness")[0] == (5, (STEPS,))
    assert places(found[0], "surfaced") == [(8, (STEPS,))]


def test_a_fault_in_the_first_step_that_comes_out_in_the_last(runner: Runner) -> None:
    code = f"""
        import torch
        w = torch.ones(3, requires_grad=True)
        b = torch.ones(3)
        early = None
        for step in range({STEPS}):
            h = (w * 2).exp()
            if early is None:
                early = h.sum()
                h.mul_(3)
            (w * b).sum().backward()
            w.grad = None
        early.backward()
        """
    _, found = explained(runner, code)
    assert [one.kind for one in found] == ["inplace-saved"]
    assert places(found[0], "cause") == [(10, (1,))]
    assert places(found[0], "witness")[0] == (7, (1,))


def test_a_parameter_that_each_step_writes_after_a_graph_kept_from_the_first(
    runner: Runner,
) -> None:
    code = f"""
        import torch
        w = torch.ones(3, requires_grad=True)
        first = (w ** 3).sum()
        for step in range({STEPS}):
            (w * w).sum().backward()
            with torch.no_grad():
                w -= 0.001 * w.grad
            w.grad = None
        first.backward()
        """
    _, found = explained(runner, code)
    assert [one.kind for one in found] == ["optimizer-step-stale"]
    assert found[0].facts["found"] == STEPS
    assert found[0].facts["expected"] == 0
    assert places(found[0], "cause")[0] == (8, (1,))
    assert places(found[0], "witness")[0] == (4, ())


@pytest.mark.parametrize("at", [75, STEPS], ids=["in-the-middle", "at-the-end"])
def test_the_step_that_first_made_nan(runner: Runner, at: int) -> None:
    code = f"""
        import torch
        w = torch.ones(3, requires_grad=True)
        for step in range({STEPS}):
            x = torch.full((3,), 1.0)
            if step == {at - 1}:
                x = torch.tensor([0.0, 1.0, 1.0])
            loss = ((w * x).sqrt()).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.001 * w.grad
            w.grad = None
        print(w)
        """
    _, found = explained(runner, code)
    assert [one.kind for one in found if one.severity != "note"] == ["nan-grad"]
    assert places(found[0], "cause")[0] == (8, (at,))


def test_a_graph_that_grows_in_each_step(runner: Runner) -> None:
    code = f"""
        import torch
        w = torch.ones(3, requires_grad=True)
        total = torch.zeros(())
        for step in range({STEPS}):
            loss = (w * w).sum()
            loss.backward(retain_graph=True)
            total = total + loss
            w.grad = None
        print(total)
        """
    _, found = explained(runner, code)
    assert [one.kind for one in found] == ["graph-memory"]
    assert places(found[0], "cause")[0][0] == 8
    told = [value for value in found[0].facts.values() if value in (STEPS, STEPS - 1)]
    assert told, found[0].facts


def test_a_backward_again_through_the_graph_of_the_first_step(runner: Runner) -> None:
    code = f"""
        import torch
        w = torch.ones(3, requires_grad=True)
        first = None
        for step in range({STEPS}):
            loss = (w * w).sum()
            loss.backward()
            first = loss if first is None else first
            w.grad = None
        first.backward()
        """
    _, found = explained(runner, code)
    assert found[0].kind == "freed-graph"
    lines = {(place.line, place.iteration) for place in found[0].places}
    assert (7, (1,)) in lines
    assert (10, ()) in lines


def test_a_leaf_written_once_in_the_middle(runner: Runner) -> None:
    code = f"""
        import torch
        w = torch.ones(3, requires_grad=True)
        keep = None
        for step in range({STEPS}):
            h = w.exp()
            if step == 70:
                keep = h.sum()
                h += 1
            (w * 2).sum().backward()
            w.grad = None
        keep.backward()
        """
    _, found = explained(runner, code)
    assert [one.kind for one in found] == ["inplace-saved"]
    assert places(found[0], "cause") == [(9, (71,))]


def test_a_healthy_training_of_many_steps_is_accused_of_nothing(runner: Runner) -> None:
    code = f"""
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        opt = torch.optim.Adam(net.parameters())
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        for step in range({STEPS}):
            opt.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            opt.step()
            if step % 50 == 0:
                print(step, loss.item())
        print(net[0].weight.grad.norm())
        """
    recorded, found = explained(runner, code)
    assert found == []
    assert sum(t.accumulated for t in recorded.last.tensors.values()) == 4 * STEPS
