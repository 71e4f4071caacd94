"""The lesson screen: from step to step, with hints, solutions and other ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tutor.app.keys import LESSON_KEYS, WORK_KEYS, bindings
from tutor.app.model.answers import shuffled
from tutor.app.model.step import NOUNS, hints_of
from tutor.app.screens.step import StepScreen
from tutor.app.widgets.bars import Key, Keys

if TYPE_CHECKING:
    from tutor.app.model.closing import Closing


class LessonScreen(StepScreen):
    """One lesson, walked from step to step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(WORK_KEYS, LESSON_KEYS),
        *(Binding(str(n), f"number({n})", show=False) for n in range(1, 10)),
        Binding("alt+up,K", "move(-1)", show=False),
        Binding("alt+down,J", "move(1)", show=False),
    ]

    # -- going on --------------------------------------------------------------------

    def action_next(self) -> None:
        """The next step; a read step is read now. After the last, the next lesson."""
        if self.step.kind == "read" and self.doing.standing != "done":
            lesson = self.lesson
            self.services.progress.tried(lesson.id, self.step.id, lesson.revision, "passed")
            self.change(standing="done")
        if self.index + 1 < len(self.lesson.steps):
            self.open_step(self.index + 1)
            return
        from tutor.app.screens.closing import ClosingScreen

        self.stop_run()
        self.app.clear_notifications()
        self.app.push_screen(ClosingScreen(self._last_page(), self.glyphs), self._go_from_last)

    def _last_page(self) -> Closing:
        """What the page after the last step says."""
        from tutor.app.model.closing import Closing

        following = self.services.pack().after(self.lesson.id)
        steps = tuple(
            (stands, NOUNS[step.kind], step.text)
            for step, stands in zip(self.lesson.steps, self.standings(), strict=True)
        )
        return Closing(self.lesson.title, steps, following.title if following else "")

    def _go_from_last(self, chosen: str | None) -> None:
        """Go where the learner chose to go from the page after the last step."""
        verb, _, place = (chosen or "").partition(" ")
        following = self.services.pack().after(self.lesson.id)
        if verb == "step":
            self.open_step(int(place))
        elif verb == "next" and following is not None:
            self.tutor.open_lesson(following.id)
        elif verb:
            self.tutor.open_course()

    def action_previous(self) -> None:
        """The step before."""
        if self.index:
            self.open_step(self.index - 1)
        else:
            self.notify("This is the first step. b shows all lessons.")

    def _hints_left(self) -> bool:
        """Whether there is a hint that is not shown yet."""
        return self.doing.hints < len(hints_of(self.step, self.doing.attempt))

    def action_hint(self) -> None:
        """One more hint."""
        hints = hints_of(self.step, self.doing.attempt)
        if not hints:
            self.notify("This step has no hints.")
            return
        if self.doing.hints >= len(hints):
            self.notify("That were all hints. s shows a solution.")
        else:
            self.change(hints=self.doing.hints + 1)
            number = str(self.doing.hints)
            self.services.progress.helped(self.lesson.id, self.step.id, number)
        self.pane = "lesson"

    def action_solution(self) -> None:
        """Show a solution under the text, or hide it again."""
        if not self.step.solution:
            self.notify("This step has no solution to show.")
            return
        self.change(solution=not self.doing.solution)
        if self.doing.solution:
            self.services.progress.helped(self.lesson.id, self.step.id, "solution")
        self.pane = "lesson"

    def action_use(self) -> None:
        """Put the solution that is shown into the editor; ctrl+z there takes it back."""
        if not (self.step.solution and self.step.editable):
            self.notify("This step has no solution to put into the code.")
        elif not self.doing.solution:
            self.notify("s shows the solution first.")
        else:
            self.editor.replace_all(self.step.solution.rstrip("\n"))
            self.pane = "code"
            self.notify("The solution is in the code. r runs it; ctrl+z takes it back.")

    def action_skip(self) -> None:
        """Enter the solution, mark the step skipped, go on."""
        if self.doing.standing != "done":
            lesson = self.lesson
            self.services.progress.skipped(lesson.id, self.step.id, lesson.revision)
            self.change(standing="skipped")
        if self.step.solution and self.step.editable:
            self.editor.replace_all(self.step.solution.rstrip("\n"))
            self.keep(self.editor.text)
        self.action_next()

    def action_reset(self) -> None:
        """The code as it was at the start; ctrl+z in the editor undoes it."""
        step = self.step
        if step.editable:
            self.editor.replace_all(step.starting_code.rstrip("\n"))
            self.notify("The code is as at the start. ctrl+z in the editor takes that back.")
        elif step.kind != "read":
            order = shuffled(step) if step.kind == "order" else None
            self.draft(picked={}, blanks={}, order=order, attempt=None)
            self.open_step(self.index)

    def action_tries(self) -> None:
        """The earlier tries of this step; going back to one is one step of undo."""
        if not self.step.editable:
            self.notify("The code of this step stays as it is, so there is nothing to go back to.")
            return
        from tutor.app.screens.tries import TriesScreen

        tries = self.services.progress.tries(self.lesson.id, self.step.id)
        screen = TriesScreen(tries, self.editor.text, self.glyphs)
        self.app.push_screen(screen, self._restore)

    def _restore(self, code: str | None) -> None:
        if code is not None:
            self.editor.replace_all(code)
            self.notify("The code is that of an earlier try. ctrl+z in the editor takes it back.")

    def action_unfold(self) -> None:
        self._folded = not self._folded
        self._paint_setup()

    def action_free(self) -> None:
        """This code in the playground."""
        code = self.editor.text
        setup = self.lesson.setup
        self.tutor.open_playground(f"{setup.rstrip()}\n\n{code}" if setup else code)

    def action_course(self) -> None:
        """All lessons."""
        self.tutor.open_course()

    def open_lesson(self, lesson_id: str) -> None:
        self.tutor.open_lesson(lesson_id)

    def keys_now(self) -> Keys:
        if self.index < 0:
            return Keys((Key("q", "quit", "app.quit", always=True),))
        if self.typing:
            inside = (
                Key("F5", "stop" if self.running else "run", "run"),
                Key("Esc", "leave the editor", "leave"),
                *((Key("ctrl+t", "hint", "hint"),) if self._hints_left() else ()),
                Key("F9", "next", "next"),
                Key("F1", "help", "help", always=True),
            )
            return Keys(inside)
        done = self.doing.standing == "done"
        ahead = Key("n", "next", "next")
        keys: list[Key] = []
        if self.step.kind == "read":
            keys = [ahead, *((Key("p", "back", "previous"),) if self.index else ())]
        else:
            keys = [*((ahead,) if done else ()), *self.shared_keys()]
            if self.doing.solution and self.step.editable and self.step.solution:
                keys.append(Key("U", "use the solution", "use"))
            if self.step.editable:
                keys.append(Key("i", "edit", "edit"))
            if not done and self._hints_left():
                keys.append(Key("h", "hint", "hint"))
            if not done:
                keys.append(ahead)
            letters = "x d g t v o e" if self.narrow else "g t v o e"
            keys += [
                Key(letters, "panes", "show('graph')"),
                Key("[ ]", "time", "time('line',False)"),
            ]
        keys += [
            Key("b", "lessons", "course"),
            Key("?", "help", "help", always=True),
            Key("q", "quit", "app.quit", always=True),
        ]
        return Keys(tuple(keys))
