"""The app as it is used: keys in, words on the screen out."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot

from tutor.app.screens.course import CourseScreen
from tutor.app.screens.help import HelpScreen
from tutor.app.screens.lesson import LessonScreen
from tutor.app.screens.play import PlayScreen
from tutor.app.widgets.rows import RowsView
from tutor.progress import Progress

from . import made
from .conftest import screen_text

MEDIUM, NARROW, WIDE = (120, 40), (80, 24), (200, 60)


async def settle(pilot: Pilot) -> str:
    """Let everything that was started come to rest."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return screen_text(pilot.app)


async def notice(pilot: Pilot) -> str:
    """The words of the notices on the screen."""
    for _ in range(50):
        await pilot.pause(0.05)
        toasts = pilot.app.screen.query("Toast")
        if toasts and toasts.last().size.height:
            break
    return " ".join(str(toast.render()) for toast in toasts)


async def press(pilot: Pilot, *keys: str) -> str:
    await pilot.press(*keys)
    return await settle(pilot)


# -- a failing step, its cause, its fix ----------------------------------------------------


async def test_a_failing_run_is_explained_fixed_and_passed(make, services):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        text = await press(pilot, "r")
        assert "The result of exp was changed in place" in text
        assert "1 ◆ y = x.exp()" in text
        assert "wanted v0, is v1" in text
        assert "end: RuntimeError at line 3" in text
        text = await press(pilot, "a")
        assert app.screen.editor.text == made.HEALTHY.rstrip("\n")
        assert "Done. Everything that was asked holds." in text
        assert "A new tensor leaves the old one as it was." in text
        app.screen.editor.undo()
        assert app.screen.editor.text == made.FAILING.rstrip("\n")
    assert services.progress.status("try.every-kind", "repair", 1) == "done"
    assert [code for code, _ in services.tried] == [
        made.FAILING.rstrip("\n"),
        made.HEALTHY.rstrip("\n"),
    ]


async def test_a_link_in_the_explanation_moves_the_caret(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r", "e")
        view = app.screen.query_one("#explanation", RowsView)
        assert view.rows[view.cursor].target.line == 2
        await press(pilot, "enter")
        assert app.screen.editor.cursor_location[0] == 1
        assert app.screen.editor.here == 2


async def test_an_edit_hides_the_marks_and_undoing_it_brings_them_back(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r", "i")
        text = await press(pilot, "#")
        assert "edited since the run" in text
        assert "wanted v0, is v1" not in text
        text = await press(pilot, "ctrl+z")
        assert "edited since the run" not in text
        assert "wanted v0, is v1" in text


async def test_a_fix_is_not_applied_to_code_it_was_not_made_for(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r", "i", "#", "escape", "a")
        assert app.screen.editor.text == "#" + made.FAILING.rstrip("\n")


# -- time --------------------------------------------------------------------------------


async def test_time_takes_every_pane_and_the_editor_along(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r", "v")
        text = await press(pilot, "left_square_bracket", "left_square_bracket")
        assert "before line 2 · torch call 1 of 4" in text
        assert "✓ kept by Exp 1" in text
        assert app.screen.editor.here == 2
        text = await press(pilot, "right_square_bracket", "right_square_bracket")
        assert "end: RuntimeError" in text
        assert "✗ kept by Exp 1" in text


async def test_the_pass_is_walked_node_by_node(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r", "g")
        text = await press(pilot, "left_parenthesis", "left_parenthesis")
        assert "backward step 2 of 3: AddBackward0" in text
        graph = app.screen.query_one("#graph", RowsView).text
        assert "AddBackward0 #2 = y  grad [1., 1., 1.]" in graph
        assert "ExpBackward0 #1  grad" not in graph


async def test_c_goes_to_the_cause_in_code_and_time(make, services):
    write = 20 + 1
    services.runs = lambda code: (
        made.failing_trace(code),
        (made.inplace_finding(moment=write),),
        made_verdict(),
    )
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        text = await press(pilot, "r", "c")
        assert app.screen.editor.cursor_location[0] == 1
        assert "after add_, line 2 · torch call 2 of 4" in text


def made_verdict():
    from tutor.attempt.verdict import Verdict

    return Verdict("failed")


# -- predictions and other answers ---------------------------------------------------------


async def test_a_prediction_is_committed_then_the_two_answers_stand_side_by_side(make, services):
    app = make("try.every-kind/guess")
    async with app.run_test(size=MEDIUM) as pilot:
        text = await settle(pilot)
        assert "1 ○ It stops with an error." in text
        text = await press(pilot, "r")
        assert not services.tried, "nothing runs before an answer is committed"
        await press(pilot, "2")
        text = await press(pilot, "enter")
        assert services.tried[0][1] == "right"
        assert "You said" in text
        assert "The run says" in text
        assert "✗ x.grad becomes exp(x)." in text
        assert "✓ It stops with an error." in text
        assert "◆ The run says otherwise." in text
        assert "Done" not in text
        assert "The counter had moved on." in text
        assert app.screen.view == "versions"


async def test_a_choice_without_code_is_answered_by_numbers(make):
    app = make("try.every-kind/which")
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "1", "3")
        text = await press(pilot, "enter")
        assert "add keeps nothing." in text
        assert "Not yet. Pick again." in text
        await press(pilot, "3")
        text = await press(pilot, "enter")
        assert "Right so far, but these are not all." in text
        await press(pilot, "2")
        text = await press(pilot, "enter")
        assert "Right. n goes on." in text
        assert app.screen.doing.standing == "done"


async def test_a_blank_is_filled_and_the_code_shows_it(make, services):
    app = make("try.every-kind/blank")
    async with app.run_test(size=MEDIUM) as pilot:
        text = await settle(pilot)
        assert "y = x.______()" in text
        app.screen.action_show("code")
        await settle(pilot)
        await press(pilot, "e", "x", "p")
        assert "y = x.exp()" in app.screen.editor.text
        await press(pilot, "enter")
        assert services.tried[0][1] == {"op": "exp"}
        assert app.screen.doing.standing == "done"


async def test_lines_are_moved_and_the_order_is_handed_in(make, services):
    app = make("try.every-kind/order")
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        before = app.screen.doing.order
        app.screen.action_show("code")
        await settle(pilot)
        await press(pilot, "J")
        after = app.screen.doing.order
        assert after.inside[0] == before.inside[1]
        await press(pilot, "r")
        assert services.tried[0][1] == after.inside


# -- hints, solution, reset, skip ----------------------------------------------------------


async def test_hints_come_one_at_a_time_and_the_solution_on_request(make, services):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        text = await settle(pilot)
        assert "Hint 1" not in text
        text = await press(pilot, "h")
        assert "Hint 1 of 2" in text
        assert "Hint 2" not in text
        text = await press(pilot, "h")
        assert "Hint 2 of 2" in text
        text = await press(pilot, "s")
        assert "A solution" in text
    assert services.progress.hints("try.every-kind", "repair") == 2


async def test_reset_is_one_step_of_undo(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "i", "#", "escape", "R")
        assert app.screen.editor.text == made.FAILING.rstrip("\n")
        app.screen.editor.undo()
        assert app.screen.editor.text == "#" + made.FAILING.rstrip("\n")


async def test_skip_enters_the_solution_and_goes_on(make, services):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "S")
        assert app.screen.step.id == "which"
        await press(pilot, "p")
        assert app.screen.editor.text == made.HEALTHY.rstrip("\n")
    assert services.progress.status("try.every-kind", "repair", 1) == "skipped"


async def test_the_solution_that_is_shown_is_put_into_the_code_by_a_key(make, services):
    app = make()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settle(pilot)
        await press(pilot, "U")
        assert "s shows the solution first." in await notice(pilot)
        assert app.screen.editor.text == made.FAILING.rstrip("\n")
        text = await press(pilot, "s")
        assert "U puts it into the code." in text
        assert "U use the solution" in text.split("\n")[-1]
        await press(pilot, "U")
        assert app.screen.editor.text == made.HEALTHY.rstrip("\n")
        assert services.progress.status("try.every-kind", "repair", 1) != "skipped"
        app.screen.editor.undo()
        assert app.screen.editor.text == made.FAILING.rstrip("\n")


async def test_after_the_last_step_stands_what_is_open_and_what_comes_next(make, services):
    app = make("try.every-kind/order")
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot)
        text = await press(pilot, "n")
        assert "0 of 6 steps are done." in text
        assert "step 3, repair: Keep the value of y" in text
        text = await press(pilot, "down", "down", "enter")
        assert app.screen.step.id == "repair", "Enter on a step goes back to it"
        await press(pilot, "n", "n", "n", "n", "escape")
        assert app.screen.step.id == "order", "Escape stays"
        await press(pilot, "n", "n")
        assert app.screen.lesson.id == "try.second"


async def test_z_says_why_it_does_nothing_where_one_pane_fills_the_screen(make):
    app = make()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settle(pilot)
        await press(pilot, "v", "z")
        assert "One pane fills the screen already." in await notice(pilot)
        assert not app.screen.has_class("-zoomed")


# -- what is kept --------------------------------------------------------------------------


async def test_every_edit_is_on_the_disk_within_a_second(make, services):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "i", "#")
        await asyncio.sleep(0.9)
        with Progress(services.file) as other:
            assert other.code("try.every-kind", "repair") == "#" + made.FAILING.rstrip("\n")


async def test_it_opens_where_the_learner_was_with_what_was_written(make, services):
    services.progress.opened("try.every-kind", "repair")
    services.progress.edited("try.every-kind", "repair", "y = 1")
    app = make(None)
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        assert app.screen.step.id == "repair"
        assert app.screen.editor.text == "y = 1"
        assert services.started


async def test_a_first_visit_shows_the_course_with_the_next_lesson_under_the_cursor(make):
    app = make(None)
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, CourseScreen)
        await press(pilot, "enter")
        assert isinstance(app.screen, LessonScreen)
        assert app.screen.step.id == "read"
        await press(pilot, "b")
        assert isinstance(app.screen, CourseScreen)
        text = await press(pilot, "slash", *"second", "enter")
        assert "Every kind" not in text
        await press(pilot, "enter")
        assert app.screen.lesson.id == "try.second"


async def test_an_unknown_lesson_says_so_and_shows_those_there_are(make):
    app = make("no.such")
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, CourseScreen)
        assert "There is no lesson 'no.such' here." in await notice(pilot)


# -- running -------------------------------------------------------------------------------


async def test_r_stops_what_r_started(make, services):
    services.gate = asyncio.Event()
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await pilot.press("r")
        await pilot.pause()
        assert app.screen.running
        assert "running" in screen_text(app)
        text = await press(pilot, "r")
        assert not app.screen.running
        assert "You stopped the run." in text


async def test_a_run_that_cannot_be_made_is_a_message_not_a_crash(make, services):
    def broken(code):
        raise RuntimeError("no process could be made")

    services.runs = broken
    app = make()
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        assert "no process could be made" in await notice(pilot)
        assert not app.screen.running


async def test_live_runs_when_typing_pauses(make, services):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "l", "i", "#")
        await asyncio.sleep(0.8)
        await settle(pilot)
        assert services.tried[0][0].startswith("#y = x.exp()")


# -- sizes ---------------------------------------------------------------------------------


async def test_one_pane_at_80_by_24_and_the_finding_under_the_code(make):
    app = make()
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot)
        text = await press(pilot, "r", "f3")
        assert "The result of exp was changed in place" in text
        assert "Keep the value" not in text
        text = await press(pilot, "escape", "e")
        assert "◆ cause" in text
        text = await press(pilot, "v")
        assert "✗ kept by Exp 1" in text
        text = await press(pilot, "f2")
        assert "Keep the value" in text


@pytest.mark.parametrize("place", ["guess", "repair"])
async def test_the_text_stands_over_the_code_it_speaks_of(make, place):
    app = make(f"try.every-kind/{place}")
    async with app.run_test(size=NARROW) as pilot:
        text = await settle(pilot)
        said = app.screen.step.text.strip().replace("`", "")
        assert text.index(said[:30]) < text.index("y.sum().backward()")
        text = await press(pilot, "d")
        assert said[:30] not in text
        assert "y.sum().backward()" in text
        assert not app.screen.typing, "d looks at the code, i edits it"
        assert said[:30] in await press(pilot, "x")


async def test_a_question_and_its_choices_are_answered_where_it_starts(make, services):
    app = make("try.every-kind/guess")
    async with app.run_test(size=NARROW) as pilot:
        text = await settle(pilot)
        assert "1 ○ It stops with an error." in text
        text = await press(pilot, "2")
        assert "What will the last line do?" in text
        assert "2 ● x.grad becomes exp(x)." in text
        assert "Enter or r commits the answer" in text
        text = await press(pilot, "enter")
        assert services.tried[0][1] == "right"
        assert "The run says" in text


async def test_a_notice_is_gone_with_its_step_and_under_the_help(make):
    app = make()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        text = await settle(pilot)
        bars = text.split("\n")[-2:]
        await press(pilot, "c")
        assert "Nothing is blamed" in await notice(pilot)
        assert screen_text(app).split("\n")[-2:] == bars, "time and keys stay in sight"
        await press(pilot, "n")
        await pilot.pause()
        assert "Nothing is blamed" not in screen_text(app)
        await press(pilot, "c")
        assert "Nothing is blamed" in await notice(pilot)
        await press(pilot, "question_mark")
        assert not app.screen.query("Toast")


@pytest.mark.parametrize("place", ["guess", "repair"])
async def test_help_and_quit_are_always_at_the_bottom_and_hints_while_there_are_any(make, place):
    app = make(f"try.every-kind/{place}")
    async with app.run_test(size=NARROW) as pilot:
        for keys in ((), ("1", "r"), ("c",)):
            last = (await press(pilot, *keys)).split("\n")[-1]
            assert last.endswith("? help  q quit")
            assert ("h hint" in last) == (place == "repair")
        last = (await press(pilot, "h", "h")).split("\n")[-1]
        assert "h hint" not in last, "both hints are on the screen"


async def test_all_panes_at_200_by_60(make):
    app = make()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        text = await press(pilot, "r")
        for part in ("Keep the value", "y.add_(1)", "SumBackward0", "◆ cause"):
            assert part in text


async def test_zoom_lets_one_pane_fill_the_screen_and_back(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r", "g")
        text = await press(pilot, "z")
        assert "SumBackward0" in text
        assert "Keep the value" not in text
        text = await press(pilot, "z")
        assert "Keep the value" in text


async def test_it_is_usable_at_60_by_18(make):
    app = make()
    async with app.run_test(size=(60, 18)) as pilot:
        await settle(pilot)
        text = await press(pilot, "r", "i")
        assert "y.sum().backward()" in text
        text = await press(pilot, "escape", "e")
        assert "Explanation" in text.split("\n")[1]


# -- help, playground, signs ---------------------------------------------------------------


async def test_help_is_about_the_pane_and_lists_every_key(make):
    app = make()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "v", "question_mark")
        assert isinstance(app.screen, HelpScreen)
        text = app.screen.query_one("#help", RowsView).text
        assert text.startswith("The version counters")
        assert "ctrl+l" in text
        await press(pilot, "escape")
        assert isinstance(app.screen, LessonScreen)


async def test_every_key_can_be_found_in_the_palette(make):
    from tutor.app.keys import LESSON_KEYS, WORK_KEYS

    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        for spec in (*WORK_KEYS, *LESSON_KEYS):
            if spec.id != "palette":
                assert any(title.startswith(spec.words) for title in titles), spec.id


async def test_free_play_takes_the_code_along(make, services):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "f")
        assert isinstance(app.screen, PlayScreen)
        assert app.screen.editor.text.endswith(made.FAILING.rstrip("\n"))
        assert "requires_grad=True" in app.screen.editor.text
        text = await press(pilot, "r")
        assert "SumBackward0" in text


async def test_a_file_is_opened_saved_and_read_again(make, services, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("x = 1\n")
    app = make(None, file=file)
    async with app.run_test(size=MEDIUM) as pilot:
        text = await settle(pilot)
        assert "mine.py" in text
        await press(pilot, "i", "#", "escape", "w")
        assert file.read_text() == "#x = 1\n"
        file.write_text("x = 2\n")
        app.screen._look_at_file()
        assert app.screen.editor.text == "x = 2\n"


async def test_what_was_not_saved_is_back_while_the_file_is_the_same(make, services, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("x = 1\n")
    app = make(None, file=file)
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "i", "#", "escape", "q")
    assert file.read_text() == "x = 1\n"
    app = make(None, file=file)
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        assert "unsaved changes are back" in await notice(pilot)
        assert app.screen.editor.text == "#x = 1\n"
        await press(pilot, "R")
        assert app.screen.editor.text == "x = 1\n"
    file.write_text("x = 3\n")
    app = make(None, file=file)
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        assert app.screen.editor.text == "x = 3\n"


@pytest.mark.parametrize(
    ("data", "part"),
    [(b"x = '\xff'\n", "not UTF-8 (line 1)"), (b"x\0", "NUL bytes"), (b"\n" * 100_002, "100000")],
    ids=["not utf-8", "nul", "too long"],
)
async def test_a_file_that_is_no_code_is_refused_in_words(make, tmp_path, data, part):
    file = tmp_path / "bad.py"
    file.write_bytes(data)
    app = make(None, file=file)
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        assert part in await notice(pilot)
        assert file.read_bytes() == data
        assert app.screen.file is None, "what could not be read must not be written over"


async def test_the_ascii_set_needs_no_other_letters(make):
    app = make(settings={"glyphs": "ascii"})
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        text = await press(pilot, "r")
        rest = {c for c in text if not c.isascii()}
        scrollbar = set("▁▂▃▄▅▆▇▔▎")
        assert rest <= scrollbar


# -- coming back ---------------------------------------------------------------------------


async def test_answers_that_were_not_handed_in_are_there_the_next_day(make, services):
    for place, keys in (("guess", ["2"]), ("order", ["J"])):
        app = make(f"try.every-kind/{place}")
        async with app.run_test(size=MEDIUM) as pilot:
            await settle(pilot)
            app.screen.action_show("code")
            await settle(pilot)
            await press(pilot, *keys)
            picked, order = dict(app.screen.doing.picked), app.screen.doing.order
        again = make(f"try.every-kind/{place}")
        async with again.run_test(size=MEDIUM) as pilot:
            await settle(pilot)
            assert dict(again.screen.doing.picked) == picked
            assert again.screen.doing.order == order


async def test_going_on_stops_the_run_and_its_end_is_not_shown_elsewhere(make, services):
    services.gate = asyncio.Event()
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await pilot.press("r")
        await pilot.pause()
        await press(pilot, "n")
        assert app.screen.step.id == "which"
        assert not app.screen.running
        assert app.screen.shown.trace is None
    assert services.progress.tries("try.every-kind", "repair") == ()


# -- colours -------------------------------------------------------------------------------


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    parts = [c / 255 for c in colour.get_truecolor()]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["tutor-dark", "tutor-light"])
async def test_every_role_can_be_read(make, theme):
    from tutor.app.widgets.styles import Palette

    app = make(settings={"theme": theme})
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        palette = app.screen.query_one(Palette)
        behind = luminance(palette.rich_style.bgcolor)
        for name in Palette.COMPONENT_CLASSES:
            colour = palette.style(name).color
            if colour is not None:
                light, dark = sorted((luminance(colour), behind), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, name


# -- earlier tries, settings ---------------------------------------------------------------


async def test_an_earlier_try_is_listed_compared_and_restored(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r", "a")
        assert app.screen.editor.text == made.HEALTHY.rstrip("\n")
        await press(pilot, "y")
        text = app.screen.query_one("#tries", RowsView).text
        assert text.count("passed") == 1
        assert "  - y = y + 1\n  + y.add_(1)" in text
        await press(pilot, "down", "down", "down", "enter")
        assert isinstance(app.screen, LessonScreen)
        assert app.screen.editor.text == made.FAILING.rstrip("\n")
        app.screen.editor.undo()
        assert app.screen.editor.text == made.HEALTHY.rstrip("\n")


async def test_theme_and_live_are_kept(make, tmp_path):
    from tutor.app import settings

    path = tmp_path / "settings.json"
    app = make(settings_file=path)
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "l")
        app.theme = "tutor-light"
        await settle(pilot)
    assert settings.load(path)[0] == settings.Settings("tutor-light", "unicode", True)


async def test_an_unknown_theme_gives_the_dark_one_and_a_notice(make):
    app = make(settings={"theme": "no-such"})
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        assert "no theme" in await notice(pilot)
        assert app.theme == "tutor-dark"


async def test_brackets_in_a_notice_are_shown_as_they_stand(make):
    app = make()
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        await settle(pilot)
        await press(pilot, "v", "slash", *("left_square_bracket", "slash", "x"))
        await press(pilot, "right_square_bracket", "enter")
        assert "There is no '[/x]' in this pane." in await notice(pilot)
        assert "'[/x]'" in screen_text(app)


async def test_search_goes_from_row_to_row(make):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r", "g", "slash", *"leaf")
        await press(pilot, "enter")
        graph = app.screen.query_one("#graph", RowsView)
        assert "leaf" in graph.rows[graph.cursor].text
        await press(pilot, "escape")
        assert app.focused is graph


# -- mouse and letters ---------------------------------------------------------------------


async def test_tabs_slider_rows_and_keys_can_be_clicked(make, services):
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await pilot.click("#keys", offset=(2, 0))
        await settle(pilot)
        assert services.tried, "the first key of the line runs the code"
        await pilot.click("#views", offset=(12, 0))
        await settle(pilot)
        assert app.screen.view == "tensors"
        await pilot.click("#time", offset=(1, 0))
        await settle(pilot)
        assert app.screen.shown.moment == app.screen.shown.line.stops[0].moment
        view = app.screen.query_one("#explanation", RowsView)
        row = next(i for i, row in enumerate(view.rows) if row.target and row.target.line == 1)
        await pilot.click("#explanation", offset=(8, row + 1))
        await settle(pilot)
        assert app.screen.editor.here == 1


async def test_wide_and_cyrillic_letters_keep_every_line_as_wide_as_the_screen(make, services):
    from rich.cells import cell_len

    services.progress.edited(
        "try.every-kind",
        "repair",
        "y = x.exp()  # 模型模型 градиент\ny.add_(1)\ny.sum().backward()",
    )
    app = make()
    async with app.run_test(size=MEDIUM) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        for strip in app.screen._compositor.render_strips():
            assert sum(cell_len(segment.text) for segment in strip) == MEDIUM[0]
