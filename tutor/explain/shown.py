"""Where a wrong value comes before a person's eyes: what is printed after it was read or used.

A value is followed through calls of torch (from arguments to results), through the names that
a statement assigns, and through what functions return, up to the line during which the program
wrote to its output.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from tutor.explain import source
from tutor.explain.finding import FindingPlace
from tutor.explain.history import History
from tutor.trace import NONE, Site
from tutor.trace import events as ev

GRADIENT, VALUE, DERIVED, CLEAN = 0, 1, 2, 9
"""How directly a line shows something wrong: its gradient, its value, what was made of it."""

_LONG = 400_000
"""Events followed at most."""

_CONTAINERS = frozenset(["append", "extend", "add", "update", "setdefault", "insert"])


@dataclass(slots=True)
class _Frame:
    """A user frame while it is followed: its statement, and how directly that shows it."""

    frame: int
    file: str
    expression: bool = False
    """A comprehension or lambda, whose line may run many times for one value."""
    line: int = 0
    statement: ast.stmt | None = None
    rank: int = CLEAN
    branch: tuple[int, int, int] = (0, 0, CLEAN)
    """First and last line of the body that an `if` leads to, and how directly it asks."""
    names: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """A line that wrote to the output while it held something wrong."""

    rank: int
    moment: int
    site: Site


def shown_after(
    history: History,
    uids: Iterable[int],
    moment: int,
    *,
    values: bool = False,
    gradients: bool = True,
    wrong: Iterable[int] = (),
) -> list[Shown]:
    """The lines that print the gradients of these tensors, or what depends on them; best first.

    With `values` their values count as wrong from the beginning, too: not only once a step has
    used a wrong gradient. With `gradients=False` only values do. `wrong` are tensors that hold
    what is wrong, as the results of `autograd.grad` do.
    """
    following = _Following(history, set(uids), values, gradients, frozenset(wrong))
    following.run(moment)
    best: dict[tuple[str, int], Shown] = {}
    for one in sorted(following.shown, key=lambda s: (s.rank, s.moment)):
        best.setdefault((one.site[-1].file, one.site[-1].line), one)
    return list(best.values())


def shown_places(
    history: History,
    uids: Iterable[int],
    moment: int,
    words: str = "",
    *,
    values: bool = False,
    gradients: bool = True,
    wrong: Iterable[int] = (),
    limit: int = 2,
) -> list[FindingPlace | None]:
    """The same as places of the role "surfaced"."""
    found = shown_after(history, uids, moment, values=values, gradients=gradients, wrong=wrong)
    return [history.place("surfaced", one.site, one.moment, words) for one in found[:limit]]


class _Following:
    def __init__(
        self,
        history: History,
        uids: set[int],
        values: bool,
        gradients: bool,
        wrong: frozenset[int],
    ) -> None:
        self.history = history
        self.uids = uids
        self.gradients = gradients
        self.ranks: dict[int, int] = dict.fromkeys(uids, VALUE) if values else {}
        self.ranks |= dict.fromkeys(wrong, GRADIENT)
        self.names: dict[str, int] = {}
        self.shown: list[Shown] = []
        self.stack: list[_Frame] = []
        self.known: dict[int, _Frame] = {}
        self.now = 0
        self._look_up_names(uids | wrong)

    def _look_up_names(self, uids: set[int]) -> None:
        """How the source calls these tensors: `w`, `net.weight`."""
        for uid in uids:
            tensor = self.history.tensor(uid)
            if tensor is not None:
                called = [n.name for n in tensor.names]
                if tensor.meta.label:
                    called.append(tensor.meta.label)
                self.names.update(dict.fromkeys(called, uid))

    def run(self, moment: int) -> None:
        trace = self.history.trace
        failure = self.history.failure  # a check of the program's own that raised shows it, too
        moment = trace.kept(moment)
        self._resume(moment)
        for number, event in islice(trace.numbered(moment), _LONG):
            self.now = number
            match event:
                case ev.Line():
                    self._line(event)
                case ev.Enter():
                    self._enter(event.frame, event.file, event.line, event.function)
                case ev.Leave():
                    if failure is not None and number > failure.moment:
                        self._show(failure.moment, failure.site)
                        failure = None
                    self._leave(event.frame)
                case ev.GradRead():
                    self._read(event)
                case ev.Op():
                    self._op(event)
                case ev.Output():
                    self._show(number, None)
                case ev.Skipped():
                    self.stack.clear()
                    self._resume(number + event.events)
                case _:
                    pass

    # -- the stack -----------------------------------------------------------------------

    def _resume(self, moment: int) -> None:
        """Begin in the middle of a run: with the frames that are active."""
        for frame in self.history.trace.at(moment).stack:
            self._enter(frame.frame, frame.file, frame.line, frame.function)
            entered = self.stack[-1]  # its statement has begun already
            entered.statement = source.statement(self.history.text(frame.file), frame.line)

    def _enter(self, number: int, file: str, line: int, function: str) -> None:
        frame = self.known.get(number)
        if frame is None or frame.file != file:
            expression = function.rpartition(".")[2] != "<module>" and function.endswith(">")
            frame = self.known[number] = _Frame(number, file, expression)
        self.stack.append(frame)
        frame.line = line

    def _leave(self, number: int) -> None:
        if all(frame.frame != number for frame in self.stack):
            return
        while self.stack:
            left = self.stack.pop()
            self._finish(left)
            returns = left.expression or not isinstance(
                left.statement, ast.Assign | ast.AugAssign | ast.AnnAssign
            )
            if self.stack and returns:
                self.stack[-1].rank = min(self.stack[-1].rank, left.rank)
            if left.frame == number:
                break

    def _line(self, event: ev.Line) -> None:
        while self.stack and self.stack[-1].frame != event.frame:
            if all(frame.frame != event.frame for frame in self.stack):
                return
            self._leave(self.stack[-1].frame)
        if not self.stack:
            return
        frame = self.stack[-1]
        node = source.statement(self.history.text(frame.file), event.line)
        if node is frame.statement and (frame.expression or event.line != frame.line):
            frame.line = event.line
            return
        self._finish(frame)
        asked, rank = frame.statement, frame.rank
        if isinstance(asked, ast.If | ast.While) and rank < CLEAN:
            last = asked.body[-1]
            frame.branch = (asked.body[0].lineno, last.end_lineno or last.lineno, rank)
        frame.line, frame.statement = event.line, node
        frame.rank = self._reads(frame, node)
        first, end, asking = frame.branch
        if first <= event.line <= end:
            frame.rank = min(frame.rank, asking)

    def _reads(self, frame: _Frame, node: ast.stmt | None) -> int:
        """How directly the names that a statement reads show something wrong."""
        if node is None:
            return CLEAN
        rank = CLEAN
        for name in _chains(node):
            rank = min(rank, frame.names.get(name, CLEAN))
            if frame.frame != 0 and self.known.get(0) is not None:
                rank = min(rank, self.known[0].names.get(name, CLEAN))
            uid = self.names.get(name, NONE)
            if uid != NONE:
                rank = min(rank, self.ranks.get(uid, CLEAN))
        return rank

    def _finish(self, frame: _Frame) -> None:
        """A statement is over: what it assigned is as wrong as what it read."""
        node, rank = frame.statement, frame.rank
        if node is None:
            return
        for name in _targets(node):
            if rank < CLEAN:
                frame.names[name] = rank
            elif not isinstance(node, ast.AugAssign | ast.For | ast.Expr):
                frame.names.pop(name, None)

    # -- what is wrong ---------------------------------------------------------------------

    def _mark(self, rank: int) -> None:
        if not self.stack:
            return
        self.stack[-1].rank = min(self.stack[-1].rank, rank)
        if any(isinstance(frame.statement, ast.Assert) for frame in self.stack):
            self._show(self.now, None)

    def _read(self, event: ev.GradRead) -> None:
        if self.gradients and event.uid in self.uids:
            if event.grad != NONE:
                self.ranks[event.grad] = GRADIENT
            self._mark(GRADIENT)

    def _op(self, event: ev.Op) -> None:
        if event.func.startswith("Optimizer."):
            if event.func == "Optimizer.step":
                for uid in self.uids.intersection(event.args):
                    self.ranks.setdefault(uid, VALUE)
            return
        if event.func in ("Tensor.backward", "autograd.grad"):
            return
        rank = min((self.ranks.get(uid, CLEAN) for uid in event.args), default=CLEAN)
        if rank == CLEAN:
            return
        tensors = self.history.tensors
        if rank == VALUE and any(
            uid in tensors and tensors[uid].meta.node != NONE for uid in event.outs
        ):
            rank = DERIVED
        for uid in event.outs:
            self.ranks[uid] = min(rank, self.ranks.get(uid, CLEAN))
        self._mark(rank)

    def _show(self, moment: int, where: Site | None) -> None:
        best: tuple[int, int] | None = None
        for index in range(len(self.stack) - 1, -1, -1):
            frame = self.stack[index]
            if frame.rank < CLEAN and (best is None or frame.rank < best[0]):
                best = (frame.rank, index)
        if best is None:
            return
        site = where if where is not None else self.history.site_at(moment)
        frames = {frame.frame for frame in self.stack[: best[1] + 1]}
        kept = tuple(place for place in site if place.frame in frames)
        if kept:
            self.shown.append(Shown(best[0], moment, kept))


@lru_cache(maxsize=4096)
def _chains(node: ast.stmt) -> frozenset[str]:
    """The names and dotted names that a statement itself reads, its body left out."""
    found: set[str] = set()
    pending: list[ast.AST] = list(_own(node))
    while pending:
        child = pending.pop()
        if isinstance(child, ast.Attribute):
            text = _dotted(child)
            if text:
                found.add(text)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            found.add(child.id)
        pending.extend(ast.iter_child_nodes(child))
    return frozenset(found)


def _own(node: ast.stmt) -> list[ast.AST]:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterated):
            return [iterated]
        case ast.With(items=items):
            return [item.context_expr for item in items]
        case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef() | ast.Try():
            return []
        case _:
            return [node]


def _dotted(node: ast.Attribute) -> str:
    parts = [node.attr]
    current: ast.expr = node.value
    while isinstance(current, ast.Attribute):
        parts.append(current.attr)
        current = current.value
    if not isinstance(current, ast.Name):
        return ""
    return ".".join([current.id, *reversed(parts)])


@lru_cache(maxsize=4096)
def _targets(node: ast.stmt) -> frozenset[str]:
    """The names that take up what a statement computes."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=found):
            targets = list(found)
        case ast.AugAssign(target=one) | ast.AnnAssign(target=one) | ast.For(target=one):
            targets = [one]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=name))):
            targets = [owner] if name in _CONTAINERS else []
        case _:
            pass
    return frozenset(
        child.id for target in targets for child in ast.walk(target) if isinstance(child, ast.Name)
    )
