"""Whether, and how, a program is run again with an edit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import msgspec

from tutor.explain import Edit
from tutor.explain.edits import apply
from tutor.trace import Program, Source, Trace
from tutor.trace import events as ev

QUICK = 10.0
"""Seconds under which a script may be run again to prove a fix."""


def may_repeat(trace: Trace) -> bool:
    """Whether running the program once more does no harm and takes no long time.

    A snippet always may. A script may if it was quick, and wrote no file outside temporary
    folders, opened no connection, started no process and read no input.
    """
    program = trace.program
    if program is None or not (program.sources or program.module):
        return False
    if program.profile == "snippet":
        return True
    if trace.end is None or trace.end.seconds >= QUICK:
        return False
    if any(True for _ in trace.of_kind(ev.Effect)):
        return False
    return not any("stdin" in text for text in trace.texts.values())


def edited(
    program: Program, edits: Iterable[Edit], texts: Mapping[str, str] | None = None
) -> Program | None:
    """The program with edits made, None where one touches a file of which nothing is known.

    `texts` are those of the modules that it imported; they are changed for the run alone.
    """
    changes = list(edits)
    files = {source.file for source in program.sources}
    others = {edit.file for edit in changes} - files
    known = texts or {}
    if not changes or any(not known.get(file) or not os.path.isabs(file) for file in others):
        return None
    instead = tuple(Source(file, apply(known[file], changes, file)) for file in sorted(others))
    sources = tuple(
        msgspec.structs.replace(source, text=apply(source.text, changes, source.file))
        for source in program.sources
    )
    timeout = program.timeout
    if program.profile == "script":
        timeout = min(timeout or 3 * QUICK, 3 * QUICK)
    return msgspec.structs.replace(
        program, sources=sources, instead=instead, probes=(), timeout=timeout
    )
