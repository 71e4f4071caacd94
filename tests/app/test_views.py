"""Versions, tensors, output: what a learner reads in these panes."""

from rich.cells import cell_len

from tutor.app.model.output import output_rows
from tutor.app.model.tensors import tensor_rows
from tutor.app.model.timeline import timeline
from tutor.app.model.versions import version_rows
from tutor.trace import events as ev
from tutor.trace.trace import End, Trace

from . import made


def lines(rows):
    return [row.text.rstrip() for row in rows]


# -- versions ----------------------------------------------------------------------------


def test_the_save_sits_under_the_version_it_was_made_at():
    trace = made.failing_trace()
    assert lines(version_rows(trace, trace.last, 90)) == [
        "y   now v1  (1 move)",
        "  " + "v0 line 1 exp".ljust(41) + "  →  v1 line 2 add_",
        "  ✗ kept by Exp 1 ◀ backward asked for this",
    ]


def test_the_founding_question_shows_five_writes_and_five_broken_saves():
    trace = made.founding_trace()
    text = lines(version_rows(trace, trace.last, 58))
    assert text[0] == "output, b (in fn)   now v5  (5 moves)"
    block = "\n".join(text[: text.index("")])
    for version in range(6):
        assert f"v{version} line" in block
    for round_ in range(1, 6):
        assert f"✗ kept by Mul 5·{round_}" in block
    assert "✗ kept by Mul 5·5 ◀ backward asked for this" in block


def test_before_the_first_round_nothing_has_moved():
    trace = made.founding_trace()
    line = timeline(trace)
    after_pow = next(s.moment for s in line.stops if s.kind == "op" and s.number == 2)
    text = "\n".join(lines(version_rows(trace, trace.at(after_pow), 58)))
    assert "v1" not in text
    assert "a, a (in fn)   now v0  (never moved)" in text


def test_a_save_that_still_holds_says_so():
    trace = made.failing_trace()
    before_line_2 = trace.at(timeline(trace).lines[1])
    assert "  ✓ kept by Exp 1" in lines(version_rows(trace, before_line_2, 58))


def test_versions_fit_every_width():
    trace = made.founding_trace()
    for width in (24, 40, 58, 120):
        rows = version_rows(trace, trace.last, width)
        assert all(cell_len(row.text.rstrip()) <= width for row in rows)


# -- tensors -----------------------------------------------------------------------------


def test_each_named_tensor_tells_value_flags_and_gradient():
    trace = made.healthy_trace()
    assert lines(tensor_rows(trace.last, None, 60)) == [
        "x  [3] float32                                            v0",
        "  leaf, requires grad",
        "  value [1., 2., 3.]",
        "  .grad [2.7183, 7.3891, 20.0855]",
        "",
        "y  [3] float32                                            v0",
        "  not a leaf, requires grad, made by AddBackward0",
        "  value [3.7183, 8.3891, 21.0855]",
    ]


def test_what_changed_since_the_line_before_says_so():
    trace = made.failing_trace()
    line = timeline(trace)
    before, after = trace.at(line.lines[1]), trace.at(line.lines[2])
    text = lines(tensor_rows(after, before, 60))
    assert "  value [3.7183, 8.3891, 21.0855]  • changed" in text
    assert "  value [1., 2., 3.]" in text


def test_a_new_tensor_says_that_it_is_new():
    trace = made.failing_trace()
    line = timeline(trace)
    text = lines(tensor_rows(trace.at(line.lines[1]), trace.at(line.lines[0]), 60))
    assert any(row.startswith("y  [3] float32  • new") for row in text)


def test_no_names_no_tensors():
    assert lines(tensor_rows(Trace().last, None, 90))[0].startswith("No name means a tensor here.")


# -- output ------------------------------------------------------------------------------


def test_before_the_end_nothing_is_said_of_what_comes_later():
    trace = made.healthy_trace()
    start = trace.at(timeline(trace).stops[0].moment)
    assert lines(output_rows(trace, start, 70)) == ["Nothing was printed up to here."]
    assert lines(output_rows(trace, trace.last, 70))[0] == "done"
    assert lines(version_rows(trace, start, 200)) == [
        "Up to here no counter has moved and no node keeps a tensor. "
        "Each tensor has a version counter; every in-place write adds one."
    ]


def test_output_warning_and_traceback_each_once():
    trace = made.failing_trace()
    text = lines(output_rows(trace, trace.last, 70, "snippet.py"))
    assert text[0] == "Traceback (most recent call last):"
    assert sum("Traceback" in row for row in text) == 1
    assert text[-1] == "stopped by an exception after 30 ms"


def test_a_line_of_the_traceback_is_a_link_into_the_code():
    trace = made.failing_trace()
    rows = output_rows(trace, trace.last, 70, "snippet.py")
    target = next(row.target for row in rows if row.target)
    assert (target.file, target.line) == ("snippet.py", 3)


def test_a_library_path_begins_at_the_library():
    trace = Trace()
    where = '  File "/home/me/.venv/lib/python3.11/site-packages/torch/_tensor.py", line 6, in f'
    trace.extend([ev.Raised("RuntimeError", "no", (), f"{where}\nRuntimeError: no\n")])
    assert (
        lines(output_rows(trace, trace.last, 90, "s"))[0]
        == '  File "torch/_tensor.py", line 6, in f'
    )


def test_control_sequences_never_reach_the_terminal():
    trace = Trace()
    trace.extend([ev.Output(1, "\x1b[31mred\x1b[0m\nbell\x07\n")])
    text = lines(output_rows(trace, trace.last, 60))
    assert text == ["␛[31mred␛[0m", "bell␇"]


def test_an_early_end_says_why():
    trace = made.failing_trace(upto=20)
    trace.end = End("timeout", None, None, 5.0, message="stopped after 5 s")
    assert "stopped after 5 s" in lines(output_rows(trace, trace.last, 60))


def test_a_hundred_thousand_lines_are_shown_quickly_and_counted():
    trace = Trace()
    trace.extend([ev.Output(1, "line\n" * 100_000)])
    rows = output_rows(trace, trace.last, 60)
    assert rows[0].text == "(80000 earlier lines not shown)"
    assert len(rows) == 20_001
