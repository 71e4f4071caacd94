"""Where a value comes to a person's eyes: the line that prints it, or the one that reads it."""

from __future__ import annotations

import ast

from tutor.explain import source
from tutor.explain.finding import FindingPlace
from tutor.explain.history import History
from tutor.trace import NONE, Place, Site

_SHOWS = frozenset(["print", "pprint", "display", "info", "debug", "warning", "log", "write"])
_HOPS = 4
"""Assignments followed from the line that reads a value to the line that prints it."""


def shows(text: str, number: int) -> bool:
    """Whether the statement on a line prints, logs or asserts."""
    node = source.statement(text, number)
    if node is None or (hasattr(node, "body") and not isinstance(node, ast.If)):
        return False
    if isinstance(node, ast.Assert):
        return True
    within: ast.AST = node.test if isinstance(node, ast.If) else node
    return any(source.called(call) in _SHOWS for call in source.calls(within))


def surfaced_at(
    history: History, site: Site, moment: int, words: str = ""
) -> list[FindingPlace | None]:
    """The places, best first, where a value read at `site` is seen by the reader."""
    if not site:
        return []
    for index in range(len(site) - 1, -1, -1):
        place = site[index]
        if shows(history.text(place.file), place.line):
            found = [history.place("surfaced", site[: index + 1], moment, words)]
            return [*found, history.place("surfaced", site, moment)]
    for index in range(len(site) - 1, -1, -1):
        printed = _printed_later(history, site[index], moment)
        if printed is not None:
            later_moment, later_site = printed
            return [
                history.place("surfaced", later_site, later_moment, words),
                history.place("surfaced", site, moment),
            ]
    return [history.place("surfaced", site, moment, words)]


def _printed_later(history: History, place: Place, moment: int) -> tuple[int, Site] | None:
    """The first line run after `moment` that prints a name which this line assigns."""
    names = assigned(history.text(place.file), place.line)
    if not names:
        return None
    wanted = set(names)
    for (file, number), runs in sorted(history.line_runs.items()):
        if file != place.file or runs[-1] <= moment:
            continue
        node = source.statement(history.text(file), number)
        if node is None or hasattr(node, "body"):
            continue
        if shows(history.text(file), number) and wanted & source.names_read(node):
            later = next(run for run in runs if run > moment)
            return later, history.site_at(later + 1)
        if wanted & source.names_read(node) and len(wanted) < _HOPS * 4:
            wanted |= assigned(history.text(file), number)
    return None


def assigned(text: str, number: int) -> set[str]:
    """The names that the statement on a line assigns."""
    node = source.statement(text, number)
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        func = node.value.func
        if isinstance(func, ast.Attribute) and func.attr in ("append", "extend", "add", "insert"):
            targets = [func.value]
    return {
        child.id for target in targets for child in ast.walk(target) if isinstance(child, ast.Name)
    }


def grad_reads(history: History, uid: int, moment: int) -> list[tuple[int, Site]]:
    """(moment, site) of each later read of a tensor's `.grad` by the user's own code."""
    return [
        (when, site)
        for event, when, site in history.trace.grad_reads
        if event.uid == uid and when > moment
    ]


def value_reads(history: History, uid: int, moment: int) -> list[tuple[int, Site]]:
    """(moment, site) of each later call of the user's own line that takes this tensor."""
    return [
        (op.moment, op.site)
        for op in history.users.get(uid, ())
        if op.moment > moment and op.event.via == NONE and op.site
    ]


def read_after(
    history: History, uid: int, moment: int, words: str = "", *, value: bool = False
) -> list[FindingPlace | None]:
    """Where a leaf's gradient (or its value) is seen after a moment; empty if nowhere.

    A read that is printed wins over one that is only used, and a first read over later ones.
    """
    reads = grad_reads(history, uid, moment)
    if value:
        reads = value_reads(history, uid, moment) or reads
    best: list[FindingPlace | None] = []
    for when, site in reads[:64]:
        places = surfaced_at(history, site, when, words)
        first = places[0]
        if first is not None and shows(history.text(first.file), first.line):
            return places
        best = best or places
    return best or _by_name(history, uid, moment, words)


def _by_name(history: History, uid: int, moment: int, words: str) -> list[FindingPlace | None]:
    """A line that prints a name of the tensor: printing is no call of torch's."""
    known = history.tensor(uid)
    roots = {n.name.split(".")[0].split("[")[0] for n in known.names} if known is not None else ()
    for (file, number), runs in sorted(history.line_runs.items()):
        if not roots or runs[-1] <= moment or not shows(history.text(file), number):
            continue
        node = source.statement(history.text(file), number)
        if node is not None and roots & source.names_read(node):
            later = next(run for run in runs if run > moment)
            return [history.place("surfaced", history.site_at(later + 1), later, words)]
    return []
