"""Questions are answered on clones, without code of the learner's, and say why they cannot be."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tutor.observe import evaluating, probes
from tutor.trace import Nudge, Probe, Program
from tutor.trace.expression import Refused, parse, parse_path, start_paths


def ask(namespace: dict[str, Any], kind: str, *, start: Any = None, **args: object) -> Any:
    program = Program((), probes=(Probe("q", kind, args),))
    (answer,) = probes.answer(program, namespace, start, lambda tensor: 42)
    return answer.data if answer.status == "ok" else ("undecided", answer.data)


def value(namespace: dict[str, Any], text: str) -> Any:
    data = ask(namespace, "value", of=text)
    return data["flat"] if isinstance(data, dict) else data


X = torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("x", [1, 2, 3]),
        ("x * 2 + 1", [3, 5, 7]),
        ("-x ** 2", [-1, -4, -9]),
        ("x[1:]", [2, 3]),
        ("x[-1]", [3]),
        ("x.sum()", [6]),
        ("torch.where(x > 1, x, torch.inf)", [torch.inf, 2, 3]),
        ("torch.nn.functional.relu(x - 2)", [0, 0, 1]),
        ("[x.sum(), 1]", [6, 1]),
        ("x @ x", [14]),
        ("x.to(torch.float64)", [1, 2, 3]),
        ("layers[0]['w']", [1, 2, 3]),
        ("pair", [1, 2]),
        ("n + 1", [4]),
        ("x.shape", [3]),
    ],
)
def test_expressions(text: str, flat: list[float]) -> None:
    names = {"x": X, "layers": [{"w": X}], "pair": (1, 2), "n": 3}
    assert value(names, text) == flat


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "x.__class__",
        "x._base",
        "(lambda: 1)()",
        "[y for y in x]",
        "x if x else x",
        "x.add_(1)",
        "x.backward()",
        "torch.load('f')",
        "torch.manual_seed(1)",
        "torch.rand(3)",
        "torch.save(x, 'f')",
        "torch.nn.Linear(2, 2)",
        "torch.nn.functional.dropout(x)",
        "torch.add(x, x, out=x)",
        "torch.nn.functional.relu(x, inplace=True)",
        "f'{x}'",
        "x := 1",
        "x; x",
        "",
        "9" * 2000,
        "1" + "0" * 30,
        "x.requires_grad_()",
        "x and x",
        "x < x < x",
        "*x",
        "torch",
        "torch.ops.aten.add(x, x)",
    ],
)
def test_what_is_not_on_a_list_is_refused_before_anything_runs(text: str) -> None:
    with pytest.raises(Refused):
        parse(text)
    assert value({"x": X}, text)[1]["reason"] == "refused"


@pytest.mark.parametrize("text", ["x + 1", "x.sum()", "3", "torch.pi", "x[i]", "x[0:1]"])
def test_a_path_is_a_name_and_nothing_computed(text: str) -> None:
    with pytest.raises(Refused):
        parse_path(text)


def test_the_paths_asked_of_the_start() -> None:
    text = "start.x.exp() + start.net.weight[0] * start.y.T - x"
    assert start_paths(text) == ("x", "net.weight[0]", "y.T")


def test_start_is_what_the_setup_gave() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    names: dict[str, Any] = {"x": x}
    program = Program(
        (), probes=(Probe("q", "compare", {"left": "x", "right": "start.x * 0", "rtol": 0}),)
    )
    start = probes.snapshot(names, program)
    with torch.no_grad():
        x.zero_()
    names["start"] = "a name of the learner's"
    (answer,) = probes.answer(program, names, start, lambda tensor: 0)
    assert isinstance(answer.data, dict)
    assert answer.data["equal"] is True
    assert ask(names, "value", of="start.gone")[1] == {"reason": "no-start", "detail": "gone"}


def test_asking_changes_nothing() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    names = {"x": x, "y": y}
    before = torch.random.get_rng_state()
    for text in ("x.exp()", "y", "x.grad", "y.grad"):
        ask(names, "value", of=text)
        ask(names, "compare", left=text, right="x")
    ask(names, "tensor", of="y")
    assert torch.equal(before, torch.random.get_rng_state())
    assert (x._version, y._version) == (0, 0)
    assert x.grad is None
    y.sum().backward()
    assert x.grad is not None


def test_reading_the_grad_of_a_non_leaf_gives_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    assert value({"y": x * 2}, "y.grad") == (
        "undecided",
        {"reason": "none", "detail": "y.grad"},
    )
    assert not list(recwarn)


def test_no_code_of_the_learner_runs() -> None:
    class Trap:
        def __init__(self) -> None:
            self.w = torch.ones(1)

        @property
        def bad(self) -> torch.Tensor:
            raise SystemExit

        def __getattr__(self, name: str) -> torch.Tensor:
            raise SystemExit

    names = {"t": Trap()}
    assert value(names, "t.w") == [1]
    assert value(names, "t.bad")[1]["reason"] == "no-name"
    assert value(names, "t.other")[1]["reason"] == "no-name"


def test_parameters_of_modules() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    names = {"net": net}
    assert value(names, "net[0].weight") == net[0].weight.flatten().tolist()
    assert value(names, "net[-1].bias") == net[0].bias.tolist()
    assert value(names, "net[3].bias")[1]["reason"] == "no-name"
    assert ask(names, "tensor", of="net[0].weight")["is_leaf"] is True


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("missing", "no-name"),
        ("x.grad", "none"),
        ("x.data", "no-name"),
        ("word", "not-a-tensor"),
        ("9.0 ** 9.0 ** 9.0", "failed"),
        ("x.reshape(7)", "failed"),
        ("x.expand(400000, 3)", "too-large"),
    ],
)
def test_why_there_is_no_answer(text: str, reason: str) -> None:
    assert value({"x": X, "word": "word"}, text)[1]["reason"] == reason


def test_an_expression_that_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluating, "SECONDS", -1.0)
    assert value({"x": X}, "x + 1")[1]["reason"] == "slow"


def test_comparing_looks_at_shape_and_tolerance() -> None:
    names = {"x": X, "near": X + 1e-7, "far": X + 1e-3}
    assert ask(names, "compare", left="x", right="near")["equal"] is True
    assert ask(names, "compare", left="x", right="far")["equal"] is False
    assert ask(names, "compare", left="x", right="far", rtol=0.1)["equal"] is True
    assert ask(names, "compare", left="x", right="x.sum()")["same_shape"] is False
    both_nan = ask({"y": X * torch.nan}, "compare", left="y", right="[torch.nan] * 1")
    assert both_nan["same_shape"] is False


def test_a_tensor_that_the_learner_rebound_has_no_start_version() -> None:
    x = torch.ones(2)
    names = {"x": x}
    program = Program((), probes=(Probe("q", "tensor", {"of": "x"}),))
    start = probes.snapshot(names, program)
    x.add_(1)
    (kept,) = probes.answer(program, names, start, lambda tensor: 5)
    names["x"] = torch.ones(2)
    (rebound,) = probes.answer(program, names, start, lambda tensor: 6)
    assert isinstance(kept.data, dict)
    assert isinstance(rebound.data, dict)
    assert (kept.data["version"], kept.data["start_version"], kept.data["uid"]) == (1, 0, 5)
    assert (rebound.data["version"], rebound.data["start_version"]) == (0, None)


def test_a_nudge_moves_one_leaf_a_little_and_widens_all() -> None:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    names: dict[str, Any] = {"x": x, "w": torch.ones(2), "net": torch.nn.Linear(1, 1)}
    try:
        probes.snapshot(names, Program((), nudge=Nudge("x", 1, 0.5)))
        moved = x.detach() - torch.tensor([3.0, 4.0], dtype=torch.float64)
        assert float(moved.norm()) == pytest.approx(0.5)
        assert {x.dtype, names["w"].dtype, names["net"].weight.dtype} == {torch.float64}
        assert x.is_leaf
        assert x.requires_grad
        slope = ask(names, "along", of="x", seed=1)
        assert slope[1]["reason"] == "none"
        (x**2).sum().backward()
        assert x.grad is not None
        along = ask(names, "along", of="x", seed=1)["slope"]
        assert along == pytest.approx(float((x.grad * moved / 0.5).sum()))
    finally:
        torch.set_default_dtype(torch.float32)
