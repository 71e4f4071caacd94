"""The graph pane: what a learner reads there."""

import sys

from rich.cells import cell_len

from tutor.app.model.glyphs import ASCII
from tutor.app.model.graph import graph_rows

from . import made


def lines(state, width=58, **kwargs):
    return [row.text.rstrip() for row in graph_rows(state, width, **kwargs)]


def test_the_failing_program_shows_where_the_pass_stopped_and_why():
    assert lines(made.failing_trace().last) == [
        "SumBackward0 #3  grad 1.                            line 3",
        "AddBackward0 #2 = y  grad [1., 1., 1.]              line 2",
        "✗ ExpBackward0 #1  grad [1., 1., 1.]                line 1",
        "  the backward pass stopped here",
        "  ✗ result: y v0, now v1",
        "  x  leaf  .grad None",
    ]


def test_before_the_write_the_save_still_holds():
    trace = made.failing_trace()
    before_line_2 = trace.at(trace.lines[3])
    assert lines(before_line_2) == [
        "ExpBackward0 #1 = y                                 line 1",
        "  ✓ result: y v0",
        "  x  leaf  .grad None",
    ]


def test_after_a_backward_the_saves_are_freed_and_the_leaf_has_its_gradient():
    text = lines(made.healthy_trace().last)
    assert "  ✂ result: freed" in text
    assert "  x  leaf  .grad [2.7183, 7.3891, 20.0855]" in text


def test_five_rounds_of_one_line_stay_flat_and_name_their_round():
    text = lines(made.founding_trace().last)
    heads = [line for line in text if "MulBackward0" in line]
    assert [line.rsplit("line ", 1)[1] for line in heads] == ["5·5", "5·4", "5·3", "5·2", "5·1"]
    assert not any(line.startswith(("├", "└")) for line in text)
    assert "  ✗ other: output v4, now v5" in text
    assert "MulBackward0 #5  not reached                      line 5·4" in text


def test_a_node_with_two_users_is_drawn_once_and_linked():
    assert lines(made.diamond_trace().last, width=40) == [
        "MulBackward0 #4                   line 1",
        "├ SinBackward0 #2                 line 1",
        "│ ExpBackward0 #1 ◇ shared        line 1",
        "│   x  leaf  .grad None",
        "└ CosBackward0 #3                 line 1",
        "  ↺ see ExpBackward0 #1",
    ]


def test_the_link_to_a_shared_node_leads_to_its_row():
    rows = graph_rows(made.diamond_trace().last, 40)
    link = next(row for row in rows if "see" in row.text)
    verb, key = link.action.split(" ", 1)
    assert verb == "key"
    assert next(row for row in rows if row.key == key).text.lstrip("│ ").startswith("ExpBackward0")


def test_a_chain_deeper_than_pythons_recursion_limit_offers_the_rest():
    depth = sys.getrecursionlimit() + 500
    rows = graph_rows(made.chain_trace(depth).last, 50, limit=100)
    assert len(rows) == 101
    assert rows[-1].action == "more"
    assert rows[-1].text == f"… {depth - 100} more nodes"


def test_branches_upon_branches_leave_room_for_the_text():
    rows = graph_rows(made.diamond_trace(60).last, 50, limit=1000)
    assert all(cell_len(row.text) <= 50 for row in rows)
    nodes = [row for row in rows if row.key.startswith("node ")]
    assert len(nodes) == 3 * 60 + 1
    assert all("Backward0" in row.text for row in nodes)


def test_nothing_recorded_is_said_in_words():
    state = made.failing_trace(upto=0).last
    assert "".join(lines(state)).startswith("No tensors yet.")


def test_every_row_fits_every_width():
    for trace in (made.failing_trace(), made.founding_trace(), made.healthy_trace()):
        for width in (30, 44, 58, 90):
            assert all(cell_len(r.text) <= width for r in graph_rows(trace.last, width))


def test_the_ascii_set_is_ascii():
    for trace in (made.failing_trace(), made.founding_trace(), made.diamond_trace()):
        text = "".join(lines(trace.last, glyphs=ASCII)).replace("·", "")
        assert text.isascii()
