"""The checks: what each asks of a run, and how it decides in three values.

A check holds, fails, or cannot be decided. One module a family; each check says in words what
it wants, and every outcome says what was wanted and what was found.
"""

from tutor.lesson.checks.body import Body, Numeric
from tutor.lesson.checks.check import Check
from tutor.lesson.checks.evidence import Evidence, Outcome, Status, every, question

__all__ = ["Body", "Check", "Evidence", "Numeric", "Outcome", "Status", "every", "question"]
