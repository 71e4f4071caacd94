"""One step and one code become a verdict: the only place where a learner's try is decided."""

from tutor.attempt.attempts import Attempts, Runs, code_of
from tutor.attempt.verdict import (
    Answer,
    Attempt,
    CheckResult,
    CheckStatus,
    ChoiceResult,
    QuestionResult,
    Status,
    Verdict,
)

__all__ = [
    "Answer",
    "Attempt",
    "Attempts",
    "CheckResult",
    "CheckStatus",
    "ChoiceResult",
    "QuestionResult",
    "Runs",
    "Status",
    "Verdict",
    "code_of",
]
