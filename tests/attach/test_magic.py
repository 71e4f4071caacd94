"""`%%explain` in a real IPython: lines of the cell, tracebacks of the shell, a clean namespace."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython")

DRIVER = """
import contextlib, io, json, sys
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from traitlets.config import Config

config = Config()
config.HistoryManager.enabled = False
config.TerminalInteractiveShell.simple_prompt = True
shell = TerminalInteractiveShell.instance(config=config)
told = []
for cell in json.load(sys.stdin):
    before = set(shell.user_ns)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = shell.run_cell(cell, store_history=True)
    new = sorted(name for name in set(shell.user_ns) - before if not name.startswith("_"))
    told.append({"out": out.getvalue(), "new": new, "trace": str(sys.gettrace())})
print(json.dumps(told))
"""


def cells(folder: Path, *texts: str) -> list[dict[str, Any]]:
    """What each cell printed (without colours), and the names that it left."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=100,
        cwd=folder,
        env={
            **os.environ,
            "IPYTHONDIR": str(folder),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
    )
    assert done.returncode == 0, done.stderr
    told: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    for one in told:
        one["out"] = re.sub(r"\x1b\[[\d;]*m", "", one["out"])
    return told


SETUP = """import torch
w = torch.ones(2, requires_grad=True)
def helper(t):
    t = t.exp()
    t += 1
    return t"""

FAILS = """for i in range(2):
    b = helper(w)
b.sum().backward()"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return cells(
        tmp_path_factory.mktemp("ipython"),
        SETUP,
        "%load_ext tutor",
        FAILS,
        "%%explain\n" + FAILS,
        "%%explain\nq = (w * 3).sum()\nprint('in the cell')\nq.backward()\nw.grad",
        "_",
        "%%explain\nx ===",
        "%reload_ext tutor",
    )


def test_the_cell_is_explained_by_its_own_lines(told: list[dict[str, Any]]) -> None:
    out = told[3]["out"]
    assert "✗ error   The result of exp was changed in place" in out
    # The cause lies in another cell, which is quoted with its own line numbers.
    assert re.search(r"◆\s+5\s+t \+= 1", out)
    assert re.search(r"✗\s+3\s+b\.sum\(\)\.backward\(\)", out)


def test_the_traceback_is_the_shells_own(told: list[dict[str, Any]]) -> None:
    bare, explained = told[2]["out"], told[3]["out"]
    assert "Cell In[3], line 3" in bare
    assert explained.startswith(bare.replace("In[3]", "In[4]").rstrip("\n"))


def test_the_namespace_gets_what_the_cell_gives(told: list[dict[str, Any]]) -> None:
    assert told[1]["new"] == []
    assert told[3]["new"] == []  # b and i are there since the bare cell
    assert told[4]["new"] == ["q"]


def test_output_and_result_come_as_ever(told: list[dict[str, Any]]) -> None:
    out = told[4]["out"]
    assert out.startswith("in the cell\n")
    assert "Out[5]: tensor([3., 3.])" in out
    assert "✓ nothing wrong was found   1 backward ran" in out
    assert told[5]["out"].strip() == "Out[6]: tensor([3., 3.])"


def test_a_cell_that_is_no_python_is_said_to_be_none(told: list[dict[str, Any]]) -> None:
    assert "SyntaxError: invalid syntax" in told[6]["out"]
    assert "✗ error   This is not Python yet" in told[6]["out"]


def test_nothing_of_ours_stays_on(told: list[dict[str, Any]]) -> None:
    assert {one["trace"] for one in told} == {"None"}
