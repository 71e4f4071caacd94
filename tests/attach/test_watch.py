"""A region of this very process: what is seen, what passes through, what is as before."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

import tutor
from tutor.attach import Run
from tutor.run import Runner
from tutor.trace import file, snippet

HERE = __file__
OUTSIDE = torch.tensor([2.0, 3.0], requires_grad=True)


def line_of(mark: str) -> int:
    """The line of this file that ends in this comment."""
    lines = Path(HERE).read_text(encoding="utf-8").splitlines()
    (found,) = [n for n, text in enumerate(lines, 1) if text.endswith(f"# {mark}")]
    return found


def as_before() -> dict[str, Any]:
    """All of the process that a region could leave changed."""
    return {
        "trace": sys.gettrace(),
        "threads": threading.gettrace(),
        "modes": torch._C._len_torch_function_stack(),
        "grad": torch.is_grad_enabled(),
        "hook": sys.excepthook,
        "stdout": (sys.stdout, vars(sys.stdout).get("write")),
        "stderr": (sys.stderr, vars(sys.stderr).get("write")),
        "warnings": warnings._showwarnmsg_impl,  # type: ignore[attr-defined]
        "local": sys._getframe(1).f_trace,
    }


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Trace files go here."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def spoil(x: torch.Tensor) -> torch.Tensor:
    y = x.exp()  # saves its result
    y += 1  # spoils it
    return y


def test_an_error_passes_through_and_is_explained(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = torch.ones(2, requires_grad=True)
    before = as_before()
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as bare:
        spoil(x).sum().backward()
    with pytest.raises(RuntimeError) as caught:
        with tutor.watch() as run:
            y = spoil(x)
            y.sum().backward()  # asks for it
    assert as_before() == before
    assert run.failures == 0
    assert str(caught.value) == str(bare.value)
    frames = [entry.filename for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert frames == [entry.filename for entry in traceback.extract_tb(bare.value.__traceback__)]
    (found,) = run.findings
    assert found.kind == "inplace-saved"
    places = {place.role: (place.file, place.line) for place in found.places}
    assert places == {
        "cause": (HERE, line_of("spoils it")),
        "witness": (HERE, line_of("saves its result")),
        "surfaced": (HERE, line_of("asks for it")),
    }
    assert run.trace.outcome == "error"
    assert run.file is not None
    assert Path(run.file).parent == files
    assert capsys.readouterr().err.count(f"what happened is in {run.file}\n") == 1
    text = run.report()
    assert "y += 1  # spoils it" in text
    assert "The result of exp was changed in place" in repr(run)


def test_one_step_of_a_long_loop() -> None:
    w = torch.ones(2, requires_grad=True)
    run: Run | None = None
    for step in range(50):
        if step == 40:
            with tutor.watch() as run:
                total = w.sum()
                for _ in range(3):
                    total = total * 2  # doubles
                total.backward()
        else:
            (w * 2).sum().backward()
        w.grad = None
    assert run is not None
    assert run.findings == ()
    doubled = [op for op in run.trace.ops if op.site[-1].line == line_of("doubles")]
    # The loop around the region was not watched from its beginning: its count is not claimed.
    assert [op.site[-1].iteration for op in doubled] == [(1,), (2,), (3,)]
    (accumulated,) = run.trace.passes[0].accumulated
    assert accumulated.after is not None
    assert accumulated.after.flat == (8.0, 8.0)  # d(8 · sum w)/dw
    assert run.file is None


def test_names_that_were_there_before_are_known() -> None:
    early = OUTSIDE * 2
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    pair = [torch.zeros(1), torch.ones(1)]
    with tutor.watch() as run:
        late = (early * 3).sum()
        net(torch.ones(1, 2)).sum().backward()
    last = run.trace.last
    known = {name for uid in last.tensors for name in last.names_of(uid)}
    inner = "test_names_that_were_there_before_are_known"
    assert {f"early (in {inner})", f"late (in {inner})", f"pair[1] (in {inner})"} <= known
    assert "OUTSIDE" in known
    labels = {tensor.meta.label for tensor in last.tensors.values()}
    assert {"net.0.weight", "net.1.bias"} <= labels
    del late, pair


def test_no_grad_around_it_is_seen_and_stays() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        with tutor.watch() as run:
            y = x * 2
        assert not torch.is_grad_enabled()
    assert not y.requires_grad
    assert run.trace.last.grad_mode is False
    with pytest.raises(RuntimeError, match="does not require grad"):
        with tutor.watch() as run:
            y.sum().backward()
    assert run.findings[0].severity == "error"


def test_output_and_warnings_are_told_and_still_come_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.warns(UserWarning, match="mind"), tutor.watch() as run:
        print("to out")
        print("to err", file=sys.stderr)
        warnings.warn("mind", stacklevel=1)  # warns
    assert capsys.readouterr() == ("to out\n", "to err\n")
    assert list(run.trace.last.output) == [(1, "to out\n"), (2, "to err\n")]
    assert run.trace.end is not None
    assert run.trace.end.output == "to out\nto err\n"
    (warned,) = run.trace.last.warnings
    assert (warned.message, warned.line) == ("mind", line_of("warns"))


def test_a_second_region_is_refused_and_the_first_goes_on() -> None:
    before = as_before()
    with tutor.watch() as run:
        with pytest.raises(RuntimeError, match=r"watched already, since test_watch.py, line \d+"):
            with tutor.watch():
                pass
        y = torch.ones(1) * 2
    assert as_before() == before
    assert [op.func for op in run.trace.ops] == ["torch.ones", "Tensor.mul"]
    with pytest.raises(RuntimeError, match="was watched already"), run:
        pass
    with tutor.watch() as other:
        y + 1
    assert len(other.trace.ops) == 1


def test_nothing_is_asked_before_the_end() -> None:
    with tutor.watch() as run:
        assert repr(run) == "<tutor.watch: watching>"
        with pytest.raises(RuntimeError, match="not over yet"):
            run.findings
    assert run.findings == ()


def test_exit_and_interrupt_pass_through() -> None:
    before = as_before()
    with pytest.raises(SystemExit) as left, tutor.watch() as run:
        sys.exit(3)
    assert left.value.code == 3
    assert run.trace.end is not None
    assert (run.trace.end.outcome, run.trace.end.code) == ("exited", 3)
    assert run.file is None
    with pytest.raises(KeyboardInterrupt), tutor.watch() as run:
        torch.ones(1)
        raise KeyboardInterrupt
    assert run.trace.outcome == "cancelled"
    assert run.file is not None
    assert as_before() == before


def test_a_generator_from_before_is_seen_while_the_region_lasts() -> None:
    def doubling() -> Iterator[torch.Tensor]:
        x = torch.ones(1)
        while True:
            yield x
            x = x * 2  # doubles in a generator

    source = doubling()
    next(source)
    with tutor.watch() as run:
        assert next(source).item() == 2
        for value in doubling():
            if value.item() > 2:
                break
    assert next(source).item() == 4
    assert sys.gettrace() is None
    lines = [op.site[-1].line for op in run.trace.ops if op.func == "Tensor.mul"]
    assert lines == [line_of("doubles in a generator")] * 3  # one of the first, two of the second


def test_a_thread_is_seen_and_outlives_the_region_at_full_speed() -> None:
    x = torch.ones(2, requires_grad=True)
    go_on, seen = threading.Event(), threading.Event()
    after: list[object] = []

    def work() -> None:
        (x * 2).sum().backward()  # in a thread
        seen.set()
        go_on.wait(10)
        y = torch.ones(1)
        after.append(sys.gettrace())
        y = y * 3
        after.append(y.item())

    with tutor.watch() as run:
        thread = threading.Thread(target=work)
        thread.start()
        assert seen.wait(10)
    events = len(run.trace)
    go_on.set()
    thread.join(10)
    assert after == [None, 3.0]
    assert len(run.trace) == events
    assert [p.site[-1].line for p in run.trace.passes] == [line_of("in a thread")]
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_trace_functions_of_others_come_back() -> None:
    def mine(frame: Any, event: str, arg: Any) -> Any:
        return None

    sys.settrace(mine)
    threading.settrace(mine)
    try:
        with tutor.watch():
            assert sys.gettrace() is not mine
        assert sys.gettrace() is mine
        assert threading.gettrace() is mine
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


def test_a_mode_that_the_region_leaves_on_stays_on() -> None:
    from torch.overrides import TorchFunctionMode

    class Mine(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            return func(*args, **(kwargs or {}))

    mine = Mine()
    with tutor.watch():
        mine.__enter__()
    try:
        assert torch._C._len_torch_function_stack() == 1
        assert torch._C._get_function_stack_at(0) is mine
    finally:
        mine.__exit__(None, None, None)


def test_objects_die_when_they_would() -> None:
    held = torch.ones(3)
    gone = weakref.ref(held)
    with tutor.watch() as run:
        x = torch.ones(2)
        inner = weakref.ref(x)
        del x
        assert inner() is None
    del held
    gc.collect()
    assert gone() is None
    assert len(run.trace) > 0


def test_what_locals_gave_to_the_program_stays() -> None:
    count = 3
    kept = locals()
    with tutor.watch():
        x = torch.ones(2, requires_grad=True)
        (x * count).sum().backward()
    assert kept["count"] == 3


def test_an_exit_stack_and_code_without_a_file() -> None:
    with ExitStack() as stack:
        run = stack.enter_context(tutor.watch())
        torch.ones(1) + 1  # in a stack
    assert [op.site[-1].line for op in run.trace.ops] == [line_of("in a stack")] * 2
    space: dict[str, Any] = {}
    exec("import tutor, torch\nwith tutor.watch() as run:\n    y = torch.ones(1) * 2\n", space)
    ops = space["run"].trace.ops
    assert [(op.func, op.site[-1].line) for op in ops] == [("torch.ones", 3), ("Tensor.mul", 3)]


def test_the_page_stands_in_a_frame_of_its_own() -> None:
    with tutor.watch() as run:
        text = "</iframe><script>alert(1)</script>"
        y = torch.ones(1, requires_grad=True) * 2
        y.backward()
    shown = run._repr_html_()
    assert shown is not None
    assert shown.startswith("<iframe ")
    assert shown.count("<") == 2  # the frame itself: all else is text of its attribute
    assert re.search(r'sandbox="allow-scripts"', shown)
    assert "What was found" in run.html()
    del text


def test_under_explain_there_is_one_observer(runner: Runner) -> None:
    trace = runner.run(
        snippet(
            "import torch, tutor\nx = torch.ones(1, requires_grad=True)\n"
            "with tutor.watch() as run:\n    y = (x * 2).sum()\ny.backward()\n"
            "print(run.findings, run.report())\n"
        )
    )
    assert trace.end is not None
    assert trace.end.outcome == "ok", trace.end.output
    assert "() The whole script is being explained" in trace.end.output
    assert len(trace.passes) == 1


def test_the_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (Path(HERE).parents[2] / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(import tutor\n.*?)```", readme, re.DOTALL)
    assert found
    model = torch.nn.Linear(3, 1)
    exec(found[1], {"model": model, "batch": torch.ones(2, 3)})
    assert model.weight.grad is not None
    assert "nothing wrong was found   1 backward ran" in capsys.readouterr().out


def test_a_region_that_asks_for_a_file_has_one(tmp_path: Path) -> None:
    with tutor.watch(save=tmp_path / "good.trace") as run:
        torch.ones(1)
    assert run.file == str(tmp_path / "good.trace")
    opened = file.load(tmp_path / "good.trace")
    assert opened.outcome == "ok"
    assert [op.func for op in opened.ops] == ["torch.ones"]
    run.save(tmp_path / "again.trace")
    assert file.load(tmp_path / "again.trace").events == run.trace.events


def test_a_file_that_cannot_be_written_is_said_and_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="mine"), tutor.watch(save=tmp_path / "no" / "x") as run:
        raise ValueError("mine")
    assert "the trace could not be saved" in capsys.readouterr().err
    assert run.trace.outcome == "error"


def test_what_an_exception_left_is_explained_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "import torch, tutor\n"
        "def job():\n"
        "    x = torch.ones(2, requires_grad=True)\n"
        "    with tutor.watch():\n"
        "        y = x.exp()\n"
        "        y += 1\n"
        "        y.sum().backward()\n"
        "job()\n",
        encoding="utf-8",
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(HERE).parents[2]), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environ, timeout=100
    )
    assert done.returncode == 1
    assert 'job.py", line 7, in job\n    y.sum().backward()' in done.stderr
    command = re.search(r"^ +autograd-tutor (explain \S+)$", done.stderr, re.MULTILINE)
    assert command
    script.unlink()  # another machine has no such file
    told = subprocess.run(
        [sys.executable, "-m", "tutor", *command[1].split()],
        capture_output=True, text=True, env=environ, timeout=100, cwd=tmp_path,
    )  # fmt: skip
    assert told.returncode == 1, told.stderr
    assert "The result of exp was changed in place" in told.stdout
    assert re.search(r"◆ +6 +y \+= 1", told.stdout)
