"""Programs that look hard for whoever watches them are told nothing either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.observe.comparing import differences, seen
from tests.programs import load
from tutor.run import Runner

_ENTRIES: Any = load(Path(__file__).with_name("nasty.yaml"))
PROGRAMS: dict[str, dict[str, Any]] = {entry["id"]: entry for entry in _ENTRIES}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_nasty_program_sees_no_difference(runner: Runner, name: str) -> None:
    entry = PROGRAMS[name]
    bare, traced = (
        seen(runner, entry["code"], observed=which, sampled=entry.get("sampled", True))
        for which in (False, True)
    )
    assert differences(bare, traced) == ""
