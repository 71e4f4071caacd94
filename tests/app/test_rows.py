"""Rows fit their width, in cells, whatever letters they hold."""

from hypothesis import given
from hypothesis import strategies as st

from tutor.app.model.prose import inline, plain, prose_rows
from tutor.app.model.rows import Span, cut, split, width_of, wrap

LETTERS = st.text(alphabet="ab ñЖ模型 →,()", max_size=60)


def text_of(spans):
    return "".join(span.text for span in spans)


@given(LETTERS, st.integers(4, 40))
def test_wrapped_text_fits_and_loses_nothing_but_blanks(text, width):
    lines = wrap((Span(text),), width, "  ")
    assert all(width_of(line) <= width for line in lines)
    assert "".join("".join(map(text_of, lines)).split()) == "".join(text.split())


@given(LETTERS, st.integers(1, 40))
def test_cut_text_fits_and_says_that_it_was_cut(text, width):
    spans = cut((Span(text),), width)
    assert width_of(spans) <= width
    if width_of((Span(text),)) > width:
        assert text_of(spans).endswith("…")
    else:
        assert text_of(spans) == text


def test_a_row_with_two_edges_keeps_the_right_one():
    row = split((Span("MulBackward0 #3 = a_rather_long_name"),), (Span("line 7"),), 23)
    assert text_of(row) == "MulBackward0 #3… line 7"
    assert width_of(row) == 23


def test_wide_letters_are_measured_in_cells():
    lines = wrap((Span("模型模型模型"),), 6)
    assert [text_of(line) for line in lines] == ["模型模", "型模型"]


def test_inline_marks_become_roles():
    spans = inline("Use `y + 1`, **not** `y.add_(1)`.")
    assert [(s.text, s.role) for s in spans] == [
        ("Use ", ""),
        ("y + 1", "code"),
        (", ", ""),
        ("not", "strong"),
        (" ", ""),
        ("y.add_(1)", "code"),
        (".", ""),
    ]


def test_a_star_between_numbers_is_no_mark():
    assert plain("2 * 3 * 4 = 24") == "2 * 3 * 4 = 24"


def test_paragraphs_bullets_and_code_keep_their_shape():
    rows = prose_rows("One two\nthree.\n\n- first\n- second\n\n```\nx = 1\n```", 40)
    assert [row.text for row in rows] == [
        "One two three.",
        "",
        "- first",
        "- second",
        "",
        "  x = 1",
    ]
