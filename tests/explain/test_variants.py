"""Small programs, several for a kind and some healthy; their first line says what is wanted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.programs import load
from tutor.explain import findings, words
from tutor.run import Runner
from tutor.trace import snippet

VARIANTS = load(Path(__file__).parent / "variants.yaml")
assert isinstance(VARIANTS, dict)

_WANT = re.compile(r"# want: (?P<kind>\S+)(?P<places>.*)")


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_the_variant_is_explained(
    runner: Runner, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = VARIANTS[name]
    want = _WANT.match(text)
    assert want is not None
    trace = runner.run(snippet(text))
    found = [one for one in findings(trace) if one.severity != "note"]
    assert not caplog.records, "a kind could not look at this run"
    if want["kind"] == "nothing":
        assert trace.outcome in ("ok", "exited")
        assert [one.message for one in found] == []
        return
    assert found, trace.outcome
    first = found[0]
    assert first.kind == want["kind"], first.message
    for wanted in want["places"].split():
        role, _, numbers = wanted.partition("=")
        lines = {place.line for place in first.places if place.role == role}
        assert lines & {int(number) for number in numbers.split(",")}, (role, lines)
    said = words(first)
    assert "…" not in said.title.replace("(…)", "").replace("[…]", "")
    assert said.explanation
