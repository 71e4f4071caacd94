"""`author fmt`: one shape, the same meaning, and every comment still there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tutor.author.order import CODE
from tutor.author.tidy import NotTidied, tidied
from tutor.cli import main
from tutor.lesson.document import Node, parse

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "lessons").rglob("*.yaml"))

MESSY = """\
# The first line stays the first.
id: group.messy
# About the format.
format: 1
title: 'A title: quoted'
revision: 1
steps:
  # About the first step.
  - text: |
      Some # text

        kept as it is   \n    kind: fix
    # About the id.
    id: mend   # and behind it
    solution: y = x * 2
    starter: "y = x\\ny = y + 1\\n"
    also:
      - y = 2 * x
      - |
        y = x + x
    checks:
      - value: {equals: 6, of: y}
        why: Because.
    hints: [One., Two.]



  - {kind: read, id: brackets, text: Left as it is.}
  # At the end.
minutes: 5
level: core
torch: ">=2.13"
setup: x = 3
"""

TIDY = """\
# The first line stays the first.
# About the format.
format: 1
id: group.messy
title: 'A title: quoted'
revision: 1
level: core
minutes: 5
torch: ">=2.13"
setup: |
  x = 3
steps:
  # About the first step.
    # About the id.
  - id: mend   # and behind it
    kind: fix
    text: |
      Some # text

        kept as it is   \n    starter: |
      y = x
      y = y + 1
    checks:
      - value: {equals: 6, of: y}
        why: Because.
    hints: [One., Two.]
    solution: |
      y = x * 2
    also:
      - |
        y = 2 * x
      - |
        y = x + x

  - {kind: read, id: brackets, text: Left as it is.}
  # At the end.
"""


def meaning(node: Node | None, under: str = "") -> object:
    """What a file says; code ends with its last line, with or without a line end."""
    assert node is not None
    if isinstance(node.value, str):
        return node.value.rstrip("\n") if under in CODE else node.value
    if isinstance(node.value, list):
        return [meaning(item, under) for item in node.value]
    return {key: meaning(value, key) for key, (_, value) in node.value.items()}


def comments(text: str) -> list[str]:
    return sorted(line.strip() for line in text.splitlines() if line.strip().startswith("#"))


def test_a_messy_file_gets_its_one_shape() -> None:
    assert tidied(MESSY) == TIDY
    assert tidied(TIDY) == TIDY


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_first_party_files_have_that_shape(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert tidied(text, path.name) == text


def shuffled(text: str, seed: int) -> str:
    """A lesson with its top keys, and the keys of its steps, in another order.

    Comments are put above some keys; the chunks are cut by indentation alone.
    """
    chance = random.Random(seed)

    def chunks(lines: list[str], indent: int) -> list[list[str]]:
        found: list[list[str]] = []
        for line in lines:
            starts = line[indent : indent + 1].strip() and not line[:indent].strip()
            if starts or not found:
                found.append([])
            found[-1].append(line)
        return found

    def mixed(lines: list[str], indent: int) -> list[str]:
        parts = chunks(lines, indent)
        chance.shuffle(parts)
        made = []
        for number, part in enumerate(parts):
            if chance.random() < 0.5:
                made.append(" " * indent + f"# note {seed} {number}")
            made += part
        return made

    head = text.splitlines()
    at = head.index("steps:")
    end = next((i for i in range(at + 1, len(head)) if head[i][:1].strip()), len(head))
    steps = []
    for step in chunks(head[at + 1 : end], 2):
        first = step[0].replace("  - ", "    ", 1)
        lines = mixed([first, *step[1:]], 4)
        lead = [line for line in lines if line.startswith("    #")][: int("#" in lines[0])]
        body = lines[len(lead) :]
        steps += [*(line[2:] for line in lead), "  - " + body[0][4:], *body[1:]]
    rest = [line for line in head[:at] + head[end:] if line.strip()]
    return "\n".join([*mixed(rest, 0), "steps:", *steps]) + "\n"


@pytest.mark.parametrize("name", ["inplace/version-counter", "start/tour"])
@pytest.mark.parametrize("seed", range(5))
def test_any_order_means_the_same_and_keeps_its_comments(name: str, seed: int) -> None:
    text = shuffled((ROOT / "lessons" / f"{name}.yaml").read_text(encoding="utf-8"), seed)
    made = tidied(text)
    assert comments(made) == comments(text)
    assert meaning(parse(made, "").root) == meaning(parse(text, "").root)
    assert tidied(made) == made
    ordered = [line.split(":")[0] for line in made.splitlines() if line[:1].isalpha()]
    assert ordered[:3] == ["format", "id", "title"]
    assert ordered.index("setup") < ordered.index("steps") < ordered.index("recall")


@pytest.mark.parametrize(
    "text",
    [
        "code: 'x = 1' # it's 'so'\n",
        'setup: "x = 1"  # why\n',
        "steps:\n  - id: a\n    code: |+\n      x = 1\n\n\n    kind: run\n",
        "steps:\n  - id: a\n    code:\n      # about it\n      x = 1\n    kind: run\n",
        "steps: [{id: a}]\nid: x.y\n",
        "steps:\n- kind: run\n  id: a\n",
        "title: >\n  folded\n  text\nid: a.b\n",
        "id: a.b\r\nformat: 1\r\n",
        "a: 'it''s # so'\n",
        "also:\n  - 'a = 1'\n  - \"b = 2\"\n",
    ],
)
def test_nothing_is_lost(text: str) -> None:
    try:
        made = tidied(text)
    except NotTidied:
        return
    assert meaning(parse(made, "").root) == meaning(parse(text.replace("\r\n", "\n"), "").root)
    assert made.count("#") == text.count("#")
    assert tidied(made) == made


def test_files_with_faults_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pack.yaml").write_text("id: a\nid: b\n", encoding="utf-8")
    assert main(["author", "fmt", str(tmp_path)]) == 1
    assert "left alone" in capsys.readouterr().err
    assert (tmp_path / "pack.yaml").read_text(encoding="utf-8") == "id: a\nid: b\n"


def test_check_changes_nothing_and_the_rest_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pack.yaml").write_text("title: P\nid: a\ntracks: []\n", encoding="utf-8")
    (tmp_path / "group").mkdir()
    lesson = tmp_path / "group" / "messy.yaml"
    lesson.write_text(MESSY, encoding="utf-8")
    assert main(["author", "fmt", "--check", str(lesson)]) == 1
    assert "would change" in capsys.readouterr().out
    assert lesson.read_text(encoding="utf-8") == MESSY
    assert main(["author", "fmt", str(lesson)]) == 0
    assert lesson.read_text(encoding="utf-8") == TIDY
    assert main(["author", "fmt", "--check", str(lesson)]) == 0
    assert main(["author", "fmt", str(tmp_path)]) == 0
    text = (tmp_path / "pack.yaml").read_text(encoding="utf-8")
    assert text == "id: a\ntitle: P\ntracks: []\n"
