"""What changed between two states of a pack, and whether its revisions say so."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tutor.lesson import AnyStep, Fault, Lesson, Pack, Predict
from tutor.lesson.document import parse
from tutor.lesson.fields import validated

RULES = {"W501": "revision"}
"""The rule on revisions: code to name."""


class NoHistory(ValueError):
    """Git cannot tell what a pack was like; the text says why."""


def changed_since(folder: Path, revision: str) -> frozenset[str]:
    """The files of a pack that changed since a git revision, those that are new too.

    As paths below the pack's folder, with slashes. Raises `NoHistory`.
    """
    changed = _git(folder, "diff", "--name-only", "--relative", "-z", revision, "--", ".")
    new = _git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    return frozenset(filter(None, f"{changed}\0{new}".split("\0")))


def at(folder: Path, revision: str, name: str) -> str | None:
    """The text of a pack's file at a git revision, None where it was not there."""
    try:
        return _git(folder, "show", f"{revision}:./{name}")
    except NoHistory:
        return None


def files_at(folder: Path, revision: str) -> list[str]:
    """The files of a pack at a git revision, as paths below its folder. Raises `NoHistory`."""
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", revision, "--", ".")
    return [name for name in listed.split("\0") if name]


def _git(folder: Path, *words: str) -> str:
    # A revision that looks like an option must not become one.
    if any(word.startswith("-") and word not in _OPTIONS for word in words):
        raise NoHistory(f"{words[-1]} is no revision.")
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, encoding="utf-8", timeout=60
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise NoHistory(f"git does not answer: {error}") from error
    if done.returncode != 0:
        told = done.stderr.strip().splitlines()
        raise NoHistory(f"git cannot tell: {told[0] if told else 'no reason given'}")
    return done.stdout


_OPTIONS = frozenset(
    ["--", "-r", "-z", "--name-only", "--relative", "--others", "--exclude-standard"]
)


def decided_by(step: AnyStep) -> tuple[object, ...]:
    """What decides whether a step is passed: if it changes, an old pass means something else."""
    asked = [(q.id, q.answer) for q in step.asked] if isinstance(step, Predict) else []
    right = [(o.id, o.right) for o in getattr(step, "choices", ()) if hasattr(o, "right")]
    return (step.kind, [c.model_dump(exclude={"why"}) for c in step.checks], asked, right)


def changed_meaning(old: Lesson, new: Lesson) -> list[str]:
    """The ids of the new lesson's steps that another thing decides than before."""
    found = []
    for step in new.steps:
        names = (step.id, *step.was)
        before = next((each for each in old.steps if each.id in names), None)
        if before is not None and decided_by(before) != decided_by(step):
            found.append(step.id)
    return found


def unrevised(pack: Pack, revision: str) -> Iterator[Fault]:
    """Lessons whose checks changed since a git revision though their `revision` did not."""
    for lesson_id, lesson in pack.lessons.items():
        for name in (lesson_id, *lesson.was):
            text = at(pack.folder, revision, f"{name.replace('.', '/', 1)}.yaml")
            if text is not None:
                break
        else:
            continue
        old, _ = validated(Lesson, parse(text, name))
        if old is None or old.revision != lesson.revision:
            continue
        document = pack.documents[lesson_id]
        steps = changed_meaning(old, lesson)
        node = document.node(("revision",))
        if steps and node is not None:
            named = " and ".join(f'"{step}"' for step in steps)
            message = (
                f"the checks of {named} changed since {revision}"
                f" but revision is still {lesson.revision}"
            )
            yield document.text.fault(
                node.line,
                node.column,
                ("W501", RULES["W501"]),
                message,
                help=f"write revision: {lesson.revision + 1}, if an old pass means less now",
                width=node.width,
            )
