"""Whether, and how, a program is run again with an edit."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tutor.explain import Edit
from tutor.explain.edits import apply
from tutor.trace import Program, Trace
from tutor.trace import events as ev

QUICK = 10.0
"""Seconds under which a script may be run again to prove a fix."""


def may_repeat(trace: Trace) -> bool:
    """Whether running the program once more does no harm and takes no long time.

    A snippet always may. A script may if it was quick, and wrote no file outside temporary
    folders, opened no connection, started no process and read no input.
    """
    program = trace.program
    if program is None or not program.sources:
        return False
    if program.profile == "snippet":
        return True
    if trace.end is None or trace.end.seconds >= QUICK:
        return False
    if any(True for _ in trace.of_kind(ev.Effect)):
        return False
    return not any("stdin" in text for text in trace.texts.values())


def edited(program: Program, edits: Iterable[Edit]) -> Program | None:
    """The program with edits made, None where one touches a file that is no source of it."""
    changes = list(edits)
    files = {source.file for source in program.sources}
    if not changes or any(edit.file not in files for edit in changes):
        return None
    sources = tuple(
        msgspec.structs.replace(source, text=apply(source.text, changes, source.file))
        for source in program.sources
    )
    timeout = program.timeout
    if program.profile == "script":
        timeout = min(timeout or 3 * QUICK, 3 * QUICK)
    return msgspec.structs.replace(program, sources=sources, probes=(), timeout=timeout)
