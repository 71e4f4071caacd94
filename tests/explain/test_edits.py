"""Edits of whole lines, made from a source's syntax tree."""

from __future__ import annotations

import pytest

from tutor.explain import edits
from tutor.explain.finding import Edit
from tutor.explain.source import function_at, grad_off_line, simple_statement


def after(text: str, edit: Edit | None) -> str:
    assert edit is not None
    return edits.apply(text, [edit])


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("b *= b", "b = b * b"),
        ("b *= c + d", "b = b * (c + d)"),
        ("w -= 0.1 * w.grad", "w = w - 0.1 * w.grad"),
        ("b **= 2", "b = b ** 2"),
        ("t -= t.mean(dim=0)", "t = t - t.mean(dim=0)"),
        ("tops[i - 1] += up", "tops[i - 1] = tops[i - 1] + up"),
        ("y.add_(1)", "y = y + 1"),
        ("y.mul_(a + b)", "y = y * (a + b)"),
        ("y.sub_(m, alpha=2)", "y = y.sub(m, alpha=2)"),
        ("y.relu_()", "y = y.relu()"),
        ("c.sub_(m).div_(s)", "c = c.sub(m).div(s)"),
        ("s.zero_()", "s = torch.zeros_like(s)"),
        ("s.fill_(3)", "s = torch.full_like(s, 3)"),
        ("y = x.sigmoid_()", "y = x.sigmoid()"),
        (
            "weights.masked_fill_(pad[:, None], 0.0)",
            "weights = weights.masked_fill(pad[:, None], 0.0)",
        ),
        ("имя *= вес  # комментарий", "имя = имя * вес  # комментарий"),
    ],
)
def test_out_of_place(line: str, wanted: str) -> None:
    text = f"def f():\n    {line}\n    return 1\n"
    assert after(text, edits.out_of_place(text, "f.py", 2)) == text.replace(line, wanted)


@pytest.mark.parametrize(
    "line",
    ["x[0] = 1", "print(x)", "y.copy_(x)", "w.requires_grad_()", "if x: b *= 2", "a = 1; b *= 2"],
)
def test_what_has_no_other_form_is_left(line: str) -> None:
    assert edits.out_of_place(line + "\n", "f.py", 1) is None


def test_a_copy_of_its_own_before_the_write() -> None:
    text = "for t in range(3):\n    states[t + 1] = h\n"
    assert after(text, edits.clone_first(text, "f.py", 2)) == (
        "for t in range(3):\n    states = states.clone()\n    states[t + 1] = h\n"
    )
    text = "self.queue[:, 0:n] = keys.T\n"
    assert after(text, edits.clone_first(text, "f.py", 1)).startswith(
        "self.queue = self.queue.clone()\n"
    )
    assert edits.clone_first("w.data[0] = 1\n", "f.py", 1) is None


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("loss.backward()", "loss.backward(retain_graph=True)"),
        ("y.backward(torch.ones(2, 2))", "y.backward(torch.ones(2, 2), retain_graph=True)"),
        ("y.backward(g,)", "y.backward(g, retain_graph=True)"),
        ("F.mse_loss(a, b).backward()", "F.mse_loss(a, b).backward(retain_graph=True)"),
    ],
)
def test_one_more_argument(line: str, wanted: str) -> None:
    edit = edits.add_keyword(line + "\n", "f.py", 1, "backward", "retain_graph", "True")
    assert after(line + "\n", edit) == wanted + "\n"


def test_an_argument_less() -> None:
    text = (
        "a = nn.ReLU(inplace=True)\nb = nn.Dropout(0.5, inplace=True)\nc = f(inplace=True, p=1)\n"
    )
    for number, wanted in ((1, "a = nn.ReLU()"), (2, "b = nn.Dropout(0.5)"), (3, "c = f(p=1)")):
        edit = edits.drop_keyword(text, "f.py", number, "inplace")
        assert edit is not None
        assert edit.new == wanted


def test_statements_move() -> None:
    text = "a.backward()\nopt.step()\nb.backward()\nprint(1)\n"
    assert after(text, edits.move_after(text, "f.py", 2, 3)) == (
        "a.backward()\nb.backward()\nopt.step()\nprint(1)\n"
    )
    assert after(text, edits.move_before(text, "f.py", 3, 1)) == (
        "b.backward()\na.backward()\nopt.step()\nprint(1)\n"
    )
    assert edits.move_after(text, "f.py", 3, 2) is None


def test_writes_of_parameters_go_under_no_grad() -> None:
    text = (
        "import torch\nfor i in range(3):\n"
        "    w -= 0.1 * w.grad\n    b -= 0.1 * b.grad\n    c = 1\n"
    )
    assert after(text, edits.under_no_grad(text, "f.py", 3)) == (
        "import torch\nfor i in range(3):\n    with torch.no_grad():\n"
        "        w -= 0.1 * w.grad\n        b -= 0.1 * b.grad\n    c = 1\n"
    )


def test_edits_of_one_file_apply_from_the_end() -> None:
    text = "a\nb\nc\n"
    changes = [Edit("f.py", 1, 1, "A"), Edit("f.py", 3, 2, "between"), Edit("g.py", 1, 1, "no")]
    assert edits.apply(text, changes, "f.py") == "A\nb\nbetween\nc\n"
    assert edits.apply(text, [Edit("f.py", 2, 2, "")]) == "a\nc\n"


def test_what_is_cut_out_of_a_line() -> None:
    text = "loss = criterion(outputs.data, labels)\nk = x.detach().numpy()\n"
    assert after(text, edits.drop_attribute(text, "f.py", 1, "data")).startswith(
        "loss = criterion(outputs, labels)\n"
    )
    assert after(text, edits.drop_method(text, "f.py", 2, "detach")).endswith("k = x.numpy()\n")


GRAD = """\
import torch
@torch.no_grad()
def f(x):
    with torch.enable_grad():
        y = x * 2
    return y * 3
def g(x):
    with torch.no_grad(), open("x"):
        z = x
    return z
"""


def test_what_turns_gradients_off_is_found_by_its_lines() -> None:
    assert grad_off_line(GRAD, 6) == 2
    assert grad_off_line(GRAD, 5) is None
    assert grad_off_line(GRAD, 9) == 8
    assert grad_off_line(GRAD, 10) is None
    around = function_at(GRAD, 9)
    assert around is not None
    assert around.name == "g"
    assert simple_statement(GRAD, 8) is None
