"""Answers, steps, setup, course and settings: the parts that are not about a run."""

import json

import pytest

from tutor.app import settings
from tutor.app.model.answers import (
    Arrangement,
    answer_of,
    asks,
    choice_rows,
    numbered,
    order_rows,
    pick,
    shuffled,
)
from tutor.app.model.course import course_rows, next_lesson
from tutor.app.model.glyphs import ASCII, UNICODE, Glyphs
from tutor.app.model.setup import made_by, setup_rows
from tutor.app.model.step import Work, dots, prose_of
from tutor.attempt.verdict import ChoiceResult, QuestionResult, Verdict
from tutor.lesson import load_pack
from tutor.locations import lessons_dir

from .fakes import PACK


@pytest.fixture(scope="module")
def lesson():
    pack = load_pack(PACK)
    assert pack.faults == ()
    return pack.lessons["try.every-kind"]


@pytest.fixture
def step(lesson):
    return lesson.step


def lines(rows):
    return [row.text.rstrip() for row in rows]


# -- predictions -------------------------------------------------------------------------


def test_choices_are_numbered_and_the_picked_one_is_marked(step):
    assert lines(choice_rows(step("guess"), {"guess": ("right",)}, None, 60)) == [
        "1 ○ It stops with an error.",
        "2 ● x.grad becomes exp(x).",
        "[Enter] commit and run",
    ]


def test_nothing_can_be_committed_before_a_choice(step):
    guess = step("guess")
    assert answer_of(guess, {}) is None
    assert lines(choice_rows(guess, {}, None, 60))[-1] == (
        "Press 1 or 2 to pick, then Enter to commit and run."
    )
    assert answer_of(guess, pick(guess, {}, *numbered(guess, 1))) == "raises"
    assert numbered(guess, 3) is None


def test_a_new_pick_replaces_the_old_one(step):
    guess = step("guess")
    first = pick(guess, {}, "guess", "raises")
    assert pick(guess, first, "guess", "right") == {"guess": ("right",)}


def test_where_several_are_right_picks_join_and_leave(step):
    which = step("which")
    assert asks(which)[0].many
    both = pick(which, pick(which, {}, "which", "exp"), "which", "mul")
    assert both == {"which": ("mul", "exp")} or both == {"which": ("exp", "mul")}
    assert pick(which, both, "which", "exp") == {"which": ("mul",)}


VERDICT = Verdict(
    "passed",
    questions=(
        QuestionResult(
            "guess",
            "What happens?",
            "raises",
            "right",
            False,
            (
                ChoiceResult("raises", "It stops with an error.", "holds", False, ()),
                ChoiceResult("right", "`x.grad` becomes `exp(x)`.", "fails", True, ()),
            ),
        ),
    ),
)


def test_the_two_answers_stand_side_by_side(step):
    text = lines(choice_rows(step("guess"), {}, VERDICT, 60))
    assert text[0].split("│")[0].strip() == "You said"
    assert [part.strip() for part in text[1].split("│")] == [
        "✗ x.grad becomes exp(x).",
        "✓ It stops with an error.",
    ]


def test_in_a_narrow_pane_they_stand_one_under_the_other(step):
    text = lines(choice_rows(step("guess"), {}, VERDICT, 36))
    assert text == [
        "You said",
        "✗ x.grad becomes exp(x).",
        "Right is",
        "✓ It stops with an error.",
    ]


# -- lines in order ----------------------------------------------------------------------


def test_lines_start_out_of_order_and_the_same_each_time(step):
    order = step("order")
    first = shuffled(order)
    assert first == shuffled(order)
    assert sorted(first.inside) == [1, 2, 3, 4]
    assert first.inside[:3] != (1, 2, 3)


def test_a_line_moved_past_the_last_place_is_left_out_and_comes_back():
    order = Arrangement((1, 2, 3))
    out = order.moved(2, 1)
    assert out == Arrangement((1, 2), (3,))
    assert out.moved(2, -1) == order
    assert order.moved(0, 1) == Arrangement((2, 1, 3))
    assert order.moved(0, -1) == order


def test_lines_left_out_stand_under_a_rule(step):
    order = step("order")
    text = lines(order_rows(order, Arrangement((1, 2, 3), (4,)), 60))
    assert text[:5] == [
        " 1  y = x.exp()",
        " 2  z = y.sum()",
        " 3  z.backward()",
        "─── left out",
        "    y.add_(1)",
    ]


# -- prose, dots, setup ------------------------------------------------------------------


def test_hints_come_one_by_one_and_the_closing_words_at_the_end(step):
    fix = step("repair")
    hints = tuple(hint.say for hint in fix.hints)
    assert "Hint" not in prose_of(fix, Work(), hints)
    one = prose_of(fix, Work(hints=1), hints)
    assert "Hint 1 of 2" in one
    assert hints[0].strip() in one
    assert hints[1].strip() not in one
    done = prose_of(fix, Work(standing="done"), hints)
    assert done.endswith(fix.after.strip())
    assert "A solution" in prose_of(fix, Work(solution=True), hints)


def test_a_longer_text_begins_with_the_shorter(step):
    fix = step("repair")
    hints = tuple(hint.say for hint in fix.hints)
    assert prose_of(fix, Work(hints=2), hints).startswith(prose_of(fix, Work(hints=1), hints))


def test_each_standing_has_a_sign_of_its_own():
    spans = dots(("done", "tried", "skipped", "new"), 1)
    assert "".join(span.text for span in spans) == "●◐◌○"
    assert [span.role for span in spans] == ["good", "name", "dim", "dim"]


def test_the_folded_setup_names_what_it_makes():
    setup = "import torch\nx = torch.tensor([1., 2.])\ndef f(a, b):\n    return a\n"
    assert made_by(setup) == ["x = tensor([1., 2.])", "def f(a, b)"]
    assert lines(setup_rows(setup, True, 80)) == ["▸ setup  x = tensor([1., 2.]); def f(a, b)"]
    assert lines(setup_rows(setup, False, 80))[1] == "  import torch"
    assert lines(setup_rows("import torch\n", True, 80)) == ["▸ setup  import torch"]
    assert setup_rows("  \n", True, 80) == []


# -- the course --------------------------------------------------------------------------


def test_the_course_lists_every_lesson_and_points_to_the_next():
    pack = load_pack(lessons_dir())
    done = {next(iter(pack.lessons))}

    def stands(lesson, step):
        return "done" if lesson.id in done else "new"

    text = lines(course_rows(pack, stands, 100))
    for lesson in pack.lessons.values():
        assert any(lesson.title in line for line in text)
    second = list(pack.lessons)[1]
    assert next_lesson(pack, stands) == second
    assert any("next" in line and pack.lessons[second].title in line for line in text)


def test_search_finds_titles_and_concepts():
    pack = load_pack(lessons_dir())
    text = lines(course_rows(pack, lambda *_: "new", 100, search="version-counter"))
    assert any("What the version counter protects" in line for line in text)
    assert not any("A look around" in line for line in text)
    assert lines(course_rows(pack, lambda *_: "new", 100, search="zebra"))[0].startswith(
        "No lesson"
    )


# -- signs and settings ------------------------------------------------------------------


def test_both_sets_of_signs_have_the_same_names_and_one_cell_each():
    from rich.cells import cell_len

    for name in Glyphs.__dataclass_fields__:
        assert cell_len(getattr(UNICODE, name)) == 1, name
        assert getattr(ASCII, name).isascii()


def test_settings_come_back(tmp_path):
    path = tmp_path / "new" / "settings.json"
    chosen = settings.Settings("tutor-light", "ascii", True)
    settings.save(path, chosen)
    assert settings.load(path) == (chosen, "")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "cannot be read"),
        ("[1]", "not a mapping"),
        (json.dumps({"glyphs": "runes"}), "glyphs cannot be 'runes'"),
        (json.dumps({"colour": 1}), "colour is not a setting"),
    ],
)
def test_bad_settings_give_the_usual_and_a_notice(tmp_path, text, part):
    path = tmp_path / "settings.json"
    path.write_text(text)
    chosen, notice = settings.load(path)
    assert chosen.theme == "tutor-dark"
    assert part in notice


def test_no_settings_are_no_trouble(tmp_path):
    assert settings.load(tmp_path / "none.json")[1] == ""


# -- drafts --------------------------------------------------------------------------------


def test_a_draft_that_no_longer_fits_is_left_out(step):
    from tutor.app.model.draft import draft_of, with_draft

    guess, order = step("guess"), step("order")
    kept = draft_of(Work(picked={"guess": ("right",)}))
    assert with_draft(guess, Work(), kept).picked == {"guess": ("right",)}
    other = draft_of(Work(picked={"guess": ("gone",)}))
    assert with_draft(guess, Work(), other).picked == {"guess": ()}
    assert with_draft(guess, Work(), "y = 1").picked == {}
    now = Work(order=Arrangement((2, 1, 3, 4)))
    longer = draft_of(Work(order=Arrangement((1, 2, 3), (4, 5))))
    assert with_draft(order, now, longer).order == now.order


def test_blanks_show_what_was_typed_and_a_rule_where_nothing_was(step):
    from tutor.app.model.draft import filled

    blank = step("blank")
    assert filled(blank, {}).startswith("y = x.______()")
    assert filled(blank, {"op": "exp"}).startswith("y = x.exp()")
