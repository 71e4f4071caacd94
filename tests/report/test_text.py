"""What a person reads: short, with the marks where they belong."""

from __future__ import annotations

import re

import pytest

from tutor.diagnose import Diagnosis, diagnose
from tutor.report import text
from tutor.report.style import Style, clip, pad, width, wrap
from tutor.run import Runner
from tutor.trace import End, Trace, snippet

LOOP = """\
import torch
a = torch.tensor(10., requires_grad=True)
def fn(a):
    b = a ** 2
    for i in range(5):
        b *= b
    return b
output = fn(a)
output.backward()
print(a.grad)
"""

LOCAL = """\
import torch
a = torch.tensor(10., requires_grad=True)
def fn(a):
    b = torch.tensor(5., requires_grad=True)
    return a * b
output = fn(a)
output.backward()
print(a.grad)
"""

EXPECTED = """\
✗ error   b was overwritten by the very call that had kept it

     1  import torch
     2  a = torch.tensor(10., requires_grad=True)
     3  def fn(a):
     4      b = a ** 2
     5      for i in range(5):
◆◇   6          b *= b      b  v4 → v5, keeps b at v4  (iteration 5)
     7      return b
     8  output = fn(a)
 ✗   9  output.backward()   wanted v4, found v5
    10  print(a.grad)
"""


def report(runner: Runner, code: str, **options: object) -> str:
    found = diagnose(snippet(code), runner, lessons=["inplace.version-counter"])
    return text.render(found, **options)  # type: ignore[arg-type]


def test_the_code_stands_first_with_its_marks(runner: Runner) -> None:
    shown = report(runner, LOOP)
    assert shown.startswith(EXPECTED)
    assert "MulBackward0   line 6 in fn, iteration 5" in shown
    assert re.search(r"✗ other +b \(in fn\) +kept at v4, now v5", shown)
    assert "◆ cause     line 6 in fn, iteration 5, called from line 8" in shown
    assert re.search(r"→ +6 +b = b \* b", shown)
    assert "✓ ran without the finding" in shown
    assert "autograd-tutor inplace.version-counter" in shown


def test_it_fits_the_width_and_leaves_no_space_at_the_ends(runner: Runner) -> None:
    for cells in (40, 60, 100):
        for line in report(runner, LOOP, width=cells).split("\n"):
            assert line == line.rstrip()
            assert width(line) <= max(cells, 70), line


def test_a_run_that_went_well_shows_what_was_kept(runner: Runner) -> None:
    shown = report(runner, LOCAL)
    # The local is gone, its value 5. is not: the mul node keeps it until the backward.
    assert re.search(r"✓ other +b \(in fn\) +kept after fn returned +?= 5|"
                     r"✓ other +b \(in fn\) +?= 5 +kept after fn returned", shown)  # fmt: skip
    assert re.search(r"✓ self +a +?= 10", shown)
    assert "MulBackward0   line 5 in fn" in shown
    assert re.search(r"a +leaf +?= 10 +\.grad 5", shown)
    assert "nothing wrong was found" in shown


def test_colours_only_where_they_are_asked_for(runner: Runner) -> None:
    assert "\x1b" not in report(runner, LOOP)
    colored = report(runner, LOOP, color=True)
    assert "\x1b[31;1m✗ error\x1b[0m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored).split("\n")[:3] == EXPECTED.split("\n")[:3]


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        ("timeout", "took too long"),
        ("out-of-memory", "too much memory"),
        ("cancelled", "was stopped"),
        ("killed", "ended from outside"),
    ],
)
def test_every_end_is_told(outcome: str, says: str) -> None:
    trace = Trace(snippet("x = 1\n"))
    trace.end = End(outcome, None, 9)  # type: ignore[arg-type]
    assert says in text.render(Diagnosis(trace, ()))


def test_wide_letters_take_two_cells() -> None:
    assert (width("ab"), width("完成"), width("é")) == (2, 4, 1)
    assert pad("完", 4) == "完  "
    assert clip("完成了", 5) == "完成…"
    assert wrap("a `b c d` e", 6) == ["a", "`b c d`", "e"]
    assert Style(True).inline("use `x` *now*") == "use \x1b[1mx\x1b[0m now"


def test_wide_code_keeps_its_notes_in_line(runner: Runner) -> None:
    code = "import torch\nимя = torch.ones(2, requires_grad=True)\ny = имя.exp()  # 完成\n"
    code += "y += 1\ny.sum().backward()\n"
    rows = [row for row in report(runner, code).split("\n") if "keeps y" in row or "v0 → v1" in row]
    columns = [width(row[: row.index("keeps" if "keeps" in row else "y  v0")]) for row in rows[:2]]
    assert len(set(columns)) == 1


def test_a_save_changed_past_its_counter_is_not_called_intact(runner: Runner) -> None:
    code = (
        "import torch\n"
        "x = torch.tensor([1., 2.], requires_grad=True)\n"
        "y = x.exp()\n"
        "y.data.mul_(10)\n"
        "y.sum().backward()\n"
        "print(x.grad)\n"
    )
    said = text.render(diagnose(snippet(code), runner, lessons=[]), color=False, width=80)
    (row,) = [line for line in said.splitlines() if line.strip().startswith("✗ result")]
    assert "changed since, at the same version" in row
