"""Colours of code: kinds of words, and the same after an edit as from a whole reading."""

from hypothesis import given
from hypothesis import strategies as st

from tutor.app.model.highlight import highlight, patched

LINES = st.lists(
    st.sampled_from(["x = 1", "def f(a):", "    return a  # b", "", "y = 'str'", "for i in x:"]),
    min_size=1,
    max_size=8,
)


def kinds(line):
    return [(line[a:b], kind) for a, b, kind in highlight(line)[0]]


def test_each_kind_of_word_has_its_colour():
    assert kinds("y = len(x) + 2.5  # sum") == [
        ("=", "operator"),
        ("len", "builtin"),
        ("+", "operator"),
        ("2.5", "number"),
        ("# sum", "comment"),
    ]
    assert kinds("def f(a): return True") == [
        ("def", "keyword"),
        ("f", "function"),
        ("return", "keyword"),
        ("True", "constant"),
    ]


def test_a_string_over_lines_is_a_string_on_each():
    assert [[k for *_, k in line] for line in highlight('"""a\nb"""')] == [["string"], ["string"]]


@given(LINES, LINES, st.integers(0, 8), st.integers(0, 8))
def test_an_edit_gives_what_a_whole_reading_gives(old, inserted, at, length):
    new = old[:at] + inserted + old[at + length :]
    whole = highlight("\n".join(new))
    assert patched(old, highlight("\n".join(old)), new) == whole
