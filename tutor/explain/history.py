"""Questions about a whole run that several kinds ask: indexes over a trace, built once."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from tutor.explain import source
from tutor.explain.finding import FindingPlace, PlaceRole, Spot
from tutor.trace import NONE, Place, Site, State, Trace
from tutor.trace import events as ev
from tutor.trace.state import NodeState, OpState, PassState, TensorState, WriteState, walk

ACCUMULATE = "AccumulateGrad"

_CHAIN = re.compile(
    r"\n(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):\n"
)
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in (.+)')


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception that ended the run, and what was going on when it was raised.

    `run` is the backward pass that raised it, `op` the call that did; both None for an
    exception of ordinary Python code. `library` are the library frames below the user's line,
    outermost first, each (file, function). `handed_on` is where the program raised another one
    in its place (`raise … from error`).
    """

    kind: str
    message: str
    site: Site
    moment: int
    run: PassState | None = None
    op: OpState | None = None
    library: tuple[tuple[str, str], ...] = ()
    handed_on: Site = ()

    @property
    def said(self) -> str:
        """The first line of the message, without its last full stop; the type where it is empty."""
        lines = [line.strip() for line in self.message.strip().splitlines() if line.strip()]
        return lines[0].removesuffix(".") if lines else self.kind

    def inside(self, part: str) -> bool:
        """Whether the error came out of a library file whose path contains this."""
        return any(part in file.replace("\\", "/") for file, _ in self.library)


class History:
    """A trace with its indexes. Pure: it reads, and keeps what it has computed."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.last: State = trace.last
        self.ops: list[OpState] = trace.ops
        self.passes: tuple[PassState, ...] = trace.passes
        self.memo: dict[str, Any] = {}
        """What helpers of this run keep between two kinds."""

    @cached_property
    def nodes(self) -> Mapping[int, NodeState]:
        """The nodes known, by number: living ones, and dead ones whose birth is kept."""
        return self.trace.nodes

    @cached_property
    def tensors(self) -> Mapping[int, TensorState]:
        """The tensors known, by number, as they were last known."""
        return self.trace.tensors

    def walk(self, root: int) -> Iterator[NodeState]:
        """The nodes below a root in depth-first order, each once."""
        return walk(self.nodes, root)

    # -- tensors and the ops around them ------------------------------------------------

    @cached_property
    def makers(self) -> dict[int, list[OpState]]:
        """For each tensor, the calls that gave it as a result (in-place ones too), in order."""
        found: dict[int, list[OpState]] = defaultdict(list)
        for op in self.ops:
            for uid in dict.fromkeys(op.event.outs):
                found[uid].append(op)
        return found

    @cached_property
    def users(self) -> dict[int, list[OpState]]:
        """For each tensor, the calls that took it as an argument, in order."""
        found: dict[int, list[OpState]] = defaultdict(list)
        for op in self.ops:
            for uid in dict.fromkeys(op.event.args):
                found[uid].append(op)
        return found

    @cached_property
    def nodes_of_op(self) -> dict[int, list[NodeState]]:
        """The autograd nodes that each call made."""
        found: dict[int, list[NodeState]] = defaultdict(list)
        for node in self.nodes.values():
            found[node.event.op].append(node)
        return found

    @cached_property
    def descriptions(self) -> dict[int, list[tuple[int, ev.Tensor]]]:
        """What torch said of each tensor, with the moment from which it held."""
        found: dict[int, list[tuple[int, ev.Tensor]]] = defaultdict(list)
        for moment, event in self.trace.of_kind(ev.Tensor):
            found[event.uid].append((moment, event))
        return found

    @cached_property
    def grad_events(self) -> list[tuple[int, ev.Grad]]:
        """The changes of `.grad` that no backward made."""
        return list(self.trace.of_kind(ev.Grad))

    @cached_property
    def accumulations(self) -> dict[int, ev.Accumulate]:
        """The accumulations into `.grad`, by moment."""
        return dict(self.trace.of_kind(ev.Accumulate))

    @cached_property
    def retained(self) -> list[tuple[int, ev.Grad]]:
        """The gradients that passes left in tensors that retain theirs."""
        return [pair for pair in self.grad_events if pair[1].how == "retained"]

    @cached_property
    def grad_results(self) -> dict[int, PassState]:
        """The pass of `autograd.grad` that gave each tensor it gave."""
        return {uid: p for p in self.passes if p.event.kind == "grad" for uid in p.results}

    @cached_property
    def filled_by(self) -> dict[int, int]:
        """For each tensor that is somebody's `.grad`, the first pass that put something into it."""
        found: dict[int, int] = {}
        for entry in self.accumulations.values():
            found.setdefault(entry.grad, entry.run)
        return found

    @cached_property
    def at_storage(self) -> dict[int, list[int]]:
        """The tensors that were seen at each storage (addresses are used again after death)."""
        found: dict[int, list[int]] = defaultdict(list)
        for uid, tensor in self.tensors.items():
            if tensor.meta.storage != NONE:
                found[tensor.meta.storage].append(uid)
        return found

    @cached_property
    def contents(self) -> dict[int, list[tuple[int, ev.Value]]]:
        """What each tensor was seen to hold, with the moments."""
        found: dict[int, list[tuple[int, ev.Value]]] = defaultdict(list)
        for moment, event in self.trace.of_kind(ev.Contents):
            found[event.uid].append((moment, event.value))
        return found

    def value_after(self, uid: int, moment: int) -> ev.Value | None:
        """What a tensor was first seen to hold at or after a moment."""
        return next((value for when, value in self.contents.get(uid, ()) if when >= moment), None)

    def value_before(self, uid: int, moment: int) -> ev.Value | None:
        """What a tensor was last seen to hold before a moment."""
        held = [value for when, value in self.contents.get(uid, ()) if when < moment]
        return held[-1] if held else None

    def leaves_behind(self, uid: int, moment: int) -> tuple[int, ...]:
        """The leaves that the graph of a tensor ends in (itself where it is one).

        A view made without grad calls itself a leaf: its base knows better.
        """
        meta = self.meta(uid, moment)
        if meta is not None and meta.node == NONE and meta.base not in (NONE, uid):
            meta = self.meta(meta.base, moment)
        if meta is None or meta.node == NONE:
            return (uid if meta is None else meta.uid,)
        walked = self.walk(meta.node)
        return tuple(node.event.leaf for node in walked if node.event.leaf != NONE)

    def computed_on(self, node: ast.AST | None, frame: int, moment: int) -> TensorState | None:
        """A computed tensor (no leaf) that a name in this syntax means, or holds, at a moment."""
        if node is None:
            return None
        names = source.names_read(node)
        for tensor in self.tensors.values():
            if tensor.meta.leaf or not tensor.meta.requires_grad:
                continue
            for named in tensor.names:
                root = named.name.split(".")[0].split("[")[0]
                alive = named.since <= moment and (named.until or moment + 1) > moment
                if alive and named.frame in (frame, 0) and root in names:
                    return tensor
        return None

    def tensor(self, uid: int) -> TensorState | None:
        """What is known of a tensor at the end of the run."""
        return self.tensors.get(uid)

    def meta(self, uid: int, moment: int) -> ev.Tensor | None:
        """What torch said of a tensor at a moment (its first description before its birth)."""
        told = self.descriptions.get(uid)
        if not told:
            known = self.tensors.get(uid)
            return known.meta if known else None
        index = bisect_right(told, moment, key=lambda entry: entry[0]) - 1
        return told[max(index, 0)][1]

    def requires_grad(self, uid: int, moment: int) -> bool:
        """Whether a tensor required grad at a moment."""
        meta = self.meta(uid, moment)
        return bool(meta and meta.requires_grad)

    def is_grad_leaf(self, uid: int, moment: int) -> bool:
        """Whether a tensor was a leaf that requires grad at a moment."""
        meta = self.meta(uid, moment)
        return bool(meta and meta.requires_grad and meta.leaf)

    def base_of(self, uid: int) -> int:
        """The tensor that a view looks into, itself where it is no view."""
        known = self.tensors.get(uid)
        base = known.meta.base if known else NONE
        return base if base != NONE else uid

    def maker(self, uid: int) -> OpState | None:
        """The call that a tensor came from."""
        made = self.makers.get(uid)
        return made[0] if made else None

    def via(self, op: OpState | None) -> tuple[tuple[str, str], ...]:
        """The library frames between the user's line and a call, outermost first."""
        return self.trace.vias.get(op.event.via, ()) if op is not None else ()

    def through(self, op: OpState | None, ending: str) -> str:
        """The first library function on the way to a call whose name ends so, else ""."""
        for _, name in self.via(op):
            if name.endswith(ending):
                return name
        return ""

    @cached_property
    def entered_via(self) -> dict[int, tuple[tuple[str, str], ...]]:
        """For each user frame that library code called, the library frames that did."""
        vias = self.trace.vias
        return {
            event.frame: vias.get(event.via, ())
            for _, event in self.trace.of_kind(ev.Enter)
            if event.via != NONE
        }

    def inside(self, op: OpState, ending: str) -> bool:
        """Whether a call happened below a library function whose name ends so."""
        if self.through(op, ending):
            return True
        return any(
            name.endswith(ending)
            for place in op.site
            for _, name in self.entered_via.get(place.frame, ())
        )

    # -- names ----------------------------------------------------------------------------

    def name(self, uid: int, moment: int) -> str:
        """What a person would call a tensor at a moment: a name, a label, or its origin."""
        known = self.tensors.get(uid)
        if known is None:
            return "a tensor"
        names = [n for n in known.names if n.since <= moment and (n.until or moment + 1) > moment]
        if not names:
            names = [n for n in known.names if n.since > moment][:1] or list(known.names[-1:])
        if names:
            best = min(names, key=lambda n: ("." in n.name or "[" in n.name, n.since))
            # A parameter's short name is often that of a loop over all of them: `for p in …`.
            return best.name if not known.meta.label else known.meta.label
        if known.meta.label:
            return known.meta.label
        if known.meta.base != NONE and known.meta.base != uid:
            owner = self.name(known.meta.base, moment)
            if owner.isidentifier() or "." in owner:
                return f"a view of {owner}"
        maker = self.maker(uid)
        return f"the result of {bare(maker.func)}" if maker is not None else "a tensor"

    def save_name(self, save: ev.Save, node: NodeState) -> str:
        """What a person would call a saved tensor."""
        if save.uid != NONE and save.uid in self.tensors:
            return self.name(save.uid, node.moment)
        sharing = self.last.sharing(save.counter) if save.counter != NONE else ()
        for tensor in sharing:
            if tensor.names:
                return self.name(tensor.uid, node.moment)
        return "the result" if save.role == "output" else "its input"

    # -- places ---------------------------------------------------------------------------

    def text(self, file: str) -> str:
        """The source of a user file, "" where the trace has none."""
        return self.trace.texts.get(file, "")

    def code(self, place: Place) -> str:
        """A line of source without its indentation."""
        return source.line(self.text(place.file), place.line).strip()

    def place(
        self, role: PlaceRole, site: Site, moment: int | None, note: str = ""
    ) -> FindingPlace | None:
        """The innermost place of a site, in a role, with the user's stack."""
        if not site:
            return None
        here = site[-1]
        stack = tuple(Spot(p.file, p.line, p.function, p.iteration) for p in site)
        return FindingPlace(
            role,
            here.file,
            here.line,
            here.function,
            here.iteration,
            stack,
            self.code(here),
            note,
            moment,
        )

    def line_place(
        self, role: PlaceRole, file: str, line: int, note: str = "", function: str = ""
    ) -> FindingPlace:
        """A line of a file in a role, with the last time it ran, if it did."""
        seen = self.last_run(file, line)
        if seen is not None:
            moment, site = seen
            found = self.place(role, site, moment, note)
            assert found is not None
            return found
        text = source.line(self.text(file), line).strip()
        around = source.function_at(self.text(file), line)
        where = function or (around.name if around is not None else "<module>")
        return FindingPlace(role, file, line, where, (), (), text, note, None)

    @cached_property
    def line_runs(self) -> dict[tuple[str, int], list[int]]:
        """The moments at which each user line began to run."""
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for moment, file, line in self.trace.line_runs():
            found[file, line].append(moment)
        return found

    def site_at(self, moment: int) -> Site:
        """The user's stack at a moment."""
        return tuple(frame.place for frame in self.trace.at(moment).stack)

    def last_run(self, file: str, line: int) -> tuple[int, Site] | None:
        """The last time a line began to run: (moment, site)."""
        runs = self.line_runs.get((file, line))
        if not runs:
            return None
        return runs[-1], self.site_at(runs[-1] + 1)

    # -- what went wrong ------------------------------------------------------------------

    @cached_property
    def failure(self) -> Failure | None:
        """The error that ended the run; None where it ended well.

        A program that catches a failing backward and then exits with a code other than 0
        has failed by it too.
        """
        raised = self.trace.raised
        failed = [run for run in self.passes if run.error is not None]
        if raised is None:
            finished = self.trace.finished
            if failed and finished is not None and finished.how == "exited" and finished.code:
                run = failed[-1]
                assert run.error is not None
                return Failure(*run.error, run.site, run.moment, run, None)
            return None
        first = self._handed_on(raised, failed)
        if first is not None:
            return first
        message = raised.message
        run_of = next((r for r in reversed(failed) if r.error and r.error[1] == message), None)
        op_of = next(
            (op for op in reversed(self.ops) if op.event.error and op.event.error[1] == message),
            None,
        )
        below = self._library(raised.traceback)
        for seen in (op_of, run_of):
            if seen is not None and self._fits(seen.site, raised):
                return Failure(raised.kind, message, seen.site, seen.moment, run_of, op_of, below)
        site, moment = self._where_raised(raised)
        return Failure(raised.kind, message, site, moment, run_of, op_of, below)

    def _handed_on(self, raised: ev.Raised, failed: list[PassState]) -> Failure | None:
        """The first error of a chain, where a `raise` of the program's own handed it on."""
        parts = _CHAIN.split(raised.traceback)
        if len(parts) < 2 or not raised.frames:
            return None
        file, line, _ = raised.frames[-1]
        if not isinstance(source.statement(self.text(file), line), ast.Raise):
            return None
        site, _ = self._where_raised(raised)
        ops = [op for op in self.ops if op.event.error]
        for part in parts[:-1]:
            below = self._library(part)
            run_of = next((r for r in reversed(failed) if r.error and r.error[1] in part), None)
            op_of = next(
                (o for o in reversed(ops) if o.event.error and o.event.error[1] in part), None
            )
            for seen, error in (
                (op_of, op_of.event.error if op_of else None),
                (run_of, run_of.error if run_of else None),
            ):
                if seen is not None and error is not None and error[1]:
                    return Failure(*error, seen.site, seen.moment, run_of, op_of, below, site)
        return None

    def _fits(self, site: Site, raised: ev.Raised) -> bool:
        """Whether a site is where the traceback says that the error came out."""
        if not raised.frames:
            return bool(site)
        return bool(site) and (site[-1].file, site[-1].line) == raised.frames[-1][:2]

    def _library(self, traceback: str) -> tuple[tuple[str, str], ...]:
        """The library frames at the end of a traceback that Python printed."""
        text = traceback.rsplit("Traceback (most recent call last):", 1)[-1]
        found: list[tuple[str, str]] = []
        for file, _, function in _FRAME.findall(text):
            if file in self.trace.texts:
                found.clear()
            else:
                found.append((file, function))
        return tuple(found)

    def _where_raised(self, raised: ev.Raised) -> tuple[Site, int]:
        end = len(self.trace)
        if not raised.frames:
            return (), end
        wanted = [(file, line) for file, line, _ in raised.frames]
        for moment in reversed(self.line_runs.get(wanted[-1], [])):
            state = self.trace.at(moment + 1)
            site = tuple(frame.place for frame in state.stack)
            if [(p.file, p.line) for p in site] == wanted:
                return site, moment
            break
        return tuple(Place(file, line, function) for file, line, function in raised.frames), end

    def writes(self, counter: int) -> tuple[WriteState, ...]:
        """The writes kept for a version counter, oldest first."""
        known = self.last.counters.get(counter)
        return known.writes if known is not None else ()


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


@lru_cache(maxsize=4096)
def bare(func: str) -> str:
    """The last part of a function's name: `add_` of `Tensor.add_`."""
    parts = [part for part in func.split(".") if part not in ("__get__", "__set__")]
    return parts[-1] if parts else func


def op_name(node: str) -> str:
    """An op as a person writes it, from its node: `mul` of `MulBackward0`."""
    name = node.rsplit("::", 1)[-1]
    head = name.split("Backward")[0]
    letters = []
    for index, letter in enumerate(head):
        if letter.isupper() and index and not head[index - 1].isupper():
            letters.append("_")
        letters.append(letter.lower())
    return "".join(letters) or name


def dedupe(places: list[FindingPlace | None], limit: int = 3) -> tuple[FindingPlace, ...]:
    """Each line once, in order, at most `limit` of them."""
    found: dict[tuple[str, int], FindingPlace] = {}
    for place in places:
        if place is not None:
            found.setdefault((place.file, place.line), place)
    return tuple(found.values())[:limit]
