"""Programs that fail, of every kind and at three depths, each with its repaired version.

Each file here holds the programs of one kind, parted by lines `#%% name`; a name begins with
its depth: `flat`, `fn` (in functions) or `train` (modules and a training loop). A comment at the
end of a line says what is wanted of it: `<- cause`, `<- witness`, `<- shown`; any one of several
is right. `#= code` replaces the line above it in the repaired program (nothing: drops it),
`#+ code` is a line that only the repaired one has. `#@ file` begins another file beside the
first. `# repairs` after the name asks for a proposed fix that proves itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.score import same_kind
from tutor.diagnose import verified
from tutor.explain import Finding, findings, words
from tutor.explain.registry import BY_ID
from tutor.run import Runner
from tutor.trace import Program, Source, Trace

HERE = Path(__file__).parent
ROLES = {"cause": "cause", "shown": "surfaced", "witness": "witness"}
DEPTHS = ("flat", "fn", "train")


@dataclass(frozen=True)
class Written:
    """One program: its files as they fail and as they are repaired, the first one is run."""

    kind: str
    name: str
    broken: dict[str, str]
    repaired: dict[str, str]
    repairs: bool

    def marked(self, word: str) -> set[tuple[str, int]]:
        return {
            (file, number)
            for file, text in self.broken.items()
            for number, line in enumerate(text.splitlines(), 1)
            if re.search(rf"# <- {word}\b", line)
        }


def written(path: Path) -> list[Written]:
    """The programs of a file."""
    found = []
    for part in re.split(r"(?m)^#%% ", path.read_text(encoding="utf-8"))[1:]:
        name, _, body = part.partition("\n")
        broken: dict[str, list[str]] = {"main.py": []}
        repaired: dict[str, list[str]] = {"main.py": []}
        file = "main.py"
        for line in body.splitlines():
            if line.startswith("#@ "):
                file = line[3:].strip()
                broken[file], repaired[file] = [], []
                continue
            change = re.match(r"(\s*)#([=+]) ?(.*)", line)
            if change is None:
                broken[file].append(line)
                repaired[file].append(line)
                continue
            if change[2] == "=":
                repaired[file].pop()
            if change[3]:
                repaired[file].append(change[1] + change[3])
        found.append(
            Written(
                path.stem,
                name.split("#")[0].strip(),
                {key: "\n".join(rows) + "\n" for key, rows in broken.items()},
                {key: "\n".join(rows) + "\n" for key, rows in repaired.items()},
                "# repairs" in name,
            )
        )
    return found


PROGRAMS = [one for path in sorted(HERE.glob("*.txt")) for one in written(path)]
IDS = [f"{one.kind}-{one.name}" for one in PROGRAMS]


def run(runner: Runner, files: dict[str, str], folder: Path) -> Trace:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    main = folder / "main.py"
    source = Source(str(main), files["main.py"])
    return runner.run(Program((source,), profile="script", cwd=str(folder), timeout=60.0))


def misses(one: Written, trace: Trace, first: Finding | None) -> list[str]:
    """What is wrong with the first finding of a program, in words."""
    if first is None:
        return [f"nothing was found ({trace.outcome})"]
    wrong = []
    message = trace.raised.message if trace.raised is not None else ""
    if not same_kind(first.kind, one.kind, message):
        wrong.append(f"kind {first.kind} ({first.message})")
    for word, role in ROLES.items():
        wanted = one.marked(word)
        got = {(Path(p.file).name, p.line) for p in first.places if p.role == role}
        if wanted and not wanted & got:
            wrong.append(f"{word} wanted {sorted(wanted)}, got {sorted(got)} ({first.message})")
    if len(first.at("cause")) > 3:
        wrong.append("too many causes")
    said = words(first, "en")
    if "…" in said.title.replace("(…)", "").replace("[…]", "") or "{" in said.title:
        wrong.append(f"title {said.title}")
    if "…" in said.explanation.replace("(…)", "").replace("[…]", ""):
        wrong.append(f"a gap in {said.explanation}")
    if len(said.title) > 120 or not said.explanation:
        wrong.append(f"words {said.title}")
    return wrong


@pytest.mark.parametrize("one", PROGRAMS, ids=IDS)
def test_the_line_to_change_is_named(
    runner: Runner, one: Written, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert one.kind in BY_ID
    assert one.name.startswith(DEPTHS)
    assert one.marked("cause"), "a program here says which line is to be changed"
    trace = run(runner, one.broken, tmp_path)
    found = findings(trace)
    assert not caplog.records, "a kind could not look at this run"
    told = [each for each in found if each.severity != "note"]
    assert misses(one, trace, told[0] if told else None) == []
    if one.repairs:
        proved = verified(trace, told[:1], runner)[0]
        assert [fix.title for fix in proved.fixes if fix.verified], proved.fixes


@pytest.mark.parametrize("one", PROGRAMS, ids=IDS)
def test_the_repaired_program_is_left_alone(
    runner: Runner, one: Written, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if one.repaired == one.broken:
        pytest.fail("no repair is written")
    trace = run(runner, one.repaired, tmp_path)
    assert trace.outcome == "ok", trace.raised
    assert not caplog.records, "a kind could not look at this run"
    told = [each for each in findings(trace) if each.severity != "note"]
    assert [(each.message, [p.line for p in each.places]) for each in told] == []


def test_every_depth_of_a_kind_is_tried() -> None:
    depths = {(one.kind, one.name.split("-")[0]) for one in PROGRAMS}
    for kind in {one.kind for one in PROGRAMS}:
        missing = [depth for depth in DEPTHS if (kind, depth) not in depths]
        assert missing == [], kind
