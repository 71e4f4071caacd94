"""Programs that run and are wrong, three to many a kind, and healthy ones that look like them.

Each file here holds the programs of one kind, parted by lines `#%% name`. A comment at the end
of a line says what is wanted of it: `<- cause`, `<- shown` (where the wrong value is seen),
`<- witness`; any one of several is right. What the programs do is what torch does with them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tutor.explain import edits, findings, words
from tutor.explain.registry import BY_ID
from tutor.run import Runner
from tutor.trace import Program, Source, Trace

HERE = Path(__file__).parent
ROLES = {"cause": "cause", "shown": "surfaced", "witness": "witness"}


def programs(file: Path) -> dict[str, str]:
    parts = re.split(r"(?m)^#%% ", file.read_text(encoding="utf-8"))[1:]
    found = {}
    for part in parts:
        name, _, body = part.partition("\n")
        assert name.strip() not in found, name
        found[name.strip()] = body
    return found


def marked(text: str, word: str) -> set[int]:
    return {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(rf"# <- {word}\b", line)
    }


def run(runner: Runner, name: str, text: str) -> Trace:
    return runner.run(
        Program((Source(f"/programs/{name}.py", text),), profile="script", timeout=60.0)
    )


WRONG = {
    (file.stem, name): text
    for file in sorted(HERE.glob("*.txt"))
    if file.stem != "healthy"
    for name, text in programs(file).items()
}
HEALTHY = programs(HERE / "healthy.txt")


@pytest.mark.parametrize(("kind", "name"), WRONG)
def test_the_line_to_change_comes_first(
    runner: Runner, kind: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = WRONG[kind, name]
    assert kind in BY_ID
    assert marked(text, "cause"), "a program here says which line is to be changed"
    found = [one for one in findings(run(runner, name, text)) if one.severity != "note"]
    assert not caplog.records, "a kind could not look at this run"
    assert found, "nothing was found"
    first = found[0]
    assert first.kind == kind
    assert len(first.at("cause")) <= 3
    for word, role in ROLES.items():
        lines = [place.line for place in first.places if place.role == role]
        wanted = marked(text, word)
        assert not wanted or wanted & set(lines), (role, lines)
    for one in found:
        said = words(one, "en")
        assert len(said.title) < 120
        assert "{" not in said.title + said.explanation


@pytest.mark.parametrize("name", HEALTHY)
def test_what_is_right_is_left_alone(
    runner: Runner, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    trace = run(runner, name, HEALTHY[name])
    assert trace.outcome == "ok", trace.raised
    found = [one for one in findings(trace) if one.severity != "note"]
    assert not caplog.records, "a kind could not look at this run"
    assert [(one.message, [place.line for place in one.places]) for one in found] == []


REPAIRED = [
    ("checkpoint", "ckpt-rng"),
    ("freeze-ignored", "freeze-module-attr"),
    ("graph-memory", "mem-dict"),
    ("grad-none-disconnected", "hidden-detach-module"),
    ("grad-none-disconnected", "data"),
    ("hook-misuse", "hook-no-return"),
    ("missing-detach", "det-sarsa-function"),
    ("missing-detach", "det-vq-ste"),
    ("missing-detach", "normalise-loss"),
    ("shape-broadcast", "broadcast-mse"),
    ("shape-broadcast", "broadcast-sub"),
    ("silent-inplace", "inplace-unet"),
    ("stale-optimizer", "stale-head-replaced"),
    ("stale-optimizer", "clip-generator-in-loop"),
    ("unregistered-module", "unreg-tensor"),
]


@pytest.mark.parametrize(("kind", "name"), REPAIRED)
def test_the_first_fix_repairs_the_program(runner: Runner, kind: str, name: str) -> None:
    text = WRONG[kind, name]
    first = findings(run(runner, name, text))[0]
    assert first.fixes
    repaired = run(runner, name, edits.apply(text, first.fixes[0].edits))
    assert repaired.outcome == "ok", repaired.raised
    assert [one.message for one in findings(repaired) if one.severity != "note"] == []


def test_each_kind_that_finds_something_in_silence_is_tried() -> None:
    tried = {kind for kind, _ in WRONG}
    silent = {kind.id for kind in BY_ID.values() if kind.ran is not None}
    elsewhere = {"data-bypass", "double-backward", "grad-accumulation", "no-grad-fn"}
    assert silent - elsewhere <= tried
