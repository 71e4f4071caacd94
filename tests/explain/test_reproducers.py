"""Every error and warning of torch that is known gets the kind of finding that explains it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import load
from tests.score import same_kind
from tutor.explain import findings
from tutor.run import Runner
from tutor.trace import snippet

ENTRIES = load(Path(__file__).parent.parent / "programs" / "reproducers.yaml")
assert isinstance(ENTRIES, list)


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["id"] for entry in ENTRIES])
def test_the_reproducer_gets_its_kind(
    runner: Runner, entry: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    found = findings(runner.run(snippet(entry["reproducer"])))
    assert not caplog.records, "a kind could not look at this run"
    if entry["is_warning"]:
        assert entry["finding"] in {one.kind for one in found}
        return
    assert found
    assert same_kind(found[0].kind, entry["finding"], entry["message"]), found[0].message
    assert entry["raised_at_line"] in {place.line for place in found[0].at("surfaced")}
