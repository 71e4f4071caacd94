"""Walking through lessons by lines of text."""

from __future__ import annotations

from collections.abc import Callable

from tutor.attempt import Attempts
from tutor.lesson import AnyStep, Fill, Lesson, Order, Pack, Read
from tutor.plain import story
from tutor.plain.asking import Asking, BadAnswer, solution_of, text_of
from tutor.plain.editing import NoCode, edited, from_file
from tutor.plain.helping import HELP
from tutor.plain.looking import Looking
from tutor.plain.prose import lines_of, numbered, wrapped
from tutor.plain.recall import ask_cards, due
from tutor.plain.talk import Talk
from tutor.progress import Progress
from tutor.run import Runner


class Session:
    """One learner, one pack, one place in it."""

    def __init__(self, talk: Talk, pack: Pack, runner: Runner, progress: Progress) -> None:
        self._talk = talk
        self._pack = pack
        self._attempts = Attempts(runner, pack.lessons)
        self._progress = progress
        self._lesson: Lesson = next(iter(pack.lessons.values()))
        self._index = 0
        self._code = ""
        self._typed: dict[tuple[str, str], list[str]] = {}
        self._asking = Asking(self.step)
        self._looking = Looking(talk, runner)
        self._hints = 0
        self._commands: dict[str, Callable[[str], None]] = {
            "next": self._next,
            "previous": self._previous,
            "run": self._run,
            "edit": self._edit,
            "code": self._take_code,
            "show": self._show,
            "reset": self._reset,
            "hint": self._hint,
            "solution": self._solution,
            "skip": self._skip,
            "again": self._again,
            "apply": self._apply,
            "step": self._step,
            "lesson": self._open,
            "lessons": self._lessons,
            "recall": self._recall,
            "help": self._help,
            **self._looking.commands,
        }

    @property
    def step(self) -> AnyStep:
        """The step the learner is at."""
        return self._lesson.steps[self._index]

    # -- the loop ---------------------------------------------------------------------

    def walk(self, lesson: Lesson, step: str = "") -> None:
        """Begin at a lesson, and follow commands until there are no more."""
        self.open(lesson, step)
        while True:
            try:
                line = self._talk.ask()
                if line is None or not self._follow(line.strip()):
                    return
            except KeyboardInterrupt:
                self._talk.say("", "Type quit to leave.")

    def _follow(self, line: str) -> bool:
        """Follow one line. False to leave."""
        word, _, rest = line.partition(" ")
        name = SHORT.get(word.lower(), word.lower())
        if name == "quit":
            return False
        command = self._commands.get(name)
        if not line:
            return True
        if command is not None and not (rest.lstrip().startswith("=")):
            command(rest.strip())
        elif self._asking.asks:
            self._answer(line)
        else:
            self._talk.tell([f"There is no command {word}. Type help for those there are."])
        return True

    def _answer(self, line: str) -> None:
        try:
            self._asking.take(line)
        except BadAnswer as error:
            self._talk.tell([str(error)])
            return
        if self._asking.answer is not None:
            self._try()
        else:
            self._talk.tell(self._asking.lines())

    # -- places -----------------------------------------------------------------------

    def open(self, lesson: Lesson, step: str = "") -> None:
        """Go to a lesson: to a step of it, or to the first that is open."""
        self._lesson = lesson
        ids = [each.id for each in lesson.steps]
        known = lesson.step(step)
        if known is not None:
            self._index = ids.index(known.id)
        else:
            done = [self._standing(each) in ("done", "skipped") for each in lesson.steps]
            self._index = done.index(False) if False in done else 0
        level = {"intro": "for beginners", "core": "core", "deep": "in depth"}[lesson.level]
        self._talk.tell(
            [
                f"Lesson {lesson.id}: {lesson.title} ({level}, about {lesson.minutes} minutes)",
                f"{len(lesson.steps)} steps. Type help for the commands.",
            ]
        )
        self._present()

    def replace_pack(self, pack: Pack, lesson: Lesson) -> None:
        """Go on in a pack that was read anew: at the same step, else at one in its place."""
        ids = [step.id for step in lesson.steps]
        known = lesson.step(self.step.id)
        self._index = ids.index(known.id) if known else min(self._index, len(ids) - 1)
        self._pack, self._lesson = pack, lesson
        self._present()

    def _standing(self, step: AnyStep) -> str:
        return self._progress.status(self._lesson.id, step.id, self._lesson.revision)

    def _present(self) -> None:
        """Say what the step is about."""
        step = self.step
        self._progress.opened(self._lesson.id, step.id)
        kept = self._progress.code(self._lesson.id, step.id) if step.editable else None
        self._code = step.starting_code if kept is None else kept
        self._asking = Asking(step)
        self._looking.leave()
        self._hints = 0
        standing = self._standing(step)
        state = "" if standing in ("new", "tried") else f", {standing}"
        number = self._index + 1
        lines = [f"Step {number} of {len(self._lesson.steps)}, {step.kind}{state}: {step.id}"]
        lines += lines_of(step.text)
        if step.runs:
            lines += ["", *self._program()]
        asked = self._asking.lines()
        if asked:
            lines += ["", *asked]
        elif step.runs:
            lines += ["", "Type run, or edit first." if step.editable else "Type run."]
        else:
            lines += ["", "Type next."]
        self._talk.tell(lines)

    def _program(self) -> list[str]:
        lines = []
        if self._lesson.setup.strip():
            lines += ["Runs first:", *(f"     {x}" for x in self._lesson.setup.splitlines())]
        if isinstance(self.step, Order):
            return lines
        return [*lines, "Code:", *numbered(self._code)]

    def _next(self, rest: str) -> None:
        step = self.step
        if isinstance(step, Read):
            self._progress.tried(self._lesson.id, step.id, self._lesson.revision, "passed")
        if self._index + 1 < len(self._lesson.steps):
            self._index += 1
            self._present()
            return
        following = self._pack.after(self._lesson.id)
        self._talk.tell([f"That was the last step of {self._lesson.title}."])
        if following is None:
            self._talk.tell(["It was the last lesson too. Type lessons to choose one, or quit."])
        else:
            self.open(following)

    def _previous(self, rest: str) -> None:
        if self._index == 0:
            self._talk.tell(["This is the first step of the lesson."])
            return
        self._index -= 1
        self._present()

    def _step(self, rest: str) -> None:
        steps = self._lesson.steps
        known = self._lesson.step(rest)
        if rest.isdecimal() and 1 <= int(rest) <= len(steps):
            known = steps[int(rest) - 1]
        if known is None:
            lines = [
                f"{number}. {step.id}, {step.kind}, {self._standing(step)}"
                for number, step in enumerate(steps, 1)
            ]
            self._talk.tell([*lines, "Type step and a number."])
            return
        self._index = [step.id for step in steps].index(known.id)
        self._present()

    def _open(self, rest: str) -> None:
        lesson_id, _, step = rest.partition("/")
        lesson = self._pack.lesson(lesson_id)
        if lesson is None:
            self._talk.say(f"There is no lesson {lesson_id}." if lesson_id else "Which one?")
            self._lessons("")
            return
        self.open(lesson, step)

    def _lessons(self, rest: str) -> None:
        lines = []
        for track in self._pack.tracks:
            lines.append(f"{track.title}:")
            for lesson_id in track.lessons:
                lesson = self._pack.lessons.get(lesson_id)
                if lesson is None:
                    why = self._pack.skipped.get(lesson_id, "its file has faults")
                    lines.append(f"  {lesson_id} cannot be opened: {why}")
                    continue
                steps = [
                    self._progress.status(lesson.id, s.id, lesson.revision) for s in lesson.steps
                ]
                over = sum(status in ("done", "skipped") for status in steps)
                lines.append(f"  {lesson.id}: {lesson.title}, {over} of {len(steps)} steps")
        self._talk.tell([*lines, "Type lesson and its id."])

    # -- code and runs ----------------------------------------------------------------

    def _change(self, code: str) -> None:
        self._code = code
        self._progress.edited(self._lesson.id, self.step.id, code)
        self._talk.tell(["Code:", *numbered(code), "Type run."])

    def _changeable(self) -> bool:
        if not self.step.editable:
            self._talk.tell(["The code of this step is as it is; it cannot be changed."])
        return self.step.editable

    def _edit(self, rest: str) -> None:
        if self._changeable():
            try:
                typed = self._typed.setdefault((self._lesson.id, self.step.id), [])
                if rest.strip().lower() == "new":
                    typed.clear()
                self._change(edited(self._talk, self._code, typed))
            except NoCode as error:
                self._talk.tell(wrapped(str(error)))

    def _take_code(self, rest: str) -> None:
        if not rest:
            self._show("")
        elif self._changeable():
            try:
                self._change(from_file(rest))
            except NoCode as error:
                self._talk.tell([str(error)])

    def _show(self, rest: str) -> None:
        if not self.step.runs:
            self._talk.tell(["This step has no code."])
            return
        self._talk.tell(self._program())

    def _reset(self, rest: str) -> None:
        if self._changeable():
            self._change(self.step.starting_code)

    def _run(self, rest: str) -> None:
        if not self.step.runs:
            self._talk.tell(["There is nothing to run here. Type next."])
        elif self._asking.asks and self._asking.answer is None:
            self._talk.tell(["First your answer, then the run.", *self._asking.lines()])
        else:
            self._try()

    def _try(self) -> None:
        step = self.step
        answer = self._asking.answer
        if step.runs:
            self._talk.say("Running.")
        try:
            attempt = self._attempts.try_(
                self._lesson, step, self._code, answer, carried=self._carried()
            )
        except KeyboardInterrupt:
            self._talk.tell(["", "The run was stopped."])
            return
        self._looking.at_run(attempt)
        decided = attempt.verdict
        lines = story.told(attempt)
        if decided.done and step.after:
            lines += ["", *lines_of(step.after)]
        if decided.done:
            lines += ["", "This step is done. Type next."]
        elif isinstance(step, (Fill, Order)) or not step.runs:
            self._asking.again()
            lines += ["", *self._asking.lines()]
        elif decided.hints:
            lines.append("Type hint if you want one.")
        self._progress.tried(
            self._lesson.id,
            step.id,
            self._lesson.revision,
            decided.status,
            code=attempt.code,
            answer=text_of(answer, self._asking.sure),
            right=decided.chosen_right,
        )
        self._talk.tell(lines)

    def _carried(self) -> list[str]:
        """Accepted code of the steps before, for lessons whose steps build on each other."""
        carried = []
        for step in self._lesson.steps[: self._index]:
            code = self._progress.accepted(self._lesson.id, step.id)
            if code is None and self._standing(step) == "skipped":
                code = step.solution
            if code:
                carried.append(code)
        return carried

    def _again(self, rest: str) -> None:
        self._asking.again()
        self._talk.tell(self._asking.lines() or ["This step asks nothing; type run."])

    # -- help with the step -----------------------------------------------------------

    def _hint(self, rest: str) -> None:
        hints = [hint.say for hint in self.step.hints]
        if self._looking.attempt is not None:
            hints = list(self._looking.attempt.verdict.hints)
        if self._hints >= len(hints):
            known = "There are no more hints here." if hints else "There is no hint for this step."
            self._talk.tell([f"{known} solution shows one way."])
            return
        self._hints += 1
        self._progress.helped(self._lesson.id, self.step.id, str(self._hints))
        number = f"Hint {self._hints} of {len(hints)}: "
        self._talk.tell(wrapped(number + hints[self._hints - 1]))

    def _solution(self, rest: str) -> None:
        lines = solution_of(self.step)
        if not lines:
            self._talk.tell(["This step has no solution to show."])
            return
        self._progress.helped(self._lesson.id, self.step.id, "solution")
        self._talk.tell(lines)

    def _skip(self, rest: str) -> None:
        step = self.step
        if step.editable and step.solution is not None:
            self._code = step.solution
            self._progress.edited(self._lesson.id, step.id, step.solution)
        if self._standing(step) not in ("done",):
            self._progress.skipped(self._lesson.id, step.id, self._lesson.revision)
        self._talk.tell(["Skipped.", *solution_of(step)])
        self._next("")

    # -- recall and help --------------------------------------------------------------

    def due(self) -> int:
        """How many recall cards are to be asked now."""
        return len(due(self._pack, self._progress))

    def _recall(self, rest: str) -> None:
        ask_cards(self._talk, self._pack, self._progress)

    def _apply(self, rest: str) -> None:
        code = self._looking.changed(rest, self._code) if self._changeable() else None
        if code is not None:
            self._change(code)

    def _help(self, rest: str) -> None:
        self._talk.tell(HELP)


SHORT = {
    "n": "next",
    "p": "previous",
    "back": "previous",
    "r": "run",
    "h": "hint",
    "s": "solution",
    "?": "help",
    "q": "quit",
    "exit": "quit",
    "bye": "quit",
}
"""Other words for the commands."""
