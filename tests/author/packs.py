"""Packs written down in a test."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

HEAD = """\
format: 1
id: {id}
title: {title}
revision: 1
level: core
minutes: 5
torch: ">=2.13"
setup: |
  import torch
  x = torch.tensor(3., requires_grad=True)
steps:
"""
"""What stands above the steps of a lesson: `x` is 3 and requires grad."""

LESSON = """\
- id: mend
  kind: fix
  text: Make the gradient 12.
  starter: |
    y = x ** 2
    y.backward()
  checks:
    - {grad: {of: x, equals: 12}}
  hints: [One., Two.]
  solution: |
    y = 2 * x ** 2
    y.backward()
"""
"""The steps of a lesson that keeps its promises."""


def write_pack(folder: Path, lessons: Mapping[str, str], concepts: Iterable[str] = ()) -> Path:
    """A pack of these lessons: whole files, or lists of steps to stand below `HEAD`."""
    tracks: dict[str, list[str]] = {}
    for lesson_id in lessons:
        tracks.setdefault(lesson_id.split(".")[0], []).append(lesson_id)
    rows = "".join(
        f"  - {{id: {track}, title: {track}, lessons: [{', '.join(ids)}]}}\n"
        for track, ids in tracks.items()
    )
    folder.mkdir(exist_ok=True)
    (folder / "pack.yaml").write_text(
        "id: pack\ntitle: Pack\nformat: 1\nversion: 0.1.0\nlicence: CC-BY-4.0\n"
        f'authors: [nobody]\ntorch: ">=2.13"\ntracks:\n{rows}',
        encoding="utf-8",
    )
    if concepts:
        lines = "".join(f"  {name}: {{meaning: What it is.}}\n" for name in concepts)
        (folder / "concepts.yaml").write_text(f"concepts:\n{lines}", encoding="utf-8")
    for lesson_id, text in lessons.items():
        path = folder / f"{lesson_id.replace('.', '/')}.yaml"
        path.parent.mkdir(exist_ok=True)
        if "\nsteps:" not in text:
            text = HEAD.format(id=lesson_id, title=lesson_id) + textwrap.indent(text, "  ")
        path.write_text(text, encoding="utf-8")
    return folder
