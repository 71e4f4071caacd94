"""The optimizers of a run: what each one holds, when it stepped, where it was built."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from tutor.explain import source
from tutor.explain.history import History, bare
from tutor.explain.stale import OPTIMIZER_FILES
from tutor.trace import NONE, Site
from tutor.trace import events as ev
from tutor.trace.state import OpState


@dataclass(frozen=True, slots=True)
class Optimizer:
    """One optimizer as its steps show it: its class, all it ever held, its steps in order."""

    name: str
    held: tuple[int, ...]
    steps: tuple[OpState, ...]

    @property
    def last(self) -> int:
        """The moment of its last step."""
        return self.steps[-1].moment


def optimizers(history: History) -> list[Optimizer]:
    """The optimizers that stepped. Two of one class are told apart by what they hold."""
    groups: list[tuple[str, set[int], list[OpState]]] = []
    for op in history.ops:
        if op.func != "Optimizer.step" or not op.event.args:
            continue
        name, held = op.event.detail.split(".")[0], set(op.event.args)
        for known_name, known, steps in reversed(groups):
            if known_name == name and known & held:
                known |= held
                steps.append(op)
                break
        else:
            groups.append((name, held, [op]))
    return [Optimizer(name, tuple(sorted(held)), tuple(ops)) for name, held, ops in groups]


def built(history: History, one: Optimizer) -> tuple[int, Site] | None:
    """(moment, site) of the line that last made an optimizer of this class before its steps."""
    best: tuple[int, Site] | None = None
    for (file, number), runs in history.line_runs.items():
        before = [moment for moment in runs if moment < one.steps[0].moment]
        if not before or (best is not None and before[-1] < best[0]):
            continue
        text = history.text(file)
        if one.name not in source.line(text, number):
            continue
        node = source.statement(text, number)
        if node is None or hasattr(node, "body"):
            continue
        if any(source.called(call) == one.name for call in source.calls(node)):
            best = before[-1], history.site_at(before[-1] + 1)
    return best


def by_optimizer(history: History, op: OpState | None) -> bool:
    """Whether a call was made inside an optimizer."""
    return any(part in file for file, _ in history.via(op) for part in OPTIMIZER_FILES)


def written_by_hand(history: History, uid: int, moment: int) -> bool:
    """Whether the program itself wrote a tensor after a moment: an average, a projection."""
    known = history.tensor(uid)
    if known is None:
        return False
    aliases = {uid, *history.at_storage.get(known.meta.storage, ())}
    for alias in aliases:
        for op in history.users.get(alias, ()):
            if op.moment <= moment or op.event.args[0] != alias:
                continue
            name = bare(op.func)
            writes = (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"
            flag = name.startswith("requires_grad")
            if (writes or op.func.endswith("=")) and not flag and not by_optimizer(history, op):
                return True
    return False


def made_site(history: History, uid: int) -> Site:
    """Where a tensor came to be: a copy that no call showed is first seen one line later."""
    known = history.tensor(uid)
    if known is None or not known.born:
        return ()
    maker = history.maker(uid)
    if maker is not None and maker.site:
        return maker.site
    here = known.born[-1]
    runs = history.line_runs.get((here.file, here.line), [])
    index = bisect_right(runs, known.moment) - 1
    if index < 0:
        return known.born
    between = history.trace.numbered(runs[index] + 1, known.moment)
    if any(type(event) in (ev.Op, ev.Enter, ev.Leave, ev.Skipped) for _, event in between):
        return known.born
    earlier = history.site_at(runs[index])
    same = bool(earlier) and earlier[-1].frame == here.frame
    return earlier if same and earlier[-1].line != here.line else known.born


def computed_with(history: History, uid: int, since: int) -> bool:
    """Whether a tensor took part in a graph after a moment."""
    for op in history.users.get(uid, ()):
        if op.moment < since:
            continue
        for out in op.event.outs:
            meta = history.meta(out, op.moment + 1)
            if meta is not None and meta.node != NONE and out != uid:
                return True
    return False
