"""The report for programs: one object, its shape fixed by the contract in the design."""

from __future__ import annotations

from typing import Any

from tutor.explain import Finding, FindingPlace, Fix, words
from tutor.report.subject import Diagnosed
from tutor.trace import Trace

FORMAT = 1


def render(diagnosis: Diagnosed) -> dict[str, Any]:
    """The object, made of what JSON knows. Works for a run that is not over too."""
    trace = diagnosis.trace
    end = trace.end
    return {
        "format": FORMAT,
        "outcome": end.outcome if end is not None else "cancelled",
        "exit": {
            "code": end.code if end is not None else None,
            "signal": end.signal if end is not None else None,
        },
        "torch": trace.start.torch if trace.start is not None else None,
        "error": _error(trace),
        "findings": [_finding(one) for one in diagnosis.findings],
        "output": end.output if end is not None else trace.last.text,
        "truncated": {
            "events": trace.truncated_events,
            "output": end.lost if end is not None else 0,
            "values": trace.truncated_values,
        },
        "seconds": round(end.seconds, 3) if end is not None else 0.0,
    }


def _error(trace: Trace) -> dict[str, Any] | None:
    raised = trace.raised
    if raised is None:
        return None
    frames = [
        {"file": file, "line": line, "function": function} for file, line, function in raised.frames
    ]
    last = frames[-1] if frames else {"file": None, "line": None}
    return {
        "type": raised.kind,
        "message": raised.message,
        "file": last["file"],
        "line": last["line"],
        "frames": frames,
    }


def _finding(one: Finding) -> dict[str, Any]:
    said = words(one)
    return {
        "kind": one.kind,
        "severity": one.severity,
        "title": said.title,
        "explanation": said.explanation,
        "facts": {
            name: list(fact) if isinstance(fact, tuple) else fact
            for name, fact in one.facts.items()
        },
        "places": [_place(place) for place in one.places],
        "fixes": [_fix(fix) for fix in one.fixes],
        "lesson": one.lesson,
    }


def _place(place: FindingPlace) -> dict[str, Any]:
    return {
        "role": place.role,
        "file": place.file,
        "line": place.line,
        "function": place.function,
        "iteration": list(place.iteration),
        "stack": [
            {
                "file": spot.file,
                "line": spot.line,
                "function": spot.function,
                "iteration": list(spot.iteration),
            }
            for spot in place.stack
        ],
        "text": place.text,
        "note": place.note,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "edits": [
            {"file": edit.file, "line": edit.line, "end_line": edit.end_line, "new": edit.new}
            for edit in fix.edits
        ],
        "verified": fix.verified,
        "how": fix.how,
    }
