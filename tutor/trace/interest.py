"""What makes a moment of a long run worth keeping: it is not like all the others."""

from __future__ import annotations

from collections import Counter

from tutor.trace import events as ev
from tutor.trace.events import AnyEvent, Value

_SORTS = 4096
"""Sorts of moments told apart at most; a program with more of them does new things all the time."""


class Interest:
    """Looks at the events of a run, and says which are worth keeping for themselves."""

    def __init__(self) -> None:
        self._kept: Counter[object] = Counter()

    def look(self, event: AnyEvent, line: int) -> bool:
        """Whether an event, told while this line ran, is worth keeping."""
        match event:
            case ev.Contents(value=value):
                return bool(value.nonfinite) and self._few(("value", line), 1)
            case ev.Visit(grads=grads):
                return any(map(_bad, grads)) and self._few(("gradient", line), 2)
            case ev.Op(error=error):
                return error is not None and self._few(("call", line), 2)
            case ev.BackwardEnd(ok=ok):
                return not ok and self._few(("pass", line), 2)
            case ev.Altered() | ev.Warned():
                return self._few((type(event), line), 2)
            case _:
                return False

    def _few(self, sort: object, most: int) -> bool:
        """Whether less than `most` of this sort were kept; it is one more then."""
        if self._kept[sort] >= most or len(self._kept) > _SORTS:
            return False
        self._kept[sort] += 1
        return True


def _bad(value: Value | None) -> bool:
    return value is not None and value.nonfinite > 0
