"""Fixes are proved by running them, and scripts are repeated only where that does no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tutor.diagnose import diagnose, diagnose_async, may_repeat, verified
from tutor.diagnose.diagnosis import installed_lessons
from tutor.explain import Edit, Finding, Fix, findings
from tutor.run import Runner
from tutor.trace import Program, Source, snippet

OVERWRITTEN = """\
import torch
a = torch.tensor(10., requires_grad=True)
b = a ** 2
b *= b
b.backward()
"""

TWICE = """\
import torch
x = torch.ones(2, requires_grad=True)
y = x.exp()
y.sum().backward()
y.sum().backward()
"""


def script(text: str, folder: Path) -> Program:
    return Program((Source(str(folder / "main.py"), text),), profile="script", cwd=str(folder))


def test_a_fix_is_proved_by_running_it(runner: Runner) -> None:
    found = diagnose(snippet(OVERWRITTEN), runner, lessons=["inplace.version-counter"])
    (error,) = found.findings
    first = error.fixes[0]
    assert first.edits == (Edit("snippet.py", 4, 4, "b = b * b"),)
    assert (first.verified, first.how) == (True, "ran without the finding")
    assert error.lesson == "inplace.version-counter"
    assert not found.healthy


def test_a_fix_that_does_not_help_is_refuted_and_comes_last(runner: Runner) -> None:
    trace = runner.run(snippet(TWICE))
    (error,) = findings(trace)
    useless = Fix("Change nothing", (Edit("snippet.py", 1, 1, "import torch"),))
    worse = Fix("Break it", (Edit("snippet.py", 3, 3, "y = nosuchname"),))
    tried = Finding(
        error.kind,
        error.severity,
        error.message,
        error.facts,
        error.places,
        (useless, worse, *error.fixes),
    )
    (told,) = verified(trace, [tried], runner)
    by_title = {fix.title: fix for fix in told.fixes}
    assert by_title["Change nothing"].verified is False
    assert "came again" in by_title["Change nothing"].how
    assert by_title["Break it"].verified is False
    assert told.fixes[0].verified is True
    assert told.fixes[0].edits[0].new == "y.sum().backward(retain_graph=True)"
    assert [fix.verified for fix in told.fixes][-2:] == [False, False]


def test_without_verification_nothing_is_known(runner: Runner) -> None:
    found = diagnose(snippet(OVERWRITTEN), runner, verify=False, lessons=[])
    assert {fix.verified for fix in found.findings[0].fixes} == {None}
    assert found.findings[0].lesson is None


async def test_the_same_on_an_event_loop(runner: Runner) -> None:
    found = await diagnose_async(snippet(OVERWRITTEN), runner, lessons=[])
    assert found.findings[0].fixes[0].verified is True


def test_a_healthy_program_is_healthy(runner: Runner) -> None:
    found = diagnose(snippet("import torch\nprint(torch.ones(2).sum())\n"), runner, lessons=[])
    assert found.healthy
    assert found.findings == ()


@pytest.mark.parametrize(
    ("line", "repeated"),
    [
        ("x = 1", True),
        ("import tempfile; open(tempfile.mkstemp()[1], 'w').write('x')", True),
        ("open('left-behind.txt', 'w').write('x')", False),
        ("torch.save(a, 'left-behind.pt')", False),
        ("import subprocess; subprocess.run(['true'])", False),
        ("import sys; sys.stdin.read()", False),
    ],
)
def test_a_script_is_repeated_only_if_it_left_nothing(
    runner: Runner,
    line: str,
    repeated: bool,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What is written to the temporary folder does not count. The script lies outside of it,
    # even where the checkout is in the system's own.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = Path(request.config.cache.mkdir("scripts"))  # type: ignore[union-attr]
    text = OVERWRITTEN.replace("b = a ** 2", f"b = a ** 2; {line}")
    found = diagnose(script(text, folder), runner, verify=None, lessons=[])
    for left in folder.glob("left-behind*"):
        left.unlink()
    assert found.findings[0].kind == "inplace-saved"
    assert may_repeat(found.trace) is repeated
    assert found.findings[0].fixes[0].verified is (True if repeated else None)


def test_lessons_are_told_by_where_they_lie(tmp_path: Path) -> None:
    (tmp_path / "inplace").mkdir()
    (tmp_path / "inplace" / "version-counter.yaml").write_text("", encoding="utf-8")
    (tmp_path / "pack.yaml").write_text("", encoding="utf-8")
    assert installed_lessons(tmp_path) == {"inplace.version-counter"}
    assert installed_lessons(tmp_path / "nowhere") == frozenset()
    assert "inplace.version-counter" in installed_lessons()


def test_what_a_script_in_the_temporary_folder_writes_beside_itself_counts(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = tmp_path / "mine"
    folder.mkdir()
    text = OVERWRITTEN.replace("b = a ** 2", "b = a ** 2; open('log', 'a').write('x')")
    found = diagnose(script(text, folder), runner, verify=None, lessons=[])
    assert (folder / "log").read_text() == "x"
    assert not may_repeat(found.trace)


HELPER = """\
def squeeze(t):
    t.sigmoid_().mul_(t)
    return t
"""
USES = """\
import torch
from helper import squeeze
x = torch.ones(3, requires_grad=True)
squeeze(x * 2).sum().backward()
"""


@pytest.mark.parametrize("named", [False, True])
def test_a_fix_in_another_file_is_proved_without_writing_it(
    runner: Runner, tmp_path: Path, named: bool
) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "main.py").write_text(USES)
    program = script(USES, tmp_path)
    if named:
        program = Program((), profile="script", module="main", cwd=str(tmp_path))
    found = diagnose(program, runner)
    first = found.findings[0].fixes[0]
    assert [Path(edit.file).name for edit in first.edits] == ["helper.py"]
    assert (first.verified, first.how) == (True, "ran without the finding")
    assert (tmp_path / "helper.py").read_text() == HELPER
