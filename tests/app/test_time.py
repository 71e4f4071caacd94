"""Moments, marks and links to the cause."""

from tutor.app.model.marks import line_marks
from tutor.app.model.shown import cause, cause_moment, shown
from tutor.app.model.timeline import moment_words, timeline

from . import made


def walk(trace):
    line = timeline(trace)
    return [moment_words(trace, line, stop.moment) for stop in line.stops]


def test_the_stops_of_the_failing_program_in_order():
    assert walk(made.failing_trace()) == [
        "before line 1 · torch call 0 of 4",
        "after exp, line 1 · torch call 1 of 4",
        "before line 2 · torch call 1 of 4",
        "after add_, line 2 · torch call 2 of 4",
        "before line 3 · torch call 2 of 4",
        "after sum, line 3 · torch call 3 of 4",
        "backward step 1 of 3: SumBackward0",
        "backward step 2 of 3: AddBackward0",
        "backward step 3 of 3: ExpBackward0",
        "after backward, line 3 · torch call 4 of 4",
        "end: RuntimeError at line 3",
    ]


def test_the_setup_is_no_part_of_the_walk():
    line = timeline(made.failing_trace())
    assert len(line.lines) == 3
    assert len(line.ops) == 4


def test_rounds_of_a_loop_are_counted():
    words = walk(made.founding_trace())
    assert "before line 5·3 · torch call 4 of 8" in words


def test_steps_by_kind_end_at_the_edges():
    trace = made.failing_trace()
    line = timeline(trace)
    first = line.lines[0]
    assert line.step(first, "line", False) == first
    assert line.step(first, "line", True) == line.lines[1]
    assert line.step(line.lines[-1], "line", True) == line.end
    assert line.step(line.end, "pass", False) == line.steps[-1]


def test_the_slider_reaches_both_ends():
    line = timeline(made.failing_trace())
    assert line.near(0.0) == line.stops[0].moment
    assert line.near(1.0) == line.end
    assert line.fraction(line.stops[0].moment) == 0.0
    assert line.fraction(line.end) == 1.0
    for stop in line.stops:
        assert line.near(line.fraction(stop.moment)) == stop.moment


def test_marks_say_cause_witness_and_where_it_came_out():
    trace = made.failing_trace()
    marks = line_marks(trace, timeline(trace), trace.last, [made.inplace_finding()], "snippet.py")
    assert [(n, m.glyph, m.note) for n, m in sorted(marks.items())] == [
        (1, "◆", "saves y at v0"),
        (2, "◆", "y v0 → v1"),
        (3, "✗", "wanted v0, is v1"),
    ]


def test_lines_that_ran_are_ticked_and_tell_what_they_did():
    trace = made.healthy_trace()
    marks = line_marks(trace, timeline(trace), trace.last, [], "snippet.py")
    assert [(n, m.glyph, m.note) for n, m in sorted(marks.items())] == [
        (1, "✓", ""),
        (2, "✓", "y = [3.7183, 8.3891, 21.0855]"),
        (3, "✓", "x.grad = [2.7183, …, 20.0855]"),
    ]


def test_a_loop_adds_its_writes_up():
    trace = made.founding_trace()
    marks = line_marks(trace, timeline(trace), trace.last, [], "snippet.py")
    assert marks[5].note == "output v0 → v5 (×5)"


def test_an_exception_nobody_explains_is_marked_where_it_was_raised():
    trace = made.failing_trace()
    marks = line_marks(trace, timeline(trace), trace.last, [], "snippet.py")
    assert marks[3].glyph == "✗"
    assert marks[3].note == "RuntimeError"


def test_earlier_in_time_later_lines_have_no_tick():
    trace = made.healthy_trace()
    line = timeline(trace)
    marks = line_marks(trace, line, trace.at(line.lines[1]), [], "snippet.py")
    assert sorted(marks) == [1]


def test_the_cause_is_seen_right_after_it_happened():
    trace = made.failing_trace()
    write = next(moment for moment, event in enumerate(trace.events) if "Write" in str(type(event)))
    finding = made.inplace_finding(moment=write)
    view = shown(trace, (finding,))
    place = cause(view)
    assert place.line == 2
    assert view.at(cause_moment(view, place)).state.counters[2].version == 1


def test_the_line_of_a_moment_is_the_learners_own():
    trace = made.founding_trace()
    view = shown(trace)
    assert view.here() == 0
    before_round_3 = next(m for m in view.line.lines if trace.at(m).place.iteration == (3,))
    assert view.at(before_round_3).here() in (4, 5)
