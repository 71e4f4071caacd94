"""Lessons written down in a test."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tutor.lesson import Lesson, load_lesson
from tutor.lesson.document import Document

HEAD = """\
format: 1
id: a.b
title: T
revision: 1
level: core
minutes: 1
torch: ">=2.13"
setup: |
  import torch
  x = torch.tensor(3., requires_grad=True)
"""


def lesson(folder: Path, steps: str) -> tuple[Lesson, Document]:
    """A lesson of these steps; `x` is 3 and requires grad."""
    path = folder / "b.yaml"
    path.write_text(HEAD + "steps:\n" + textwrap.indent(textwrap.dedent(steps), "  "), "utf-8")
    made, document, faults = load_lesson(path, "a.b", "a/b.yaml")
    assert not faults, "\n".join(fault.shown() for fault in faults)
    assert made is not None
    return made, document
