"""Scores `explain` on a folder of cases, as its README says: `python -m tests.score [FOLDER …]`.

For each NNN.py with a NNN.yaml: is the first finding of the right kind, on a culprit line,
surfaced and witnessed where it should be, and is the repaired program left alone? Of the cases
that end in an error it counts those whose first finding has a fix that was proved. Programs
without a yaml are healthy: they must get no error and no warning. With `-v` each miss is shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import yaml

from tutor.explain import Finding, findings
from tutor.trace import Program, Source, Trace

HERE = Path(__file__).parent

SAME = (
    {"inplace-saved", "optimizer-step-stale"},
    {"grad-none-nonleaf", "grad-none-disconnected"},
    {"data-bypass", "silent-inplace"},
    {"unregistered-module", "optimizer-misuse", "stale-optimizer"},
    {"hook-misuse", "overlapping-memory"},
    {"custom-function", "forward-mode"},
)
SAME_MESSAGE = {
    "no-grad-fn",
    "double-backward",
    "checkpoint",
    "inference-tensor",
    "grad-none-disconnected",
    "custom-function",
}
"""Count as the same where torch's message is "does not require grad"."""

NOTES_COUNT = {"zero-grad-op", "grad-accumulation", "graph-memory", "retain-grad"}

Run = Callable[[Program], Trace]
Prove = Callable[[Trace, list[Finding]], Sequence[Finding]]


@dataclass
class Result:
    """What one program got. A mark is None where nothing is asked."""

    name: str
    marks: dict[str, bool | None] = field(default_factory=dict)
    detail: str = ""
    proved: bool | None = None
    """Whether a fix of the first finding was run and proved; None where that is not asked."""

    @property
    def good(self) -> bool:
        return all(mark is not False for mark in self.marks.values())


Profile = Literal["script", "snippet"]


def program_of(path: Path, text: str | None = None, profile: Profile = "script") -> Program:
    """A program as `explain FILE` would run it; as a snippet it has one thread and a scratch."""
    source = Source(str(path), path.read_text(encoding="utf-8") if text is None else text)
    return Program((source,), profile=profile, cwd=str(path.parent), timeout=120.0)


def judged(found: list[Finding], kind: str) -> Finding | None:
    """The finding that is looked at: the first error or warning, else a note of that kind."""
    for one in found:
        if one.severity != "note":
            return one
    return next((one for one in found if one.kind == kind and kind in NOTES_COUNT), None)


def same_kind(got: str, wanted: str, message: str) -> bool:
    """Whether a kind counts as the wanted one."""
    if got == wanted or any({got, wanted} <= group for group in SAME):
        return True
    return "does not require grad" in message and {got, wanted} <= SAME_MESSAGE


def score_case(
    path: Path, run: Run, profile: Profile = "script", prove: Prove | None = None
) -> Result:
    """The marks of a program with a yaml, and of its repaired version."""
    case = yaml.safe_load(path.with_suffix(".yaml").read_text(encoding="utf-8"))
    trace = run(program_of(path, None, profile))
    found = findings(trace)
    first = judged(found, case["kind"])
    result = Result(path.stem)
    marks = result.marks
    marks["kind"] = first is not None and same_kind(
        first.kind, case["kind"], case.get("error_message") or ""
    )
    causes = {p.line for p in first.at("cause")} if first else set()
    surfaced = {p.line for p in first.at("surfaced")} if first else set()
    witness = {p.line for p in first.at("witness")} if first else set()
    culprits = {*case["culprit_lines"], *(case.get("culprit_run_lines") or ())}
    marks["cause"] = bool(causes & culprits) and len(causes) <= 3
    expected = case.get("error_frames") or case.get("surface_lines") or [case.get("error_line")]
    marks["surfaced"] = bool(surfaced & set(expected))
    wanted = case.get("witness_lines")
    marks["witness"] = bool(witness & set(wanted)) if wanted else None
    if prove is not None and case["outcome"] == "error":
        told = prove(trace, [first]) if first is not None else ()
        result.proved = any(fix.verified for one in told for fix in one.fixes)
    repaired = path.with_name(path.stem + "-fixed.py")
    fixed = run(program_of(repaired, case["fixed_code"], profile))
    false = [one for one in findings(fixed) if one.severity != "note"]
    marks["fixed"] = not false
    if not result.good:
        got = f"{first.kind} ({first.message})" if first else f"nothing, {trace.outcome}"
        result.detail = (
            f"want {case['kind']} cause {sorted(culprits)} witness {wanted or '-'} surfaced"
            f" {expected}; got {got} cause {sorted(causes)} witness {sorted(witness)} surfaced"
            f" {sorted(surfaced)}"
        )
        result.detail += "".join(f"; on the repaired program: {one.message}" for one in false)
    return result


def score_healthy(path: Path, run: Run, profile: Profile = "script") -> Result:
    """The mark of a healthy program: no error, no warning, and it ran to its end."""
    trace = run(program_of(path, None, profile))
    false = [one for one in findings(trace) if one.severity != "note"]
    result = Result(path.stem, {"healthy": not false and trace.outcome == "ok"})
    if not result.good:
        result.detail = f"{trace.outcome}; " + "; ".join(
            f"{one.message} at {[p.line for p in one.places]}" for one in false
        )
    return result


def score(folder: Path, run: Run, jobs: int = 2, prove: Prove | None = None) -> list[Result]:
    """The results of all programs of a folder."""

    def one(path: Path) -> Result:
        if path.with_suffix(".yaml").exists():
            return score_case(path, run, prove=prove)
        return score_healthy(path, run)

    paths = [p for p in sorted(folder.glob("*.py")) if p.stem not in ("check", "__init__")]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, paths))


def table(results: Sequence[Result], verbose: bool) -> str:
    """The misses, and how often each mark was right."""
    rows = []
    counts: dict[str, list[int]] = {}
    for result in results:
        for mark, right in result.marks.items():
            if right is not None:
                good, asked = counts.setdefault(mark, [0, 0])
                counts[mark] = [good + right, asked + 1]
        if not result.good:
            wrong = " ".join(mark for mark, right in result.marks.items() if right is False)
            rows.append(f"{result.name:44} {wrong}")
            if verbose:
                rows.append(f"      {result.detail}")
    rows += [f"{mark:10} {good:4} of {asked:4}" for mark, (good, asked) in counts.items()]
    proved = [result for result in results if result.proved is not None]
    if proved:
        good = sum(bool(result.proved) for result in proved)
        rows.append(f"{'proved fix':10} {good:4} of {len(proved):4} that end in an error")
        if verbose:
            rows += [f"      none for {one.name}" for one in proved if not one.proved]
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Score the folders (the cases and the healthy programs here by default)."""
    from tutor.diagnose import verified
    from tutor.run import Runner

    folders = [Path(a) for a in arguments if not a.startswith("-")]
    began = time.monotonic()
    runner = Runner()
    try:
        results = [
            result
            for folder in folders or [HERE / "cases", HERE / "healthy"]
            for result in score(
                folder, runner.run, prove=lambda trace, found: verified(trace, found, runner)
            )
        ]
    finally:
        runner.close()
    print(table(results, "-v" in arguments))
    print(f"{time.monotonic() - began:.1f} s")
    return 0 if all(result.good for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
