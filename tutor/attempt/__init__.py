"""One step and one code become a verdict: the only place where a learner's try is decided."""

from tutor.attempt.verdict import (
    Answer,
    Attempt,
    CheckResult,
    ChoiceResult,
    QuestionResult,
    Verdict,
)

__all__ = ["Answer", "Attempt", "CheckResult", "ChoiceResult", "QuestionResult", "Verdict"]
