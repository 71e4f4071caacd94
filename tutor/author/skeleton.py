"""Packs, lessons and steps to begin from; what is to be written says TODO."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

from tutor.author.schema import schema_of
from tutor.lesson.document import Document, Node, read
from tutor.lesson.model import KEBAB, LESSON_ID
from tutor.lesson.steps import KINDS
from tutor.lesson.versions import installed_torch, numbers

FIRST = "first-steps.hello"
"""The lesson that a new pack begins with."""


class NotMade(ValueError):
    """What was asked for cannot be written there; the text says why, and what to do."""


_PACK = """\
# What the pack is, and its lessons in order. A lesson's id is its folder, a dot, its file's name.
id: {id}
title: TODO what people will call the pack
format: 1
version: 0.1.0
licence: {licence}
authors: [TODO your name]
torch: "{torch}"

tracks:
  - id: first-steps
    title: First steps
    lessons: [first-steps.hello]
"""

_CONCEPTS = """\
# The glossary: each concept that a lesson teaches or requires, in one sentence.
concepts:
  hello:
    meaning: TODO what the first lesson explains, in one sentence
"""

_LESSON = """\
# yaml-language-server: $schema=../lesson.schema.json
format: 1
id: {id}
title: TODO what the lesson is about
revision: 1
level: intro
minutes: 5
torch: "{torch}"
teaches: [{teaches}]

# Runs before the code of every step.
setup: |
  import torch
  x = torch.tensor([1., 2., 3.], requires_grad=True)

steps:
"""

_CHECK = """\
  checks:
    - {{raises: none}}
    # What must be so after the run; `autograd-tutor author record` proposes checks.
    - value: {{of: x, equals: start.x}}
      why: TODO replace this check by one that the solution passes and nothing else
"""

_HINTS = """\
  hints:
    - TODO a nudge, where to look
    - TODO nearly the answer
"""

_WORK = """\
- id: {id}
  kind: {kind}
  text: |
    TODO what the learner is to do
  starter: |
    # TODO {starter}
{check}  # Wrong ideas that people have. The example must show it, and get this answer alone.
  mistakes:
    - id: first-idea
      when: [{{raises: none}}]
      say: TODO what to tell who had this idea
      example: |
        # TODO code that has it
{hints}  solution: |
    # TODO code that passes
"""

_STEPS: Mapping[str, str] = {
    "read": """\
- id: {id}
  kind: read
  text: |
    TODO a few sentences, a hundred words at most
""",
    "run": """\
- id: {id}
  kind: run
  text: |
    TODO what to look at
  code: |
    # TODO the program
{check}""",
    "predict": """\
- id: {id}
  kind: predict
  text: TODO what is asked
  code: |
    # TODO the program
  # After the run exactly one of them must hold, and be the answer.
  choices:
    - id: first
      text: TODO an answer
      holds: [{{raises: none}}]
    - id: second
      text: TODO another answer
      holds: [{{raises: {{}}}}]
  answer: first
  after: |
    TODO why it is so
""",
    "choice": """\
- id: {id}
  kind: choice
  text: TODO what is asked
  choices:
    - id: first
      text: TODO a right answer
      right: true
    - id: second
      text: TODO a wrong answer
      say: TODO why it is wrong
""",
    "fill": """\
- id: {id}
  kind: fill
  text: |
    TODO what the learner is to fill in
  code: |
    y = x * ⟦gap⟧  # TODO the program, with its gaps
  blanks:
    gap: {{answer: "2", also: []}}
{check}{hints}""",
    "fix": _WORK,
    "write": _WORK,
    "break": _WORK,
    "order": """\
- id: {id}
  kind: order
  text: |
    TODO what the program is to do
  lines:
    - "# TODO the first line"
    - "# TODO the second line"
  # Lines that belong nowhere.
  extra:
    - "pass  # TODO a line that must stay out"
{check}{hints}""",
}

_STARTER = {
    "fix": "a program that does not work yet",
    "write": "what is there to begin with (or leave starter: out)",
    "break": "a program that works",
}

_CI = """\
name: lessons
on: [push, pull_request]
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {fetch-depth: 0}
      - uses: actions/setup-python@v5
        with: {python-version: "3.11"}
      - run: pip install autograd-tutor
      - run: autograd-tutor author check --format github
"""


def new_pack(folder: Path, licence: str = "CC-BY-4.0") -> list[Path]:
    """Write a pack with one lesson into a folder that is not there yet. Raises `NotMade`."""
    name = folder.resolve().name.lower()
    if re.match(KEBAB, name) is None:
        raise NotMade(
            f"{folder.name} is no name for a pack: lower-case words joined by hyphens are."
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise NotMade(f"{folder} is there already, and not empty. Choose another name.")
    steps = step("read", "welcome") + "\n" + step("fix", "mend")
    files = {
        "pack.yaml": _PACK.format(id=name, licence=licence, torch=torch_range()),
        "concepts.yaml": _CONCEPTS,
        "first-steps/hello.yaml": _lesson(FIRST, "hello") + steps,
        "lesson.schema.json": json.dumps(schema_of("lesson"), indent=1) + "\n",
        ".gitignore": "*.agpack\n",
        ".github/workflows/lessons.yml": _CI,
    }
    made = []
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        made.append(path)
    return made


def add(folder: Path, lesson_id: str, kind: str) -> Path:
    """Add a step of some kind to a lesson of a pack, which is made and listed if it is new.

    Returns the lesson's file. Raises `NotMade`.
    """
    if not (folder / "pack.yaml").is_file():
        raise NotMade(f"{folder} is no pack. `autograd-tutor author new {folder}` makes one.")
    if re.match(LESSON_ID, lesson_id) is None:
        raise NotMade(
            f"{lesson_id} is no lesson's id: it is a track, a dot and a name, like inplace.views."
        )
    path = folder / f"{lesson_id.replace('.', '/', 1)}.yaml"
    if path.exists():
        text = _with_step(read(path, str(path)), kind)
    else:
        document = read(folder / "pack.yaml", "pack.yaml")
        (folder / "pack.yaml").write_text(_with_lesson(document, lesson_id), encoding="utf-8")
        text = _lesson(lesson_id, "") + textwrap.indent(_unindented(kind, "first"), "  ")
        path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def torch_range() -> str:
    """The versions from the installed torch on."""
    have = numbers(installed_torch()) or (2, 13)
    return f">={have[0]}.{have[1] if len(have) > 1 else 0}"


def step(kind: str, step_id: str) -> str:
    """A step as it stands under `steps:`, two columns in."""
    return textwrap.indent(_unindented(kind, step_id), "  ")


def _unindented(kind: str, step_id: str) -> str:
    starter = _STARTER.get(kind, "")
    check, hints = _CHECK.format(), _HINTS
    return _STEPS[kind].format(id=step_id, kind=kind, starter=starter, check=check, hints=hints)


def _lesson(lesson_id: str, teaches: str) -> str:
    return _LESSON.format(id=lesson_id, torch=torch_range(), teaches=teaches)


# -- into files that are there --------------------------------------------------------------


def _with_step(document: Document, kind: str) -> str:
    """The text of a lesson with one more step at its end."""
    root, lines = document.root, list(document.text.lines)
    entry = root.value.get("steps") if root and isinstance(root.value, dict) else None
    items = entry[1].value if entry else None
    if document.faults or entry is None or not isinstance(items, list):
        raise NotMade(f"{document.path} has faults; mend them first (author lint shows them).")
    key, steps = entry
    if lines[steps.line][steps.column : steps.column + 1] != "-":
        raise NotMade(f"{document.path} has its steps in brackets; write them under each other.")
    assert root is not None
    assert isinstance(root.value, dict)
    later = [k.line for k, _ in root.value.values() if k.line > key.line]
    end = min(later, default=len(lines))
    while end and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    ids = {value.value for item in items for key, value in _values(item) if key.value == "id"}
    name = kind
    number = 2
    while name in ids:
        name, number = f"{kind}-{number}", number + 1
    made = textwrap.indent(_unindented(kind, name), " " * steps.column).splitlines()
    return "\n".join([*lines[:end], "", *made, *lines[end:]]) + "\n"


def _with_lesson(document: Document, lesson_id: str) -> str:
    """The text of pack.yaml with one more lesson, in its track or in a new one."""
    root, lines = document.root, list(document.text.lines)
    if document.faults or root is None:
        raise NotMade("pack.yaml has faults; mend them first (author lint shows them).")
    track = lesson_id.split(".")[0]
    tracks = document.node(("tracks",))
    if tracks is None or not isinstance(tracks.value, list) or not tracks.value:
        raise NotMade("pack.yaml has no tracks; mend that first (author lint shows it).")
    for node in tracks.value:
        entries = node.value if isinstance(node.value, dict) else {}
        if "id" in entries and entries["id"][1].value == track and "lessons" in entries:
            lessons = entries["lessons"][1]
            if isinstance(lessons.value, list) and lessons.value:
                return _after(lines, lessons.value[-1], lesson_id)
    if lines[tracks.line][tracks.column : tracks.column + 1] != "-":
        raise NotMade(f"Add a track {track} to pack.yaml, with the lesson {lesson_id}.")
    indent = " " * tracks.column
    title = track.replace("-", " ").capitalize()
    end = len(lines)
    later = [k.line for k, _ in _values(root) if k.line > tracks.line]
    end = min(later, default=end)
    while not lines[end - 1].strip():
        end -= 1
    made = [
        f"{indent}- id: {track}",
        f"{indent}  title: {title}",
        f"{indent}  lessons: [{lesson_id}]",
    ]
    return "\n".join([*lines[:end], *made, *lines[end:]]) + "\n"


def _values(node: Node) -> list[tuple[Node, Node]]:
    return list(node.value.values()) if isinstance(node.value, dict) else []


def _after(lines: list[str], last: Node, lesson_id: str) -> str:
    """The lines with an item behind the last one of a list, in brackets or under each other."""
    line, column = last.end
    text = lines[line]
    before = lines[last.line][: last.column]
    if before.strip() == "-":
        lines.insert(line + 1, f"{before}{lesson_id}")
    else:
        lines[line] = f"{text[:column]}, {lesson_id}{text[column:]}"
    return "\n".join(lines) + "\n"


assert set(_STEPS) == set(KINDS)
