"""`%%explain` in IPython and Jupyter: runs a cell under observation, and says what happened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tutor.attach.region import Run


def load(shell: Any) -> None:
    """Give a shell the magic. Called by `%load_ext tutor`."""

    def explain(line: str, cell: str) -> None:
        """Run the cell and say what autograd did in it."""
        run_cell(shell, cell)

    shell.register_magic_function(explain, magic_kind="cell", magic_name="explain")


def run_cell(shell: Any, cell: str) -> Run:
    """Run a cell as the shell does, and show what was found.

    What the cell prints, returns and raises is shown by the shell itself. The namespace gets
    what the cell gives it, and nothing of ours. Raises `RuntimeError` inside a watched region.
    """
    text = shell.transform_cell(cell)
    number = shell.displayhook.prompt_count
    name = shell.compile.get_code_name(cell, text, number)
    run = Run(save=False)
    run.begin(None, name, text, os.getcwd(), shell.user_global_ns)
    error: BaseException | None = None
    try:
        with _numbered(shell.compile, number):
            result = shell.run_cell(cell, store_history=False)
        error = result.error_before_exec or result.error_in_exec
    except BaseException as ended:
        run.finish(ended, ended.__traceback__)
        raise
    run.finish(error, error.__traceback__ if error is not None else None)
    _show(run)
    return run


@contextmanager
def _numbered(compiler: Any, number: int) -> Iterator[None]:
    """The cell inside has the number of the cell that it stands in, in tracebacks too."""
    cache = compiler.cache

    def numbered(text: str, _: int = 0, raw_code: str | None = None) -> Any:
        return cache(text, number, raw_code=raw_code)

    compiler.cache = numbered
    try:
        yield
    finally:
        del compiler.cache


def _show(run: Run) -> None:
    from IPython.display import display

    display(run)  # type: ignore[no-untyped-call,unused-ignore]
