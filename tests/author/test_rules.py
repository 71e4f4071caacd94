"""Every rule has a page, and what the page calls refused is refused, what it calls accepted is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.author.pages import build, section
from tutor.attempt import Attempts, proofs
from tutor.attempt.proofs import prove
from tutor.author.lint import lint
from tutor.author.rulebook import RULES, page, summary
from tutor.lesson import Fault, load_pack
from tutor.run import Runner

PROVED = sorted(set(proofs.RULES) - {"E324", "E330"})
"""Rules that only a run can break."""


def test_there_is_a_page_for_each_rule_and_none_besides() -> None:
    folder = Path(proofs.__file__).parents[1] / "author" / "rules"
    assert sorted(path.stem for path in folder.glob("*.md")) == sorted(RULES)


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_page_begins_with_its_rule_and_says_what_it_means(code: str) -> None:
    assert page(code).splitlines()[0] == f"# {code} {RULES[code]}"
    assert len(summary(code)) > 30


HISTORY = ["W501"]
"""Rules that only two states of a pack can break: see test_versions."""


def linted(folder: Path) -> set[str]:
    return {fault.code for fault in lint([folder]).faults}


@pytest.mark.parametrize("code", sorted(set(RULES) - set(PROVED) - set(HISTORY)))
def test_the_example_breaks_the_rule_and_the_other_breaks_none(code: str, tmp_path: Path) -> None:
    assert code in linted(build(tmp_path / "refused", section(page(code), "Refused")))
    assert linted(build(tmp_path / "accepted", section(page(code), "Accepted"))) == set()


@pytest.mark.parametrize("code", PROVED)
def test_the_example_is_refused_by_running_it(code: str, tmp_path: Path, runner: Runner) -> None:
    def proved(name: str) -> tuple[Fault, ...]:
        folder = build(tmp_path / name, section(page(code), name))
        assert linted(folder) == set()
        pack = load_pack(folder)
        lesson, document = pack.lessons["group.sample"], pack.documents["group.sample"]
        repeat = 2 if code == "E340" else 1
        return asyncio.run(prove(Attempts(runner), lesson, document, repeat=repeat))

    assert code in {fault.code for fault in proved("Refused")}
    assert [str(fault) for fault in proved("Accepted")] == []
