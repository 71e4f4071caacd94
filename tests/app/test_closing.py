"""The page after a lesson's last step."""

from tutor.app.model.closing import Closing, closing_rows


def lines(closing, width=60):
    return [row.text.rstrip() for row in closing_rows(closing, width)]


def test_every_open_step_is_a_link_and_a_skipped_one_says_so():
    steps = (("done", "read", "First."), ("skipped", "repair", "Keep `y`."), ("new", "write", "W."))
    closing = Closing("A lesson", steps, "Another")
    assert lines(closing) == [
        "A lesson",
        "",
        "◆ 1 of 3 steps are done.",
        "",
        "Still open; Enter on one goes back to it:",
        "◌ step 2, repair: skipped. Keep y.",
        "○ step 3, write: W.",
        "",
        "n goes on to the next lesson: Another",
    ]
    assert [row.action for row in closing_rows(closing, 60) if row.action] == [
        "step 1",
        "step 2",
        "next",
    ]


def test_the_last_lesson_ends_with_the_list_of_all():
    assert lines(Closing("A lesson", (("done", "read", "First."),))) == [
        "A lesson",
        "",
        "✓ Every step is done.",
        "",
        "That was the last lesson. b shows them all.",
    ]


def test_it_fits_into_narrow_places():
    steps = (("new", "predict", "A question that goes on for longer than the page is wide."),)
    for width in (20, 34, 56):
        assert all(len(line) <= width for line in lines(Closing("L", steps, "Next one"), width))
