"""Every kind of step and every check has a page: its example is proved, its table is true."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.author.pages import build, section
from tutor.attempt import Attempts, proofs
from tutor.attempt.proofs import prove
from tutor.author.lint import lint
from tutor.author.tables import checks, own_keys, table
from tutor.cli.author import COMMANDS
from tutor.lesson import load_pack
from tutor.lesson.steps import KINDS
from tutor.lesson.walk import checks_at, name_of
from tutor.run import Runner

DOCS = Path(__file__).parents[2] / "docs" / "lessons"


def page(folder: str, name: str) -> str:
    return (DOCS / folder / f"{name}.md").read_text(encoding="utf-8")


def test_there_is_a_page_for_each_and_none_besides() -> None:
    assert sorted(path.stem for path in (DOCS / "kinds").iterdir()) == sorted(KINDS)
    assert sorted(path.stem for path in (DOCS / "checks").iterdir()) == sorted(checks())


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_step(kind: str, tmp_path: Path, runner: Runner) -> None:
    steps = proved(build(tmp_path, section(page("kinds", kind), "Example")), runner)
    assert {step.kind for step in steps} == {kind}
    keys = own_keys(kind)
    if len(keys.splitlines()) > 2:
        assert section(page("kinds", kind), "Keys").strip() == keys


@pytest.mark.parametrize("name", sorted(checks()))
def test_a_check(name: str, tmp_path: Path, runner: Runner) -> None:
    steps = proved(build(tmp_path, section(page("checks", name), "Example")), runner)
    used = {name_of(check) for step in steps for _, check in checks_at(step)}
    assert name in used
    model = checks()[name]
    if model is not None:
        assert section(page("checks", name), "Arguments").strip() == table(model)


def proved(folder: Path, runner: Runner):  # type: ignore[no-untyped-def]
    """The steps of the example, once nothing is wrong with them."""
    assert [str(fault) for fault in lint([folder]).faults] == []
    pack = load_pack(folder)
    lesson, document = pack.lessons["group.sample"], pack.documents["group.sample"]
    faults = asyncio.run(prove(Attempts(runner), lesson, document))
    assert "\n".join(fault.shown() for fault in faults) == ""
    return lesson.steps


def test_the_page_on_the_format_names_every_kind_check_and_command(tmp_path: Path) -> None:
    text = (DOCS / "format.md").read_text(encoding="utf-8")
    for folder, names in (("kinds", KINDS), ("checks", checks())):
        for name in names:
            assert f"({folder}/{name}.md)" in text
    for name in COMMANDS:
        assert f"`author {name}" in text
    # Its example is a sound lesson.
    assert lint([build(tmp_path, text)]).faults == ()


def test_the_page_on_proofs_names_every_rule_that_a_run_can_break() -> None:
    text = (DOCS / "proofs.md").read_text(encoding="utf-8")
    static = {"E324"}  # a mistake without an example: seen without a run
    assert {code for code in proofs.RULES if code not in text} <= static
