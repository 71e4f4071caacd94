"""The screen of one step: its text, its question, its answers, and what a try comes to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from textual.app import ComposeResult

from tutor.app.model.answers import (
    answer_of,
    asks,
    choice_rows,
    numbered,
    order_rows,
    pick,
    shuffled,
)
from tutor.app.model.draft import draft_of, filled, with_draft
from tutor.app.model.glyphs import Glyphs
from tutor.app.model.rows import Row
from tutor.app.model.setup import setup_rows
from tutor.app.model.shown import Shown, shown
from tutor.app.model.step import NOUNS, Standing, Work, dots, hints_of, prose_of
from tutor.app.screens.panes import PANES
from tutor.app.screens.work import WorkScreen
from tutor.app.services import Cancel, Services, note_try, standing
from tutor.app.widgets.answers import AnswersView
from tutor.app.widgets.bars import Top, TopLine
from tutor.app.widgets.prose import ProsePane
from tutor.app.widgets.rows import Content, RowsView

if TYPE_CHECKING:
    from textual.widget import Widget

    from tutor.app.widgets.fill import FillForm
    from tutor.attempt.verdict import Answer
    from tutor.lesson import AnyStep, Lesson


class StepScreen(WorkScreen):
    """Shows one step of a lesson, takes answers, and runs tries."""

    lesson: Lesson

    def __init__(
        self,
        services: Services,
        glyphs: Glyphs,
        lesson: Lesson | None = None,
        step: str = "",
        *,
        ascii_borders: bool = False,
    ) -> None:
        super().__init__(services, glyphs, ascii_borders=ascii_borders)
        self._begin = (lesson, step)
        self.index = -1
        """The place of the step in the lesson; -1 until a lesson has begun."""
        self.works: dict[str, Work] = {}
        self._folded = True

    def compose_answers(self) -> ComposeResult:
        yield AnswersView(id="answers")

    def on_mount(self) -> None:
        super().on_mount()
        lesson, step = self._begin
        if lesson is not None:
            self.begin(lesson, step)

    def begin(self, lesson: Lesson, step: str = "") -> None:
        """Show a lesson: at a step, else at the first one that is not over."""
        known = [s.id for s in lesson.steps]
        if self.index >= 0 and lesson is self.lesson and step in ("", self.step.id):
            return
        self.lesson = lesson
        self.works.clear()
        if step not in known:
            stands = (standing(self.services.progress, lesson, s) for s in known)
            over = ("done", "skipped")
            step = next(
                (s for s, at in zip(known, stands, strict=True) if at not in over), known[0]
            )
        self.open_step(known.index(step))

    # -- the step --------------------------------------------------------------------

    @property
    def step(self) -> AnyStep:
        return self.lesson.steps[self.index]

    @property
    def doing(self) -> Work:
        """The learner's work on this step, taken up where it was left."""
        step = self.step
        if step.id not in self.works:
            progress = self.services.progress
            kept = progress.code(self.lesson.id, step.id)
            work = Work(
                code=step.starting_code.rstrip("\n"),
                standing=standing(progress, self.lesson, step.id),
                hints=progress.hints(self.lesson.id, step.id),
                order=shuffled(step) if step.kind == "order" else None,
            )
            if kept is not None:
                work = replace(work, code=kept) if step.editable else with_draft(step, work, kept)
            self.works[step.id] = work
        return self.works[step.id]

    def draft(self, **changes: Any) -> None:
        """Another answer, not handed in yet; it is kept as edits of code are."""
        self.change(**changes)
        self.services.progress.edited(self.lesson.id, self.step.id, draft_of(self.doing))

    def change(self, **changes: Any) -> None:
        """The learner's work on this step is another one now."""
        self.works[self.step.id] = replace(self.doing, **changes)
        self._paint_step()
        self.paint_time()

    def open_step(self, index: int) -> None:
        """Go to a step, with its code and what its last run showed."""
        # What was said about the step before is over, and would cover this one.
        self.app.clear_notifications()
        self.stop_run()
        self.index = index
        step, doing = self.step, self.doing
        self.set_class(step.kind == "read", "-prose")
        self.set_class(step.kind == "choice", "-question")
        self.set_class(step.kind == "order", "-order")
        self.set_class(step.kind in ("predict", "fill"), "-asked")
        self.set_class(step.runs and step.kind != "choice", "-coded")
        self.services.progress.opened(self.lesson.id, step.id)
        self.editor.read_only = not step.editable
        with self.prevent_changes():
            self.editor.load_text(self._text(doing))
        attempt = doing.attempt
        if attempt is None:
            self.shown = Shown()
        else:
            self.shown = shown(attempt.trace, attempt.findings, attempt.verdict, attempt.code)
        self.edited = attempt is not None and self.editor.text != attempt.code
        if self.has_class("-zoomed"):
            self.action_zoom()
        self.pane = "lesson"
        for pane in step.panes:
            if pane != "explanation":
                self.view = pane
                break
        self.query_one(ProsePane).scroll_home(animate=False)
        self._show_form()
        self._paint_step()
        self.paint_tabs()
        self.call_after_refresh(self.focus_on, self.query_one(ProsePane))

    def _show_form(self) -> None:
        """Fields for a step with blanks, and none for another step."""
        self.query("FillForm").remove()
        step = self.step
        if step.kind == "fill":
            # Imported with the first step that has blanks.
            from tutor.app.widgets.fill import FillForm

            form = FillForm(step.blanks, self.doing.blanks)
            self.query_one("#code-frame").mount(form, before="#sentence")

    def prevent_changes(self) -> Any:
        """No message for a text that we put in ourselves."""
        return self.prevent(type(self.editor).Changed)

    def _text(self, doing: Work) -> str:
        if self.step.kind == "fill":
            return filled(self.step, doing.blanks)
        return doing.code

    def _paint_step(self) -> None:
        """Everything that depends on the step and the work on it."""
        step, doing = self.step, self.doing
        hints = hints_of(step, doing.attempt)
        self.query_one(ProsePane).source = prose_of(step, doing, hints)
        self._paint_top()
        self._paint_setup()
        self._paint_answers()
        self.paint_keys()

    def standings(self) -> list[Standing]:
        """How each step of the lesson stands."""
        return [
            self.works[s.id].standing
            if s.id in self.works
            else standing(self.services.progress, self.lesson, s.id)
            for s in self.lesson.steps
        ]

    def _paint_top(self) -> None:
        steps, standings = self.lesson.steps, self.standings()
        kind = NOUNS[self.step.kind]
        words = f"step {self.index + 1} of {len(steps)}: {kind}"
        trail = ("autograd-tutor", self._track_title(), self.lesson.title)
        view = Top(
            tuple(part for part in trail if part), words, dots(standings, self.index, self.glyphs)
        )
        self.query_one("#top", TopLine).view = view

    def _track_title(self) -> str:
        pack = self.services.pack()
        return next((t.title for t in pack.tracks if self.lesson.id in t.lessons), "")

    def _paint_setup(self) -> None:
        view = self.query_one("#setup", RowsView)
        setup = self.lesson.setup if self.step.runs else ""
        view.set_class(bool(setup.strip()), "-some")
        folded = self._folded
        view.content = Content(lambda width: setup_rows(setup, folded, width, self.glyphs), setup)

    def _paint_answers(self) -> None:
        step, doing = self.step, self.doing
        view = self.query_one("#answers", AnswersView)
        verdict = doing.attempt.verdict if doing.attempt and not self.edited else None
        if step.kind == "order" and doing.order is not None:
            order = doing.order
            view.content = Content(
                lambda width: order_rows(step, order, width, self.glyphs), step.id
            )
        elif asks(step):
            picked = doing.picked
            view.content = Content(
                lambda width: choice_rows(step, picked, verdict, width, self.glyphs), step.id
            )
        view.set_class(bool(asks(step)) or step.kind == "order", "-some")
        self.set_class(bool(asks(step)) and verdict is None, "-asking")

    def done_words(self, *, otherwise: bool) -> str:
        if self.step.after:
            said = "The run says otherwise." if otherwise else "Done."
            return f"{said} x shows what it means; n goes on."
        return super().done_words(otherwise=otherwise)

    def before_run(self) -> str:
        """What to do while nothing has run."""
        if self.index >= 0 and asks(self.step):
            if answer_of(self.step, self.doing.picked) is not None:
                return "Enter or r commits the answer; then the run decides."
            return "Pick an answer; then the run decides."
        if self.index >= 0 and self.step.kind == "fill":
            return "Fill in the blanks; Enter in the last one runs."
        return super().before_run()

    def panes(self) -> tuple[str, ...]:
        if self.index < 0:
            return PANES
        if self.step.kind == "read":
            return ("lesson",)
        if self.step.kind == "choice":
            return ("lesson", "code")
        return PANES

    def widget_of(self, pane: str) -> Widget:
        if pane == "code" and (asks(self.step) or self.step.kind == "order"):
            return self.query_one("#answers", AnswersView)
        if pane == "code" and self.step.kind == "fill":
            return cast("FillForm", self.query("FillForm").last()).first
        return super().widget_of(pane)

    # -- running ---------------------------------------------------------------------

    def code_decides(self) -> bool:
        return self.index >= 0 and self.step.editable

    def answer(self) -> Answer:
        """What is handed in with the code."""
        step, doing = self.step, self.doing
        if step.kind == "order" and doing.order is not None:
            return doing.order.inside
        if step.kind == "fill":
            return dict(doing.blanks)
        return answer_of(step, doing.picked)

    def ready_to_run(self) -> str:
        step, doing = self.step, self.doing
        if step.kind == "read":
            return "There is nothing to run here. n goes on."
        if asks(step) and answer_of(step, doing.picked) is None:
            self.pane = "code"
            return "Pick an answer first, by its number. Then r commits it and runs the code."
        if step.kind == "fill":
            empty = [name for name in step.blanks if not doing.blanks.get(name, "").strip()]
            if empty:
                return f"Fill in {', '.join(empty)} first."
        return ""

    async def attempt(self, code: str, on_events: Any, cancel: Cancel) -> Shown | None:
        lesson, step = self.lesson, self.step
        made = await self.services.try_step(
            lesson, step, code, self.answer(), self._carried(), on_events, cancel
        )
        if self.step is not step:  # what was stopped by going on is no try
            return None
        note_try(self.services.progress, lesson, made, "".join(self.doing.picked.get("sure?", ())))
        stands = standing(self.services.progress, lesson, step.id)
        self.works[step.id] = replace(self.doing, attempt=made, standing=stands)
        return shown(made.trace, made.findings, made.verdict, made.code)

    def _carried(self) -> tuple[str, ...]:
        """Accepted code of the steps before this one, where the lesson carries it on."""
        if not self.lesson.carry:
            return ()
        codes = (
            self.services.progress.accepted(self.lesson.id, step.id)
            for step in self.lesson.steps[: self.index]
        )
        return tuple(code for code in codes if code)

    def ran(self, view: Shown) -> None:
        for pane in self.step.panes:
            if pane != "explanation":
                self.view = pane
                break
        self._paint_step()

    def keep(self, code: str) -> None:
        if self.step.editable:
            self.works[self.step.id] = replace(self.doing, code=code)
            self.services.progress.edited(self.lesson.id, self.step.id, code)

    # -- answers ---------------------------------------------------------------------

    def action_number(self, number: int) -> None:
        """Pick the answer with this number."""
        found = numbered(self.step, number)
        if found is None or self._decided():
            return
        self.draft(picked=pick(self.step, self.doing.picked, *found))
        if not self.has_class("-reading"):  # there the choices stand under the question
            self.pane = "code"
        view = self.query_one("#answers", AnswersView)
        self.call_after_refresh(self.focus_on, view)
        self.call_after_refresh(view.go_to, "commit")

    def _decided(self) -> bool:
        """Whether the run has already said which answer is true."""
        attempt = self.doing.attempt
        if attempt is None:
            return False
        done = self.step.kind == "choice" and attempt.verdict.done
        return done or bool(attempt.verdict.questions)

    def follow(self, row: Row, view: RowsView) -> None:
        verb, _, rest = row.action.partition(" ")
        if verb == "pick" and not self._decided():
            question, _, option = rest.partition(" ")
            again = option in self.doing.picked.get(question, ())
            if again and answer_of(self.step, self.doing.picked) is not None:
                self.action_run()
            else:
                self.draft(picked=pick(self.step, self.doing.picked, question, option))
        elif verb == "commit":
            self.action_run()
        else:
            super().follow(row, view)

    def action_move(self, by: int) -> None:
        """Move a line of an order step."""
        order = self.doing.order
        view = self.query_one("#answers", AnswersView)
        if order is None or view.cursor >= len(view.rows):
            return
        verb, _, rest = view.rows[view.cursor].action.partition(" ")
        if verb != "line":
            return
        number = order.every[int(rest)]
        self.draft(order=order.moved(int(rest), by))
        view.go_to(f"line {number} 0")

    def on_fill_form_filled(self, message: FillForm.Filled) -> None:
        """A blank holds another text."""
        blanks = {**self.doing.blanks, message.blank: message.value}
        self.draft(blanks=blanks)
        with self.prevent_changes():
            self.editor.load_text(filled(self.step, blanks))
        attempt = self.doing.attempt
        self.edited = attempt is not None and attempt.answer != blanks

    def on_fill_form_left(self) -> None:
        """Out of the fields."""
        self.leave_code()

    def on_fill_form_done(self) -> None:
        """Enter in the last field."""
        self.action_run()
