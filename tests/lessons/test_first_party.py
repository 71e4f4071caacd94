"""The lessons that come with the package: loaded without a fault, and every promise run."""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from pathlib import Path

import pytest

from tutor.attempt import Attempts
from tutor.attempt.proofs import prove
from tutor.lesson import Pack, Read, load_pack
from tutor.plain.asking import solution_of
from tutor.run import Runner

FOLDER = Path(__file__).parent.parent.parent / "lessons"
IDS = sorted(f"{path.parent.name}.{path.stem}" for path in FOLDER.glob("*/*.yaml"))

WORDS_AT_ONCE = 100
"""The learner does something at least that often."""


@lru_cache(maxsize=1)
def pack() -> Pack:
    return load_pack(FOLDER)


def test_the_pack_has_no_faults() -> None:
    assert [str(fault) for fault in pack().faults] == []
    assert sorted(pack().lessons) == IDS


@pytest.mark.parametrize("lesson_id", IDS)
def test_what_a_lesson_promises_is_so(lesson_id: str, runner: Runner) -> None:
    lesson, document = pack().lessons[lesson_id], pack().documents[lesson_id]
    faults = asyncio.run(prove(Attempts(runner), lesson, document))
    assert "\n".join(fault.shown() for fault in faults) == ""


@pytest.mark.parametrize("lesson_id", IDS)
def test_the_learner_is_never_read_to_for_long(lesson_id: str) -> None:
    words = 0
    for step in pack().lessons[lesson_id].steps:
        words += len(re.findall(r"\w+", step.text))
        assert words <= WORDS_AT_ONCE, f"{step.id}: {words} words before there is something to do"
        if not isinstance(step, Read):
            words = len(re.findall(r"\w+", step.after))


@pytest.mark.parametrize("lesson_id", IDS)
def test_every_step_that_asks_has_a_way_out(lesson_id: str) -> None:
    """Nobody is ever stuck: each step has a solution to show, and code steps have hints."""
    for step in pack().lessons[lesson_id].steps:
        if step.kind not in ("read", "run"):
            assert solution_of(step), step.id
        if step.editable and step.kind != "run":
            assert step.hints, step.id
