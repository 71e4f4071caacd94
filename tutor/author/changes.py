"""What a change of a pack means to those who have begun it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tutor.author.versions import NoHistory, at, changed_meaning, files_at
from tutor.lesson import Lesson, Pack, load_pack

Weight = Literal["ask", "tell"]


@dataclass(frozen=True)
class Change:
    """One change: `ask` where somebody's progress is lost or would count wrongly."""

    weight: Weight
    text: str


def changes(old: Pack, new: Pack) -> Iterator[Change]:
    """What happens to the progress in each lesson and step of the old pack."""
    for lesson_id, before in old.lessons.items():
        after = new.lesson(lesson_id)
        if after is None:
            hint = "if it has another name now, give that one  was: " + f"[{lesson_id}]"
            yield Change("ask", f"{lesson_id} is gone, and with it all progress in it; {hint}")
            continue
        if after.id != lesson_id:
            yield Change("tell", f"{lesson_id} is called {after.id} now; progress follows")
        yield from _steps(before, after)
    for lesson_id, lesson in new.lessons.items():
        if not any(old.lessons.get(name) for name in (lesson_id, *lesson.was)):
            yield Change("tell", f"{lesson_id} is new")


def _steps(old: Lesson, new: Lesson) -> Iterator[Change]:
    for before in old.steps:
        after = new.step(before.id)
        if after is None:
            hint = f"if it has another name now, give that one  was: [{before.id}]"
            yield Change("ask", f"{new.id}/{before.id} is gone, and with it who passed it; {hint}")
        elif after.id != before.id:
            yield Change("tell", f"{new.id}/{before.id} is called {after.id} now; progress follows")
    known = {step.id for step in old.steps}
    for step in new.steps:
        if not known & {step.id, *step.was}:
            yield Change("tell", f"{new.id}/{step.id} is new: a finished lesson has a step to do")
    meaning = changed_meaning(old, new)
    named = ", ".join(meaning)
    if meaning and new.revision <= old.revision:
        yield Change(
            "ask",
            f"{new.id}: what decides {named} changed; write  revision: {old.revision + 1}"
            " if an old pass means less now",
        )
    elif new.revision > old.revision:
        yield Change("tell", f"{new.id}: revision {new.revision}; old passes show as revised")
    elif new.revision < old.revision:
        yield Change("ask", f"{new.id}: revision went back from {old.revision} to {new.revision}")


@contextmanager
def pack_at(old: str, folder: Path) -> Iterator[Pack]:
    """The pack of a folder, or that of `folder` at a git revision. Raises `NoHistory`."""
    if Path(old).is_dir():
        yield load_pack(Path(old), torch="")
        return
    with tempfile.TemporaryDirectory() as made:
        for name in files_at(folder, old):
            if name.endswith(".yaml"):
                path = Path(made, "pack", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(at(folder, old, name) or "", encoding="utf-8")
        if not (Path(made) / "pack" / "pack.yaml").exists():
            raise NoHistory(f"There was no pack at {old}.")
        yield load_pack(Path(made) / "pack", torch="")
