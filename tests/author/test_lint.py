"""`author lint`: every fault, each at its place, for people and for programs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.author.packs import LESSON, write_pack
from tutor.author.lint import lint
from tutor.author.rulebook import RULES, page
from tutor.cli import main

ROOT = Path(__file__).parents[2]
BROKEN = ROOT / "tests" / "broken-pack"


@pytest.fixture
def beside_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKEN.parent)


def test_every_fault_of_every_file_is_told(
    beside_broken: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """`expected.txt` was read line by line by a person; a change there is to be read too."""
    assert main(["author", "lint", "broken-pack", "--max", "1000"]) == 1
    assert capsys.readouterr().out == (BROKEN / "expected.txt").read_text(encoding="utf-8")


def test_the_broken_pack_has_many_different_faults(beside_broken: None) -> None:
    faults = lint([Path("broken-pack")]).faults
    assert len({(fault.code, fault.message) for fault in faults}) >= 60
    static = {code for code in RULES if code[:2] != "E3"} | {"E324", "E330"}
    # E401 needs a pack that can be read whole, W501 an older state of it: see their pages.
    assert static - {fault.code for fault in faults} <= {"E401", "W501"} | TRANSLATION


TRANSLATION = {code for code in RULES if code.startswith("W6")}


def test_faults_are_sorted_by_place(beside_broken: None) -> None:
    places = [(f.path, f.line, f.column) for f in lint([Path("broken-pack")]).faults]
    assert places == sorted(places)


def test_a_file_or_a_folder_of_a_pack_may_be_named(beside_broken: None) -> None:
    one = lint([Path("broken-pack/inplace/later.yaml")])
    assert {f.path for f in one.faults} == {"broken-pack/inplace/later.yaml"}
    some = lint([Path("broken-pack/inplace")])
    assert {f.path.split("/")[1] for f in some.faults} == {"inplace"}
    both = lint([Path("broken-pack/inplace"), Path("broken-pack/more/latin.yaml")])
    assert {f.path.split("/")[1] for f in both.faults} == {"inplace", "more"}


def test_inside_the_pack_paths_begin_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKEN)
    assert "inplace/empty.yaml" in {fault.path for fault in lint([]).faults}


def test_json_holds_the_same_faults(
    beside_broken: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["author", "lint", "broken-pack", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    faults = lint([Path("broken-pack")]).faults
    assert [(t["path"], t["line"], t["column"], t["code"]) for t in told] == [
        (f.path, f.line, f.column, f.code) for f in faults
    ]
    assert {t["severity"] for t in told} == {"error", "warning"}
    assert all(t["end_column"] > t["column"] for t in told)


def test_github_gets_one_command_a_fault(
    beside_broken: None, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["author", "lint", "broken-pack/more/names.yaml", "--format", "github"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(lint([Path("broken-pack/more/names.yaml")]).faults)
    assert all(line.startswith(("::error file=", "::warning file=")) for line in lines)
    told = next(line for line in lines if "E218" in line)
    assert told == (
        "::error file=broken-pack/more/names.yaml,line=23,endLine=23,col=84,endColumn=85,"
        "title=E218 no-such-line::the code has no line 3%0Ahelp: its lines are 1 to 2"
    )


def test_sarif_names_its_rules(beside_broken: None, capsys: pytest.CaptureFixture[str]) -> None:
    main(["author", "lint", "broken-pack", "--format", "sarif"])
    data = json.loads(capsys.readouterr().out)
    run = data["runs"][0]
    assert data["version"] == "2.1.0"
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1
    assert all(rule["shortDescription"]["text"] for rule in rules)


def test_so_many_at_most(beside_broken: None, capsys: pytest.CaptureFixture[str]) -> None:
    main(["author", "lint", "broken-pack", "--max", "3"])
    out = capsys.readouterr().out
    assert out.count("broken-pack/") == 3
    total = len(lint([Path("broken-pack")]).faults)
    assert f"… and {total - 3} more: --max {total} shows all" in out


def test_warnings_count_only_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = LESSON.replace("hints: [One., Two.]", "hints: [One.]")
    write_pack(tmp_path, {"a.b": steps})
    assert main(["author", "lint", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert "W701 single-hint" in captured.out
    assert captured.err == "1 lesson: 1 warning\n"
    assert main(["author", "lint", str(tmp_path), "--strict"]) == 1


def test_a_sound_pack_has_no_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pack(tmp_path, {"a.b": LESSON})
    assert main(["author", "lint", str(tmp_path), "--strict"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "1 lesson: no faults\n")


@pytest.mark.parametrize(
    ("path", "told"),
    [("nowhere", "There is no file or folder nowhere."), (".", "there is no pack.yaml")],
)
def test_what_is_no_pack_is_a_wrong_call(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["author", "lint", path]) == 2
    assert told in capsys.readouterr().err


def test_explain_shows_the_page_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("E204", "e204", "unknown-key"):
        assert main(["author", "lint", "--explain", word]) == 0
        assert capsys.readouterr().out == page("E204").rstrip() + "\n"
    assert main(["author", "lint", "--explain", "unknwon-key"]) == 2
    assert "unknown-key" in capsys.readouterr().err


def test_forty_lessons_cost_little_more_than_reading_them(tmp_path: Path) -> None:
    """Looking for faults costs less than reading the files and making the lessons of them."""
    from tutor.lesson import load_lesson

    source = (ROOT / "lessons/inplace/version-counter.yaml").read_text(encoding="utf-8")
    names = [f"inplace.copy-{number}" for number in range(40)]
    write_pack(
        tmp_path,
        {n: source.replace("id: inplace.version-counter", f"id: {n}", 1) for n in names},
        concepts=["version-counter", "saved-output", "inplace-op", "saved-tensor"],
    )

    def load() -> None:
        for name in names:
            path = tmp_path / f"{name.replace('.', '/')}.yaml"
            assert load_lesson(path, name, "x")[0] is not None

    def quickest(work) -> float:  # type: ignore[no-untyped-def]
        times = []
        for _ in range(3):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
        return min(times)

    assert quickest(lambda: lint([tmp_path])) < 2.5 * quickest(load)


def test_lint_loads_neither_torch_nor_textual() -> None:
    program = (
        "import sys; from tutor.cli import main; main(['author', 'lint', 'lessons'])\n"
        "print(sorted({'torch', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]", done
