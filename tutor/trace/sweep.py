"""What a state lets go in a long run: what is dead and not referred to by what is kept.

A short run never comes here: nothing is dropped before there are `SWEEP` tensors, so a run of a
few thousand steps keeps all it ever had. The result depends on the state alone, so a fold that
is taken up again drops the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from immutables import Map
from msgspec.structs import replace

from tutor.trace.events import NONE
from tutor.trace.keep import HEAD_EVENTS
from tutor.trace.state import PassState, State, TensorState

SWEEP = 48 * 1024
"""Tensors held before the first sweep; each later one waits for twice what is left."""

RECENT_TENSORS = 24 * 1024
"""Of the dead tensors so many are kept, the latest: the last events speak of them."""

RECENT_PASSES = 4096
"""Of the passes that are over so many are kept, the latest."""

V = TypeVar("V")


def sweep(state: State) -> State:
    """The same state without dead tensors, counters and passes that nothing kept refers to."""
    held, counters, runs = _referred(state)
    tensors = state.tensors
    newest = max(tensors, default=0)
    kept: set[int] = set()
    for uid, tensor in tensors.items():
        early = tensor.moment < HEAD_EVENTS or uid > newest - RECENT_TENSORS
        if not tensor.dead or early or uid in held:
            kept.add(uid)
    _close(tensors, kept)
    counters.update(tensors[uid].meta.counter for uid in kept)
    latest = max(state.passes, default=0) - RECENT_PASSES
    return replace(
        state,
        tensors=_only(tensors, kept),
        counters=_only(state.counters, counters),
        passes=_only(
            state.passes,
            {
                n
                for n, run in state.passes.items()
                if n > latest or n in runs or _telling(run, kept)
            },
        ),
    )


def _referred(state: State) -> tuple[set[int], set[int], set[int]]:
    """(tensors, counters, passes) that names and living nodes refer to."""
    tensors: set[int] = set()
    counters: set[int] = set()
    runs: set[int] = set()
    for frame in state.frames.values():
        tensors.update(frame.names.values())
    for node in state.nodes.values():
        if node.dead:
            continue
        tensors.add(node.event.leaf)
        for save in node.saves:
            tensors.add(save.uid)
            counters.add(save.counter)
        if node.origin is not None:
            tensors.update(node.origin.event.args)
            tensors.update(node.origin.event.outs)
        runs.add(node.freed)
        runs.update(node.visited)
    return tensors, counters, runs


def _close(tensors: Map[int, TensorState], kept: set[int]) -> None:
    """Add what kept tensors refer to: bases and gradients, and for living ones what made them."""
    pending = list(kept)
    while pending:
        tensor = tensors[pending.pop()]
        near = [tensor.meta.base, tensor.grad]
        if not tensor.dead and tensor.origin is not None:
            near += tensor.origin.event.args
        for uid in near:
            if uid not in kept and uid in tensors:
                kept.add(uid)
                pending.append(uid)


def _telling(run: PassState, kept: set[int]) -> bool:
    """Whether a pass is worth keeping for itself."""
    return (
        run.moment < HEAD_EVENTS
        or not (run.ended and run.ok)
        or bool(run.altered)
        or run.stale is not None
        or any(uid in kept for uid in run.results if uid != NONE)
    )


def _only(old: Map[int, V], kept: Iterable[int]) -> Map[int, V]:
    """The entries with these keys; the old map where it has no others."""
    wanted = kept if isinstance(kept, set) else set(kept)
    gone = [key for key in old if key not in wanted]
    if len(gone) > len(old) // 2:
        return Map({key: value for key, value in old.items() if key in wanted})
    mutation = old.mutate()
    for key in gone:
        del mutation[key]
    return mutation.finish()
