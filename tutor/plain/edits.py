"""A proposed change, made in the learner's code."""

from __future__ import annotations

from tutor.explain import Fix


def applied(code: str, fix: Fix, file: str) -> str:
    """The code with the edits of a fix that belong to this file, last lines first."""
    lines = code.splitlines()
    for edit in sorted(fix.edits, key=lambda edit: -edit.line):
        if edit.file == file:
            lines[edit.line - 1 : edit.end_line] = edit.new.splitlines()
    return "".join(f"{line}\n" for line in lines)
