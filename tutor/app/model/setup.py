"""The setup above the code, folded to one line that names what it makes."""

from __future__ import annotations

import ast

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.rows import Row, Span, cut, wrap

FOLDED_LINES = 2
"""Lines that the folded setup takes at most."""


def setup_rows(setup: str, folded: bool, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """One line that says what there is before the learner's code, or all of it."""
    if not setup.strip():
        return []
    if folded:
        made = "; ".join(made_by(setup)) or " ".join(setup.split())
        spans = (Span(f"{glyphs.closed} setup  {made}", "dim"),)
        lines = wrap(spans, width, "  ")
        if len(lines) > FOLDED_LINES:
            lines = [
                *lines[: FOLDED_LINES - 1],
                cut(lines[FOLDED_LINES - 1], width - 1, glyphs.more),
            ]
        return [Row(line, action="fold setup", key=f"setup {n}") for n, line in enumerate(lines)]
    rows = [Row((Span(f"{glyphs.open} setup  ", "dim"),), action="fold setup", key="setup")]
    for line in setup.rstrip("\n").split("\n"):
        rows += [
            Row(part, action="fold setup")
            for part in wrap((Span("  " + line, "dim"),), width, "    ")
        ]
    return rows


def made_by(setup: str) -> list[str]:
    """What each statement of a setup makes: `x = tensor([1., 2.])`, `def f`, `class Net`."""
    try:
        body = ast.parse(setup).body
    except (SyntaxError, ValueError):
        return ["code that does not parse"]
    made: list[str] = []
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            made.append(_short(ast.get_source_segment(setup, statement) or ast.unparse(statement)))
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            made.append(f"def {statement.name}({', '.join(a.arg for a in statement.args.args)})")
        elif isinstance(statement, ast.ClassDef):
            made.append(f"class {statement.name}")
    return made


def _short(code: str) -> str:
    """The statement on one line, without the module's name before each call."""
    return " ".join(code.replace("torch.", "").split())
