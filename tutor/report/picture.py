"""What a drawing of one graph shows: boxes with rows of text, each row with its time.

The boxes are those of the graph as the pass found it; the rows follow the stops of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tutor.explain.graphs import Box, Folded, folded
from tutor.report.boxes import ROOM, clip, heading, leaf_groups, span
from tutor.report.film import Film, Line, Piece, Slot, always
from tutor.report.values import (
    grad_text,
    main_file,
    place_text,
    save_words,
    shape_text,
    tensor_name,
    value_text,
)
from tutor.trace import events as ev
from tutor.trace.events import NONE, Save
from tutor.trace.state import NodeState, PassState, State
from tutor.trace.trace import Trace

Kind = Literal["node", "module", "repeat", "rest", "leaf", "leaves"]

SAVES = 5
"""Saves of one node that have a row."""

PARAMETERS = 4
"""Parameters of a folded module that have a row."""

COUNTED = 64
"""Nodes of a folded box up to which its saves are counted at every stop."""

STALE = 12
"""Nodes with a broken save that are never folded away."""

_SIGNS = {"live": "✓", "stale": "✗", "freed": "✂", "packed": "?"}
_STYLES = {"live": "good", "stale": "bad", "freed": "dim", "packed": "dim"}


@dataclass(frozen=True, slots=True)
class Shape:
    """A box: its rows from top to bottom, and the stop from which it is there.

    `tip` is all that is known of it in words, `place` the (file, line) that made it.
    """

    kind: Kind
    rows: tuple[Slot, ...]
    since: int = 0
    tip: str = ""
    place: tuple[str, int] | None = None
    bad: bool = False
    """Where the backward pass failed."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One graph: boxes, edges (from, to) as the gradient flows, and what it is."""

    title: str
    shapes: tuple[Shape, ...]
    edges: tuple[tuple[int, int], ...]
    nodes: int
    """Nodes of the graph itself, which may be many more than boxes."""


def shown_pass(trace: Trace) -> PassState | None:
    """The pass a picture is of: the last one that failed, else the last that is not nested."""
    passes = [run for run in trace.passes if any(node != NONE for _, node in run.event.roots)]
    failed = [run for run in passes if run.ended and not run.ok]
    plain = [run for run in passes if not run.event.nested]
    chosen = failed or plain or passes
    return chosen[-1] if chosen else None


def picture(
    trace: Trace, run: PassState | None, states: Sequence[State], first: int = 0
) -> Picture | None:
    """The graph of a pass (None: the graphs alive at the end) in these states; None if empty.

    The states are those of the stops, in order; `first` is the number of the first one. Rows
    count from it.
    """
    moment = _walked(trace, run) if run is not None else len(trace)
    state = trace.at(moment)
    if run is not None:
        roots = [node for _, node in run.event.roots if node in state.nodes]
    else:
        roots = list(state.roots())
    if not roots:
        return None
    kept = _kept(state, roots, run)
    graph = folded(trace, state, roots, kept)
    return _Drawing(trace, state, moment, run, graph, tuple(states), first).picture()


def _walked(trace: Trace, run: PassState) -> int:
    """The moment at which all nodes of a pass are known and none has been freed by it."""
    for index, event in trace.numbered(run.moment):
        if isinstance(event, ev.Visit | ev.BackwardEnd) and event.run == run.run:
            return index
    return len(trace)


def _kept(state: State, roots: Sequence[int], run: PassState | None) -> set[int]:
    """The nodes that a picture must show by themselves."""
    kept = set(roots[:STALE])
    if run is not None:
        kept |= {run.failing} | {node for node, _, _ in run.altered[:STALE]}
        if run.stale is not None:
            kept.add(run.stale[0])
    broken = 0
    for root in roots:
        for node in state.walk(root):
            if any(state.save_state(node, save) == "stale" for save in node.saves):
                kept.add(node.event.node)
                broken += 1
            if broken >= STALE:
                return kept
    return kept


@dataclass(slots=True)
class _Drawing:
    trace: Trace
    state: State
    moment: int
    run: PassState | None
    graph: Folded
    states: tuple[State, ...]
    first: int
    made: dict[int, str] = field(default_factory=dict)
    """The name of the tensor that each node made."""

    def picture(self) -> Picture:
        film = Film()
        shared, apart = leaf_groups(self.graph)
        for tensor in self.state.tensors.values():
            if tensor.meta.node != NONE and tensor.names:
                self.made.setdefault(tensor.meta.node, tensor_name(tensor, self.moment))
        telling = self._telling_stops()
        for stop, now in enumerate(self.states, self.first):
            for index, box in enumerate(self.graph.boxes):
                if self._since(box) >= now.moment:
                    continue
                if len(box.nodes) <= COUNTED or stop in telling:
                    self._film_box(film, stop, now, index, box)
            for leaf in apart:
                self._film_leaf(film, stop, now, leaf.node)
            for number, group in enumerate(shared):
                self._film_leaves(film, stop, now, ("leaves", number), [x.node for x in group])
        shapes = [self._box(film, i, box) for i, box in enumerate(self.graph.boxes)]
        edges = list(self.graph.edges)
        for leaf in apart:
            edges += [(user, len(shapes)) for user in leaf.users]
            shapes.append(self._leaf(film, leaf.node))
        for number, group in enumerate(shared):
            edges += [(user, len(shapes)) for user in group[0].users]
            shapes.append(self._leaves(film, number, [x.node for x in group]))
        return Picture(self._title(), tuple(shapes), tuple(edges), self.graph.count)

    def _telling_stops(self) -> set[int]:
        """The stops at which large boxes are looked at: begin and end of the pass, and the end."""
        moments = [self.moment, len(self.trace) - 1]
        if self.run is not None and self.run.end_moment != NONE:
            moments.append(self.run.end_moment)
        return {min(self._stop_after(m), self.first + len(self.states) - 1) for m in moments}

    def _stop_after(self, moment: int) -> int:
        """The first stop at which what happened at a moment is seen."""
        found = (i for i, now in enumerate(self.states, self.first) if now.moment > moment)
        return next(found, self.first + len(self.states))

    def _title(self) -> str:
        if self.run is None:
            return "The graph that is alive at the end; no backward went through it"
        place = self.run.site[-1] if self.run.site else None
        what = "autograd.grad" if self.run.event.kind == "grad" else "backward"
        where = f" on {place_text(place, main_file(self.trace))}" if place else ""
        end = ", which failed" if self.run.ended and not self.run.ok else ""
        return f"The graph that the {what}{where} went through{end}"

    def _since(self, box: Box) -> int:
        return min(self.state.nodes[number].moment for number in box.nodes[:1])

    # -- what is said at one stop ----------------------------------------------------------

    def _film_box(self, film: Film, stop: int, now: State, index: int, box: Box) -> None:
        if box.kind == "node":
            node = self.state.nodes[box.nodes[0]]
            film.say((index, "grad"), stop, self._gradient(now, box.nodes[0]))
            for save in _telling(node)[:SAVES]:
                film.say((index, save.name), stop, self._save(now, node, save))
            if self._failing(now) == box.nodes[0]:
                film.say((index, "stop"), stop, (Piece("the backward stopped here", "bad"),))
            return
        film.say((index, "saves"), stop, self._saves(now, box))
        if box.kind == "module" and len(box.leaves) <= PARAMETERS:
            for leaf in box.leaves:
                film.say((index, leaf), stop, self._parameter(now, leaf))
        elif box.leaves:
            self._film_leaves(film, stop, now, (index, "leaves"), box.leaves)

    def _film_leaf(self, film: Film, stop: int, now: State, leaf: int) -> None:
        uid = self.state.nodes[leaf].event.leaf
        tensor = now.tensors.get(uid)
        if tensor is None:
            return
        film.say(("leaf", leaf), stop, _grad_line(grad_text(tensor, ROOM - 6)))

    def _film_leaves(
        self, film: Film, stop: int, now: State, key: tuple[object, ...], leaves: Sequence[int]
    ) -> None:
        having = 0
        for leaf in leaves:
            tensor = now.tensors.get(self.state.nodes[leaf].event.leaf)
            having += tensor is not None and tensor.grad != NONE
        words = {0: ".grad None", len(leaves): ".grad in all"}.get(having, f".grad in {having}")
        film.say(key, stop, (Piece(words, "code" if having else "dim"),))

    def _gradient(self, now: State, number: int) -> Line:
        current = now.passes.get(self.run.run) if self.run is not None else None
        grads = current.arrived.get(number) if current is not None else None
        if grads is None:
            return ()
        texts = [value_text(grad, ROOM - 6) or "none" for grad in grads]
        if all(grad is None for grad in grads):  # undefined, or not looked at to save time
            return ()
        return (Piece("grad ", "dim"), Piece(clip(", ".join(texts), ROOM - 5), "code"))

    def _failing(self, now: State) -> int:
        current = now.passes.get(self.run.run) if self.run is not None else None
        return current.failing if current is not None and current.ended else NONE

    def _how(self, now: State, node: NodeState, save: Save) -> str:
        known = now.nodes.get(node.event.node)
        if known is None:  # it died so long ago that it is no longer kept
            return "freed"
        how = now.save_state(known, save)
        return "stale" if how == "live" and self._altered(now, known, save) else how

    def _altered(self, now: State, node: NodeState, save: Save) -> bool:
        current = now.passes.get(self.run.run) if self.run is not None else None
        entries = current.altered if current is not None else ()
        return any((n, name) == (node.event.node, save.name) for n, name, _ in entries)

    def _save(self, now: State, node: NodeState, save: Save) -> Line:
        how = self._how(now, node, save)
        words = save_words(self.state, save, self.moment)
        counted = save.counter != NONE and save.role != "constant"
        version = f" v{save.version}" if counted else ""
        head = Piece(f"{_SIGNS[how]} ", _STYLES[how])
        if how == "freed":
            return (head, Piece(f"{save.name}: {words}{version} freed", "dim"))
        if how == "packed":
            return (head, Piece(f"{save.name}: packed by a hook", "dim"))
        said = (Piece(f"{save.name}: ", "dim"), Piece(words, "name"), Piece(version, "code"))
        if how == "live":
            return (head, *said)
        counter = now.counters.get(save.counter)
        found = counter.version if counter is not None else save.version
        if found == save.version:
            return (head, *said, Piece(", changed unseen", "bad"))
        return (head, *said, Piece(f", now v{found}", "bad"))

    def _saves(self, now: State, box: Box) -> Line:
        """How many saves of a folded box are kept, broken and freed."""
        counts = dict.fromkeys(_SIGNS, 0)
        for number in box.nodes:
            node = self.state.nodes[number]
            for save in _telling(node):
                counts[self._how(now, node, save)] += 1
        words = {"live": "kept", "stale": "changed since", "freed": "freed", "packed": "packed"}
        line: list[Piece] = []
        for how, count in counts.items():
            if count:
                gap = "  " if line else ""
                line.append(Piece(f"{gap}{_SIGNS[how]} {count} {words[how]}", _STYLES[how]))
        return tuple(line)

    def _parameter(self, now: State, leaf: int) -> Line:
        uid = self.state.nodes[leaf].event.leaf
        tensor = now.tensors.get(uid)
        if tensor is None:
            return ()
        name = tensor_name(tensor, self.moment) or "a leaf"
        grad = grad_text(tensor, 20) or "None"
        return (
            Piece(clip(name.rsplit(".", 1)[-1], 14), "name"),
            Piece(f" {shape_text(tensor.meta.shape)} .grad ", "dim"),
            Piece(grad, "dim" if grad == "None" else "code"),
        )

    # -- boxes -------------------------------------------------------------------------------

    def _box(self, film: Film, index: int, box: Box) -> Shape:
        nodes = [self.state.nodes[number] for number in box.nodes]
        main = main_file(self.trace)
        place = nodes[0].site[-1] if nodes[0].site else None
        rows: list[Slot] = []
        if box.kind == "node":
            made = self.made.get(box.nodes[0], "")
            head = [Piece(clip(box.title, ROOM - 12), "strong")]
            if made:
                head += [Piece(" = ", "dim"), Piece(clip(made, 16), "name")]
            if place is not None:
                head.append(Piece(f"  {place_text(place, main)}", "dim"))
            rows.append(always(*head))
            rows += [film.slot((index, "grad"))]
            saves = _telling(nodes[0])
            rows += [film.slot((index, save.name)) for save in saves[:SAVES]]
            if len(saves) > SAVES:
                rows.append(always(Piece(f"… {len(saves) - SAVES} more saved", "dim")))
            rows.append(film.slot((index, "stop")))
        else:
            rows += [always(*line) for line in heading(box)]
            rows.append(always(Piece(span(nodes, main), "dim")))
            rows.append(film.slot((index, "saves")))
            rows += [film.slot((index, leaf)) for leaf in box.leaves]
            rows += self._with_count(film.slot((index, "leaves")), len(box.leaves))
        return Shape(
            box.kind,
            tuple(row for row in rows if row),
            self._stop_after(self._since(box)),
            self._tip(box, nodes),
            (place.file, place.line) if place is not None else None,
            self._failing(self.trace.last) in box.nodes,
        )

    def _with_count(self, slot: Slot, count: int) -> list[Slot]:
        return [always(Piece(f"{count} parameters", "name")), slot] if slot else []

    def _tip(self, box: Box, nodes: Sequence[NodeState]) -> str:
        main = main_file(self.trace)
        words = [box.title if box.times == 1 else f"{box.title}, {box.times} times"]
        site = nodes[0].site
        if site:
            words.append(
                "made on " + ", called from ".join(place_text(p, main) for p in reversed(site[-4:]))
            )
        return ", ".join(words)

    def _leaf(self, film: Film, leaf: int) -> Shape:
        uid = self.state.nodes[leaf].event.leaf
        tensor = self.state.tensors.get(uid)
        name = tensor_name(tensor, self.moment) or "a leaf without a name"
        head = [Piece(clip(name, ROOM - 14), "name")]
        place = None
        if tensor is not None:
            head.append(Piece(f"  leaf {shape_text(tensor.meta.shape)}", "dim"))
            spot = tensor.born[-1] if tensor.born else None
            place = (spot.file, spot.line) if spot is not None else None
        rows = (always(*head), film.slot(("leaf", leaf)))
        born = tensor.moment if tensor is not None else 0
        return Shape(
            "leaf",
            tuple(row for row in rows if row),
            self._stop_after(born),
            f"{name}, a leaf: its gradient comes to .grad",
            place,
        )

    def _leaves(self, film: Film, number: int, leaves: Sequence[int]) -> Shape:
        tensors = [self.state.tensors.get(self.state.nodes[n].event.leaf) for n in leaves]
        found = (tensor_name(tensor, self.moment) for tensor in tensors)
        names = sorted({name for name in found if name}, key=lambda name: (len(name), name))
        ends = names if len(names) < 3 else [names[0], "…", names[-1]]
        rows = (
            always(Piece(f"{len(leaves)} leaves", "strong")),
            always(Piece(clip(" ".join(ends) or "without names", ROOM), "name")),
            film.slot(("leaves", number)),
        )
        return Shape("leaves", tuple(row for row in rows if row), 0, ", ".join(names[:40]))


def _grad_line(text: str) -> Line:
    return (Piece(".grad ", "dim"), Piece(text or "None", "code" if text else "dim"))


def _telling(node: NodeState) -> list[Save]:
    return [save for save in node.saves if save.role != "internal" or save.packed]
