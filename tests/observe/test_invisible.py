"""The observer changes nothing: every program kept with the tests, traced and bare.

`comparing` says what is compared. What Python or torch itself forces to differ is in
docs/observing.md, and `test_forced.py` shows each.
"""

from __future__ import annotations

import pytest

from tests.observe.comparing import differences, seen
from tests.programs import everything
from tutor.run import Runner

PROGRAMS = everything()

QUOTES_THE_C_STACK = {"reproducer-ckpt-debug"}


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - QUOTES_THE_C_STACK))
def test_a_traced_run_is_a_bare_run(runner: Runner, name: str) -> None:
    bare, traced = (seen(runner, PROGRAMS[name], observed=which) for which in (False, True))
    assert differences(bare, traced) == ""


@pytest.mark.parametrize("name", sorted(QUOTES_THE_C_STACK))
def test_a_quoted_c_stack_alone_may_differ(runner: Runner, name: str) -> None:
    bare, traced = (seen(runner, PROGRAMS[name], observed=which) for which in (False, True))
    assert bare.end == traced.end
    assert bare.living == traced.living


def test_no_program_is_missing() -> None:
    cases = {name.removesuffix("-repaired") for name in PROGRAMS if name[0].isdigit()}
    assert len(cases) >= 89
    assert sum(name.endswith("-repaired") for name in PROGRAMS) == len(cases)
    assert sum(name.startswith("healthy-") for name in PROGRAMS) >= 20
    assert sum(name.startswith("reproducer-") for name in PROGRAMS) >= 287
