"""What a finding offers: its words, and the changes that can be made to the learner's code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tutor.explain.finding import Finding, Fix


class Words(Protocol):
    """The sentences of a finding."""

    @property
    def title(self) -> str: ...
    @property
    def explanation(self) -> str: ...


WordsOf = Callable[["Finding"], Words]


def usable_fixes(finding: Finding, main: str) -> tuple[Fix, ...]:
    """The fixes that change nothing but the learner's own code, and were not proved wrong."""
    return tuple(
        fix
        for fix in finding.fixes
        if fix.edits and fix.verified is not False and all(e.file == main for e in fix.edits)
    )


def offered(findings: tuple[Finding, ...], main: str, done: bool) -> tuple[Fix, ...]:
    """The fixes to offer: none once the step is done, since they would undo what was asked."""
    return () if done else all_fixes(findings, main)


def all_fixes(findings: tuple[Finding, ...], main: str) -> tuple[Fix, ...]:
    """The fixes in the order in which the pane numbers them."""
    return tuple(fix for finding in findings for fix in usable_fixes(finding, main))
