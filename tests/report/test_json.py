"""The object for programs has exactly the shape of the contract."""

from __future__ import annotations

import json
from typing import Any

from tests.report.test_text import LOOP
from tutor.diagnose import diagnose
from tutor.report import json as report
from tutor.run import Runner
from tutor.trace import snippet


def rendered(runner: Runner, code: str) -> dict[str, Any]:
    found = report.render(diagnose(snippet(code), runner, lessons=[]))
    told = json.loads(json.dumps(found))
    assert isinstance(told, dict)
    return told


def test_the_object_has_the_keys_of_the_contract(runner: Runner) -> None:
    told = rendered(runner, LOOP)
    assert list(told) == [
        "format",
        "outcome",
        "exit",
        "torch",
        "error",
        "findings",
        "output",
        "truncated",
        "seconds",
    ]
    assert (told["format"], told["outcome"]) == (1, "error")
    assert set(told["exit"]) == {"code", "signal"}
    assert told["torch"].startswith("2.")
    assert set(told["truncated"]) == {"events", "output", "values"}
    error = told["error"]
    assert (error["type"], error["line"]) == ("RuntimeError", 9)
    assert error["frames"] == [{"file": "snippet.py", "line": 9, "function": "<module>"}]
    (finding,) = told["findings"]
    assert list(finding) == [
        "kind",
        "severity",
        "title",
        "explanation",
        "facts",
        "places",
        "fixes",
        "lesson",
    ]
    facts = {name: finding["facts"][name] for name in ("found", "expected", "tensor", "op")}
    assert facts == {"found": 5, "expected": 4, "tensor": "b", "op": "MulBackward0"}
    cause = finding["places"][0]
    assert set(cause) == {
        "role",
        "file",
        "line",
        "function",
        "iteration",
        "stack",
        "text",
        "note",
    }
    assert (cause["role"], cause["line"], cause["iteration"]) == ("cause", 6, [5])
    assert cause["stack"][0] == {
        "file": "snippet.py",
        "line": 8,
        "function": "<module>",
        "iteration": [],
    }
    fix = finding["fixes"][0]
    assert fix["edits"] == [
        {"file": "snippet.py", "line": 6, "end_line": 6, "new": "        b = b * b"}
    ]
    assert fix["verified"] is True
    assert finding["lesson"] is None


def test_a_good_run_has_no_error(runner: Runner) -> None:
    told = rendered(runner, "print('hello')\n")
    assert (told["outcome"], told["error"], told["findings"]) == ("ok", None, [])
    assert told["output"] == "hello\n"
    assert told["exit"] == {"code": 0, "signal": None}
