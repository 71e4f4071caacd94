"""Counts the tensors that still live, so that a long run stays small here and where it is read.

Tensors take no weak reference (`swap_tensors` refuses one that has any), so nothing tells of the
death of one. But a dead one's place is soon taken: whoever has no record any more is gone.
"""

from __future__ import annotations

from tutor.observe.graph import Graph
from tutor.observe.log import Log
from tutor.observe.tensors import Tensors
from tutor.trace import events as ev

EVERY = 4096
"""Tensors that are born between two counts, or as many as live, if that is more."""

MARGIN = 64
"""The youngest are left out: another thread may just be making their records."""


class Census:
    """Tells of tensors that died, and forgets what was noted of them."""

    def __init__(self, log: Log, tensors: Tensors, graph: Graph) -> None:
        self._log = log
        self._tensors = tensors
        self._graph = graph
        self._living: set[int] = set()
        self._counted = 0

    def count(self) -> None:
        """Count, if it is time."""
        tensors = self._tensors
        until = tensors.next - MARGIN
        if until - self._counted < max(EVERY, len(tensors.records)):
            return
        records = list(tensors.records.values())
        living = {record.uid for record in records if record.uid < until}
        born = range(self._counted, until)
        gone = [uid for uid in (*self._living, *born) if uid not in living]
        self._living, self._counted = living, until
        counters = {record.counter for record in records}
        for table in (tensors.versions, tensors.grads):
            kept = counters if table is tensors.versions else living
            for number in [n for n in list(table) if n < until and n not in kept]:
                table.pop(number, None)
        self._graph.relied_on -= {
            counter for counter in list(self._graph.relied_on) if counter not in counters
        }
        if gone:
            self._log.add(ev.Dead((), tuple(gone)))
