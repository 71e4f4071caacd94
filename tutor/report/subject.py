"""What a report is made of, whoever made it."""

from __future__ import annotations

from typing import Protocol

from tutor.explain import Finding
from tutor.trace import Trace


class Diagnosed(Protocol):
    """A run and its findings, the root cause first."""

    @property
    def trace(self) -> Trace:
        """The run."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, with its fixes."""
