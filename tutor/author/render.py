"""Faults for people, for editors and for the services that show them beside a change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from tutor.lesson import Fault

Format = Literal["text", "json", "github", "sarif"]
FORMATS: tuple[Format, ...] = ("text", "json", "github", "sarif")

AT_MOST = 50
"""Faults that a person is shown at once."""


def rendered(faults: Sequence[Fault], format: Format, most: int | None = None) -> str:
    """All faults in one format, or the first `most` (`AT_MOST` of them as text)."""
    if format == "text":
        most = AT_MOST if most is None else most
    shown = faults if most is None else faults[:most]
    if format == "json":
        return json.dumps([_plain(fault) for fault in shown], indent=2, ensure_ascii=False)
    if format == "github":
        return "\n".join(map(_command, shown))
    if format == "sarif":
        return json.dumps(_sarif(shown), indent=2, ensure_ascii=False)
    parts = [fault.shown() for fault in shown]
    if len(shown) < len(faults):
        parts.append(f"… and {len(faults) - len(shown)} more: --max {len(faults)} shows all")
    return "\n".join(parts)


def counted(faults: Sequence[Fault], lessons: int) -> str:
    """What was found, in one line."""
    errors = sum(fault.severity == "error" for fault in faults)
    warnings = len(faults) - errors
    told = [_number(errors, "fault")] if errors else []
    told += [_number(warnings, "warning")] if warnings else []
    return f"{_number(lessons, 'lesson')}: {' and '.join(told) or 'no faults'}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _plain(fault: Fault) -> dict[str, Any]:
    return {
        "path": fault.path,
        "line": fault.line,
        "column": fault.column,
        "end_column": fault.column + fault.width,
        "code": fault.code,
        "rule": fault.rule,
        "severity": fault.severity,
        "message": fault.message,
        "help": fault.help,
    }


def _command(fault: Fault) -> str:
    """One line that a workflow run on GitHub turns into a remark beside the line."""
    properties = {
        "file": fault.path,
        "line": fault.line,
        "endLine": fault.line,
        "col": fault.column,
        "endColumn": fault.column + fault.width,
        "title": f"{fault.code} {fault.rule}",
    }
    told = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    message = f"{fault.message}\nhelp: {fault.help}" if fault.help else fault.message
    return f"::{fault.severity} {told}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _sarif(faults: Sequence[Fault]) -> dict[str, Any]:
    """The Static Analysis Results Interchange Format, version 2.1.0."""
    from tutor import __version__
    from tutor.author.rulebook import summary

    rules = dict.fromkeys((fault.code, fault.rule) for fault in faults)
    codes = [code for code, _ in rules]
    driver = {
        "name": "autograd-tutor author lint",
        "version": __version__,
        "rules": [
            {"id": code, "name": name, "shortDescription": {"text": summary(code)}}
            for code, name in rules
        ],
    }
    results = [
        {
            "ruleId": fault.code,
            "ruleIndex": codes.index(fault.code),
            "level": fault.severity,
            "message": {
                "text": f"{fault.message}. {fault.help}".strip() if fault.help else fault.message
            },
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": fault.path},
                        "region": {
                            "startLine": fault.line,
                            "startColumn": fault.column,
                            "endColumn": fault.column + fault.width,
                        },
                    }
                }
            ],
        }
        for fault in faults
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
