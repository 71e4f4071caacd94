"""Run, explain, run the proposed fixes again: findings that are proved, with their lessons."""

from tutor.diagnose.diagnosis import Diagnosis
from tutor.diagnose.repeat import may_repeat
from tutor.diagnose.run import diagnose, diagnose_async, explained, verified, verified_async

__all__ = [
    "Diagnosis",
    "diagnose",
    "diagnose_async",
    "explained",
    "may_repeat",
    "verified",
    "verified_async",
]
