"""A pack in numbers: how long, how much help, how hard to read, and what builds on what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tutor.author.advice import texts_shown
from tutor.lesson import Lesson, Pack, Read
from tutor.lesson.prerequisites import first_teachers
from tutor.lesson.walk import checks_at

_WORKED = ("fill", "fix", "write", "break", "order")
_VOWELS = re.compile(r"[aeiouy]+")


def report(pack: Pack) -> Iterator[str]:
    """The numbers of a pack, in lines."""
    lessons = list(pack.lessons.values())
    yield f"{pack.title}: {len(lessons)} lessons, {sum(x.minutes for x in lessons)} minutes"
    yield ""
    yield f"{'lesson':<32} steps  min  words  hints/step  checks  mistakes  grade"
    for lesson in lessons:
        yield _row(lesson)
    yield ""
    yield "concepts, where each is taught first, and what builds on it:"
    teachers = first_teachers(pack.lessons)
    for concept in dict.fromkeys([*pack.concepts, *teachers]):
        users = [x.id for x in lessons if concept in x.requires]
        taught = teachers.get(concept, "nowhere")
        yield f"  {concept}: {taught}" + (f" → {', '.join(users)}" if users else "")


def _row(lesson: Lesson) -> str:
    texts = [text for step in lesson.steps for _, text in texts_shown(step)]
    words = sum(len(re.findall(r"\w+", text)) for text in texts)
    worked = [
        step for step in lesson.steps if step.kind in ("fill", "fix", "write", "break", "order")
    ]
    hints = sum(len(step.hints) for step in worked)
    checks = sum(1 for step in lesson.steps for _ in checks_at(step))
    mistakes = sum(len(step.mistakes) for step in lesson.steps)
    per_step = f"{hints / len(worked):.1f}" if worked else "-"
    prose = " ".join(step.text for step in lesson.steps if isinstance(step, Read) or step.text)
    return (
        f"{lesson.id:<32} {len(lesson.steps):>5} {lesson.minutes:>4} {words:>6} {per_step:>11}"
        f" {checks:>7} {mistakes:>9} {grade(prose):>6.1f}"
    )


def grade(text: str) -> float:
    """The Flesch-Kincaid grade of English prose: the school year that reads it with ease.

    0.39 words a sentence + 11.8 syllables a word - 15.59; code in backticks counts as one word.
    """
    prose = re.sub(r"`[^`]*`", "code", text)
    sentences = max(len(re.findall(r"[.!?:](?:\s|$)", prose)), 1)
    words = re.findall(r"[A-Za-z']+", prose)
    if not words:
        return 0.0
    syllables = sum(_syllables(word.lower()) for word in words)
    return 0.39 * len(words) / sentences + 11.8 * syllables / len(words) - 15.59


def _syllables(word: str) -> int:
    """Groups of vowels, without a silent e at the end."""
    count = len(_VOWELS.findall(word))
    if word.endswith("e") and not word.endswith(("le", "ee")) and count > 1:
        count -= 1
    return max(count, 1)
