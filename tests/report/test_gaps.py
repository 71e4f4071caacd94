"""Long runs say what of them is not kept: in the report, line by line, and at the slider."""

from __future__ import annotations

import json

import pytest

from tests.trace.test_gaps import training
from tutor.app.model.timeline import moment_words, timeline
from tutor.plain.moments import NoSuchMoment, moment_of
from tutor.plain.story import outcome
from tutor.report import html
from tutor.report import json as report_json
from tutor.report import text as report_text
from tutor.report.gaps import gap_words, gaps_words
from tutor.report.subject import Diagnosed
from tutor.trace import End, Trace, chunks, trace
from tutor.trace import events as ev
from tutor.trace.trace import Gap


class Run:
    """A diagnosis that found nothing."""

    def __init__(self, recorded: Trace) -> None:
        self.trace = recorded
        self.findings: tuple[()] = ()


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """A thousand steps of eleven events, of which the first 10 and about the last 8 are kept."""
    monkeypatch.setattr(trace, "CHUNK", 11)
    monkeypatch.setattr(chunks, "HEAD", 10)
    monkeypatch.setattr(chunks, "TAIL", 8)
    recorded = Trace()
    recorded.extend([ev.Start("2.13.0", "3.11", 1), *training(1000)])
    recorded.end = End("ok", 0)
    return recorded


# Six events come before the steps: number 109, the last one kept, is of step (109 - 6) // 11 + 1.
LOST = "10 802 events of iterations 10 to 992 are not kept"


def test_the_report_says_so_and_counts_the_whole_run(long: Trace) -> None:
    run: Diagnosed = Run(long)
    said = report_text.render(run, width=100)
    assert f"The run was long: {LOST}." in said
    assert "1 000 backwards ran" in said
    assert report_json.render(run)["truncated"]["events"] == 10802


def test_line_by_line_it_is_said_too(long: Trace) -> None:
    assert outcome(long)[-1] == f"It was long: {LOST}."
    assert long.at(moment_of(long, "line 3 iteration 5", "a.py")).place is not None
    with pytest.raises(NoSuchMoment, match=f"is not kept at line 3 in round 500: {LOST}"):
        moment_of(long, "line 3 iteration 500", "a.py")
    with pytest.raises(NoSuchMoment, match="never came to line 7"):
        moment_of(long, "line 7", "a.py")


def test_the_slider_stops_before_the_gap_says_how_much_is_missing_and_goes_on_after(
    long: Trace,
) -> None:
    line = timeline(long)
    (gap,) = long.gaps
    assert line.gaps == (gap.start,)
    assert not [stop for stop in line.stops if gap.start < stop.moment < gap.end]
    before = [stop.moment for stop in line.stops if stop.moment <= gap.start][-1]
    after = line.after(before)
    assert after >= gap.end
    assert moment_words(long, line, before).endswith(f"then {LOST}")
    place = long.at(after).place
    assert place is not None
    assert place.iteration[0] >= 992
    assert moment_words(long, line, after).endswith("of 1 001")
    assert moment_words(long, line, line.end) == "end of the run · 1 001 torch calls"


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ((120,), (99_880,), "2 310 044 events of iterations 120 to 99 880 are not kept"),
        ((2, 7), (3, 1), "2 310 044 events of iterations 2 to 3 are not kept"),
        ((2, 7), (2, 9), "2 310 044 events of iterations 2·7 to 2·9 are not kept"),
        ((), (), "2 310 044 events are not kept"),
    ],
)
def test_a_gap_in_words(first: tuple[int, ...], last: tuple[int, ...], words: str) -> None:
    assert gap_words(Gap(10, 2_310_054, 5, first, last)) == words


def test_a_short_run_says_nothing_of_the_kind() -> None:
    recorded = Trace()
    recorded.extend(training(3))
    recorded.end = End("ok", 0)
    assert gaps_words(recorded) == ""
    assert "kept" not in report_text.render(Run(recorded))
    assert outcome(recorded)[-1] == "It ran to its end."


def test_the_page_says_it_at_the_slider_and_at_its_end(long: Trace) -> None:
    document = html.render(Run(long))
    (gap,) = long.gaps
    words = gap_words(gap)
    assert document.count(f"<li>{words}.</li>") == 1
    stops = json.loads(document.split('id="stops">')[1].split("</script>")[0])
    after = [text for text, _, _ in stops if text.endswith(f" ({words})")]
    assert len(after) == 1
    assert after[0].startswith("before line ")
