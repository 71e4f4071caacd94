"""For those who learn to write lessons: steps are looked through where they are written."""

from __future__ import annotations

import tempfile
import textwrap
from pathlib import Path

from tutor.author.lint import faults_of
from tutor.lesson import load_pack

_PACK = """\
id: practice
title: Practice
format: 1
version: 0.1.0
licence: CC0-1.0
authors: [you]
torch: ">=2.13"
tracks: [{id: my, title: Mine, lessons: [my.lesson]}]
"""

_HEAD = """\
format: 1
id: my.lesson
title: My lesson
revision: 1
level: intro
minutes: 5
torch: ">=2.13"
setup: |
  import torch
  x = torch.tensor(3., requires_grad=True)
steps:
"""


def lint(steps: str) -> int:
    """Print every fault of the steps of a lesson whose `x` is 3, and return how many there are."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "my").mkdir()
        (Path(folder) / "pack.yaml").write_text(_PACK, encoding="utf-8")
        written = _HEAD + textwrap.indent(textwrap.dedent(steps).strip("\n"), "  ") + "\n"
        (Path(folder) / "my" / "lesson.yaml").write_text(written, encoding="utf-8")
        found = faults_of(load_pack(Path(folder), torch="", shown=""))
    for fault in found:
        print(fault.shown())
    if not found:
        print("no faults")
    return len(found)
