"""What a step says and how far the learner has come with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tutor.app.model.answers import Arrangement, Picked
from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.rows import Role, Span, Spans

if TYPE_CHECKING:
    from tutor.attempt.verdict import Attempt
    from tutor.lesson.steps import AnyStep

Standing = Literal["new", "tried", "done", "skipped", "revised"]

NOUNS = {
    "read": "read",
    "run": "run and look",
    "predict": "predict",
    "choice": "choose",
    "fill": "fill in",
    "fix": "repair",
    "write": "write",
    "break": "break it",
    "order": "put in order",
}


@dataclass(frozen=True, slots=True)
class Work:
    """What the learner has made of one step.

    `edited` says that the code is no longer the one that `attempt` ran.
    """

    code: str = ""
    attempt: Attempt | None = None
    edited: bool = False
    hints: int = 0
    solution: bool = False
    standing: Standing = "new"
    picked: Picked = field(default_factory=dict)
    blanks: Mapping[str, str] = field(default_factory=dict)
    order: Arrangement | None = None


def hints_of(step: AnyStep, attempt: Attempt | None) -> tuple[str, ...]:
    """The hints in order: after a run, those that are still of use."""
    if attempt is not None and attempt.verdict.hints:
        return attempt.verdict.hints
    return tuple(hint.say for hint in step.hints)


def prose_of(step: AnyStep, work: Work, hints: Sequence[str]) -> str:
    """The step's text, then the hints asked for, the solution, and what is said once done.

    Each part follows the one before it, so that a longer text begins with the shorter.
    """
    parts = [step.text.strip()]
    for number, hint in enumerate(hints[: work.hints], 1):
        parts.append(f"**Hint {number} of {len(hints)}**  \n{hint.strip()}")
    if work.standing in ("done", "skipped") and step.after.strip():
        said = "Skipped." if work.standing == "skipped" else "Done."
        if work.attempt is not None and work.attempt.verdict.chosen_right is False:
            said = "The run says otherwise."
        parts.append(f"**{said}**  \n{step.after.strip()}")
    if work.solution and step.solution:
        solution = f"**A solution**\n\n```python\n{step.solution.rstrip()}\n```"
        others = "".join(f"\n\nor\n\n```python\n{code.rstrip()}\n```" for code in step.also)
        use = "\n\n`U` puts it into the code." if step.editable else ""
        parts.append(solution + others + use)
    return "\n\n".join(parts)


def dots(standings: Sequence[Standing], current: int, glyphs: Glyphs = UNICODE) -> Spans:
    """One sign a step: done, tried, skipped, still to do; the current one stands out."""
    signs = {
        "new": glyphs.todo,
        "tried": glyphs.half,
        "done": glyphs.done,
        "skipped": glyphs.passed_over,
        "revised": glyphs.half,
    }
    spans: list[Span] = []
    for index, standing in enumerate(standings):
        role: Role = "good" if standing == "done" else "dim"
        if index == current:
            role = "name"
        spans.append(Span(signs[standing], role))
    return tuple(spans)
