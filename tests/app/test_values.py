"""Numbers look as torch prints them."""

import pytest

from tutor.app.model.values import number, value_text
from tutor.trace.events import Value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1."),
        (-0.0, "-0."),
        (3.7182818, "3.7183"),
        (0.5, "0.5"),
        (643750.0, "643750."),
        (1e-7, "1.000e-07"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (True, "True"),
        (7, "7"),
        ("(1+2j)", "(1+2j)"),
    ],
)
def test_one_number(value, text):
    assert number(value) == text


def test_elements_are_nested_by_the_shape():
    value = Value((2, 2), "torch.float32", (1.0, 2.0, 3.0, 4.5))
    assert value_text(value) == "[[1., 2.], [3., 4.5]]"


def test_a_long_vector_shows_its_beginning_and_its_end():
    value = Value((9,), "torch.float32", tuple(float(i) for i in range(9)))
    assert value_text(value, 20) == "[0., 1., 2., …, 8.]"


def test_what_is_too_big_is_summed_up():
    value = Value((256, 4), "torch.float32", None, -1.5, 2.0, 0.25, 3)
    assert value_text(value) == "[256, 4]  mean 0.25  -1.5 to 2.  3 not finite"


def test_an_unknown_value_says_nothing():
    assert value_text(None) == ""
