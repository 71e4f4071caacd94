"""`plain`: lessons and findings by lines of text, for pipes, logs and screen readers."""

from __future__ import annotations

import sys

from tutor.lesson import load_course
from tutor.plain.session import Session
from tutor.plain.talk import Talk
from tutor.progress import Progress
from tutor.run import Runner


def main(lesson: str | None) -> int:
    """Walk through lessons from `lesson` ("id" or "id/step") on, or from where it was left.

    Reads commands from standard input until `quit` or its end. Returns the exit status.
    """
    talk = Talk()
    pack = load_course()
    if not pack.lessons:
        for fault in pack.faults:
            print(fault.shown(), file=sys.stderr)
        print(f"No lesson can be opened in {pack.folder}.", file=sys.stderr)
        return 1
    with Progress(renames=pack.renames()) as progress, Runner() as runner:
        if progress.problem:
            talk.say(progress.problem)
        broken = len({fault.path for fault in pack.faults})
        if broken:
            talk.say(f"{broken} lesson file(s) have faults and are left out.")
        lesson_id, _, step = (lesson or "/".join(progress.place or ())).partition("/")
        chosen = pack.lesson(lesson_id)
        if chosen is None and lesson:
            print(f"There is no lesson {lesson_id}.", file=sys.stderr)
            return 2
        if chosen is not None and step and chosen.step(step) is None and lesson:
            print(f"{lesson_id} has no step {step}.", file=sys.stderr)
            return 2
        session = Session(talk, pack, runner, progress)
        if due := session.due():
            talk.say(f"{due} question(s) from earlier lessons are due: type recall.")
        session.walk(chosen or next(iter(pack.lessons.values())), step)
    return 0
