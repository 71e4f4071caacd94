"""The version timeline: a row a counter, its writes in order, and where saves sit on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tutor.report.escape import escaped
from tutor.report.html.code import Listing
from tutor.report.html.markup import time
from tutor.report.html.reel import Reel, freed_moments
from tutor.report.values import main_file, place_text, tensor_name
from tutor.trace.events import NONE, Save
from tutor.trace.state import CounterState, NodeState, Place, State, TensorState
from tutor.trace.trace import Trace

COUNTERS = 40
"""Counters shown: those that moved first, then those that a node saved."""

ENDS = 6
"""Versions shown at each end of a row."""

SAVES = 4
"""Saves shown at one version."""


@dataclass(frozen=True, slots=True)
class Held:
    """A save of a node, and when it was broken or freed: stops, None for never."""

    node: NodeState
    save: Save
    since: int
    broken: int | None
    freed: int | None
    asked: bool
    """Whether a backward failed because of it."""


def timeline(trace: Trace, states: Iterable[State], reel: Reel, code: Listing) -> str:
    """The rows of the counters that moved or that something was saved from.

    `states` are further moments at which nodes are known that the end has forgotten.
    """
    nodes: dict[int, NodeState] = {}
    for state in (*states, trace.last):
        nodes.update(state.nodes)
    held = _held(trace, nodes, reel)
    sharers = _sharers(trace.last)
    counters = [c for c in trace.last.counters.values()
                if c.counter in held or _moves(c) or c.missed]  # fmt: skip
    counters = [c for c in counters if _told(c, sharers, held)]
    counters.sort(key=lambda c: (not _moves(c), _birth(sharers.get(c.counter, ()))))
    rows = [
        _counter(trace, counter, sharers.get(counter.counter, ()), held, reel, code)
        for counter in counters[:COUNTERS]
    ]
    if len(counters) > COUNTERS:
        rows.append(f'<li class="dim">… {len(counters) - COUNTERS} more counters</li>')
    return f'<ul class="counters">{"".join(rows)}</ul>' if rows else ""


def _moves(counter: CounterState) -> bool:
    return any(write.before != write.after for write in counter.writes)


def _told(
    counter: CounterState,
    sharers: Mapping[int, Sequence[TensorState]],
    held: Mapping[int, list[Held]],
) -> bool:
    """Temporaries without a name that only moved are of no interest."""
    named = any(t.names or t.meta.label for t in sharers.get(counter.counter, ()))
    return named or any(h.broken is not None for h in held.get(counter.counter, ()))


def _sharers(state: State) -> dict[int, tuple[TensorState, ...]]:
    table: dict[int, list[TensorState]] = {}
    for tensor in state.tensors.values():
        table.setdefault(tensor.meta.counter, []).append(tensor)
    return {key: tuple(sorted(found, key=lambda t: t.moment)) for key, found in table.items()}


def _birth(shared: Sequence[TensorState]) -> int:
    return shared[0].moment if shared else 0


def _held(trace: Trace, nodes: Mapping[int, NodeState], reel: Reel) -> dict[int, list[Held]]:
    freed = freed_moments(trace)
    asked = {(run.stale[0], run.stale[1]) for run in trace.passes if run.stale is not None}
    counters = trace.last.counters
    table: dict[int, list[Held]] = {}
    for node in sorted(nodes.values(), key=lambda n: (n.moment, n.event.node)):
        seen: set[tuple[int, int]] = set()
        for save in node.saves:
            key = (save.counter, save.version)
            if save.counter == NONE or save.role in ("constant", "internal", "copy") or key in seen:
                continue
            seen.add(key)
            counter = counters.get(save.counter)
            moved = next(
                (w.moment for w in (counter.writes if counter else ()) if w.after > save.version),
                None,
            )
            gone = freed.get(node.event.node)
            table.setdefault(save.counter, []).append(
                Held(
                    node,
                    save,
                    reel.after(node.moment),
                    reel.after(moved) if moved is not None else None,
                    reel.after(gone) if gone is not None else None,
                    (node.event.node, save.name) in asked,
                )
            )
    return table


def _counter(
    trace: Trace,
    counter: CounterState,
    shared: Sequence[TensorState],
    held: Mapping[int, list[Held]],
    reel: Reel,
    code: Listing,
) -> str:
    names = list(dict.fromkeys(n for t in shared if (n := tensor_name(t))))
    title = ", ".join(names[:5]) or "a tensor without a name"
    writes = [w for w in counter.writes if w.before != w.after]
    by_version: dict[int, list[Held]] = {}
    for one in held.get(counter.counter, ()):
        by_version.setdefault(one.save.version, []).append(one)
    first = writes[0].before if writes else counter.version
    born = shared[0] if shared else None
    place = born.born[-1] if born is not None and born.born else None
    since = reel.after(born.moment) if born is not None else 0
    cells: list[str] = []
    if counter.missed:
        cells.append(f'<li class="dim">{counter.missed} earlier writes are not kept</li>')
    else:
        cells.append(
            _version(trace, first, place, "", since, by_version.pop(first, []), reel, code)
        )
    skipped = 0
    for index, write in enumerate(writes):
        asked = any(one.asked for one in by_version.get(write.after, ()))
        if ENDS <= index < len(writes) - ENDS and not asked:
            skipped += 1
            continue
        if skipped:
            cells.append(f'<li class="dim">… {skipped} more writes</li>')
            skipped = 0
        op = trace.op(write.op)
        what = op.func.rpartition(".")[2].strip("_") if op is not None else "written"
        at = write.site[-1] if write.site else None
        since = reel.after(write.moment)
        kept = by_version.get(write.after, [])
        cells.append(_version(trace, write.after, at, what, since, kept, reel, code))
    moves = f"{counter.version} move{'' if counter.version == 1 else 's'}"
    return (
        f'<li><p><span class="name">{escaped(title)}</span> '
        f'<span class="dim">at the end v{counter.version}, {moves}</span></p>'
        f'<ol class="versions">{"".join(cells)}</ol></li>'
    )


def _version(
    trace: Trace,
    version: int,
    place: Place | None,
    what: str,
    since: int,
    held: Sequence[Held],
    reel: Reel,
    code: Listing,
) -> str:
    where = _link(trace, place, code)
    saves = "".join(_save(trace, one, reel) for one in held[:SAVES])
    if len(held) > SAVES:
        saves += f'<li class="dim">… {len(held) - SAVES} more saves</li>'
    kept = f'<ul class="saves">{saves}</ul>' if saves else ""
    call = f' <span class="op">{escaped(what)}</span>' if what else ""
    return f"<li{time(since, None, reel.last)}><b>v{version}</b>{call} {where}{kept}</li>"


def _save(trace: Trace, one: Held, reel: Reel) -> str:
    """A save, told anew when it is broken and when it is freed."""
    name = one.node.name.rsplit("::", 1)[-1].removesuffix("0").removesuffix("Backward")
    place = one.node.site[-1] if one.node.site else None
    where = f" {place_text(place, main_file(trace))}" if place is not None else ""
    what = escaped(f"kept by {name}{where}")
    asked = " ◀ backward asked for this" if one.asked else ""
    times = [(one.since, "good", f"✓ {what}")]
    if one.broken is not None:
        times.append(
            (max(one.broken, one.since), "bad", f"✗ {what}, no longer this version{asked}")
        )
    if one.freed is not None and (one.broken is None or not one.asked):
        times.append((max(one.freed, times[-1][0]), "dim", f"✂ {what}, freed"))
    parts = []
    for index, (since, style, text) in enumerate(times):
        until = times[index + 1][0] if index + 1 < len(times) else None
        if until is None or until > since:
            parts.append(f"<span{time(since, until, reel.last, style)}>{text}</span>")
    return f"<li>{''.join(parts)}</li>"


def _link(trace: Trace, place: Place | None, code: Listing) -> str:
    if place is None:
        return ""
    text = escaped(place_text(place, main_file(trace)))
    row = code.row(place.file, place.line)
    return f'<a href="#{row}">{text}</a>' if row else text
