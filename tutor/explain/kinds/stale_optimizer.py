"""An optimizer or clipper that holds other parameters than those that are trained, or none."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Edit, Fact, Finding, FindingPlace, Fix
from tutor.explain.history import History
from tutor.explain.optimizers import (
    Optimizer,
    built,
    computed_with,
    made_site,
    optimizers,
    written_by_hand,
)
from tutor.explain.shown import shown_places
from tutor.trace import Site
from tutor.trace.state import OpState

KIND = "stale-optimizer"

_CONSUMING = frozenset(["parameters", "named_parameters", "filter", "map", "chain", "buffers"])
"""Calls that give an iterator, which can be gone through once."""


def ran(history: History) -> list[Finding]:
    """A clipper that got nothing; an optimizer that steps on replaced parameters."""
    return _nothing_to_clip(history) or _other_to_clip(history) or _outside(history)


# -- clippers -------------------------------------------------------------------------------


def _nothing_to_clip(history: History) -> list[Finding]:
    """A clipper that was called with an iterator that was at its end."""
    trained = [entry.uid for run in history.passes for entry in run.accumulated]
    for op in history.ops:
        if not op.func.startswith("utils.clip_grad") or op.event.args or not op.site:
            continue
        if not any(run.moment < op.moment and run.accumulated for run in history.passes):
            continue
        here = op.site[-1]
        made = _exhausted(history, op)
        facts: dict[str, Fact] = {"name": made[2] if made is not None else "the argument"}
        causes: list[FindingPlace | None] = []
        edit: Edit | None = None
        line = here.line
        if made is not None:
            file, line, _, value = made
            causes.append(history.line_place("cause", file, line, note("once")))
            text = history.text(file)
            edit = edits.splice(text, file, value, f"list({edits.segment(text, value)})")
        causes.append(history.place("cause", op.site, op.moment, note("gets-nothing")))
        return [
            finding(
                KIND,
                "warning",
                "exhausted",
                facts,
                cause=causes,
                witness=[history.place("witness", op.site, op.moment)],
                surfaced=[
                    *shown_places(history, trained, op.moment),
                    history.place("surfaced", op.site, op.moment),
                ],
                fixes=[fix("as-list", {"line": line}, edit)],
            )
        ]
    return []


def _exhausted(history: History, op: OpState) -> tuple[str, int, str, ast.expr] | None:
    """(file, line, name, value) of the assignment of an iterator that a call was given."""
    for place in reversed(op.site):
        node = source.statement(history.text(place.file), place.line)
        given = {
            edits.segment(history.text(place.file), argument)
            for call in (source.calls(node) if node is not None else ())
            for argument in call.args
            if isinstance(argument, ast.Name | ast.Attribute)
        }
        for name in sorted(given):
            found = _assigned_iterator(history, name)
            if found is not None:
                return found
    return None


def _assigned_iterator(history: History, name: str) -> tuple[str, int, str, ast.expr] | None:
    for file, text in history.trace.texts.items():
        module = source.tree(text)
        for child in ast.walk(module) if module is not None else ():
            if not isinstance(child, ast.Assign) or not _is_iterator(child.value):
                continue
            if any(edits.segment(text, target) == name for target in child.targets):
                return file, child.lineno, name, child.value
    return None


def _is_iterator(value: ast.expr) -> bool:
    if isinstance(value, ast.GeneratorExp):
        return True
    return isinstance(value, ast.Call) and source.called(value) in _CONSUMING


def _other_to_clip(history: History) -> list[Finding]:
    """A clipper whose tensors have no gradient, while the trained ones are others."""
    for op in history.ops:
        if not op.func.startswith("utils.clip_grad") or not op.event.args or not op.site:
            continue
        given = {
            entry.uid
            for run in history.passes
            if run.moment < op.moment
            for entry in run.accumulated
        }
        asked = set(op.event.args)
        later = {e.uid for run in history.passes for e in run.accumulated}
        if not given or asked & later or _given_by_hand(history, op.event.args):
            continue
        if any(computed_with(history, uid, 0) for uid in op.event.args):
            continue
        return [
            finding(
                KIND,
                "warning",
                "clips-others",
                {"count": len(op.event.args)},
                cause=[history.place("cause", op.site, op.moment, note("other-tensors"))],
                surfaced=[
                    *shown_places(history, given, op.moment),
                    history.place("surfaced", op.site, op.moment),
                ],
            )
        ]
    return []


# -- optimizers -----------------------------------------------------------------------------


def _outside(history: History) -> list[Finding]:
    """Parameters that are trained after an optimizer was built, and that none holds."""
    known = optimizers(history)
    held = {uid for one in known for uid in one.held}
    first: dict[int, int] = {}
    given: dict[int, int] = {}
    for run in history.passes:
        for entry in run.accumulated:
            first.setdefault(entry.uid, entry.moment)
            given[entry.uid] = entry.moment
    loose = [
        uid for uid, since in first.items() if uid not in held and _trains(history, uid, since)
    ]
    if not loose:
        return []
    for one in known:
        if _given_by_hand(history, one.held):
            continue
        made = built(history, one)
        since = made[0] if made is not None else 0
        late = [uid for uid in loose if _born(history, uid) > since and given[uid] < one.last]
        idle = [uid for uid in one.held if _idle(history, uid, late or loose, given)]
        if late and idle:
            return [_finding(history, "replaced", one, late, idle, made)]
        if late and _same_model(history, one, late):
            return [_finding(history, "early", one, late, [], made)]
        never = [uid for uid in one.held if uid not in given and not _computes(history, uid)]
        if not late and len(never) == len(one.held) and made is not None:
            return [_finding(history, "others", one, loose, never, made)]
    return []


def _trains(history: History, uid: int, since: int) -> bool:
    """Whether a leaf is a parameter whose gradient the program leaves to an optimizer."""
    known = history.tensor(uid)
    if known is None or known.meta.kind != "Parameter" or not known.meta.requires_grad:
        return False
    return not written_by_hand(history, uid, since)


def _born(history: History, uid: int) -> int:
    known = history.tensor(uid)
    return known.moment if known is not None else 0


def _idle(history: History, uid: int, others: list[int], given: dict[int, int]) -> bool:
    """Whether a parameter takes no part since these others are there."""
    since = min(_born(history, other) for other in others)
    known = history.tensor(uid)
    if known is None or not known.meta.requires_grad or known.moment > since:
        return False
    if given.get(uid, -1) >= since:
        return False
    return not computed_with(history, uid, since)


def _computes(history: History, uid: int) -> bool:
    """Whether anything is computed with a parameter that requires grad."""
    known = history.tensor(uid)
    return known is None or not known.meta.requires_grad or computed_with(history, uid, 0)


def _given_by_hand(history: History, uids: tuple[int, ...]) -> bool:
    """Whether the program sets `.grad` of one of these itself."""
    wanted = set(uids)
    return any(e.uid in wanted and e.how == "set" for _, e in history.grad_events)


def _same_model(history: History, one: Optimizer, late: list[int]) -> bool:
    """Whether late parameters belong to the model whose others the optimizer holds."""

    def roots(uids: tuple[int, ...] | list[int]) -> set[str]:
        tensors = (history.tensor(uid) for uid in uids)
        return {t.meta.label.split(".")[0] for t in tensors if t is not None and t.meta.label}

    return bool(roots(one.held) & roots(late))


def _finding(
    history: History,
    variant: str,
    one: Optimizer,
    loose: list[int],
    idle: list[int],
    made: tuple[int, Site] | None,
) -> Finding:
    first = one.steps[0]
    uid = loose[0]
    old = history.tensor(idle[0]) if idle else None
    site = made_site(history, uid)
    causes: list[FindingPlace | None] = []
    if variant != "others":
        parted = _where_they_part(site, old.born if old is not None else ())
        words, moment = note("replaces"), _born(history, uid)
        causes.append(history.place("cause", parted, moment, words))
        if old is None or not old.born or not site or site[-1].line != old.born[-1].line:
            causes.insert(0, history.place("cause", site, moment, words))
    if made is not None:
        causes.append(history.place("cause", made[1], made[0], note("builds")))
    label = history.name(idle[0] if idle else uid, one.last)
    return finding(
        KIND,
        "warning",
        variant,
        {"parameter": label, "optimizer": one.name, "count": len(loose)},
        cause=causes,
        witness=[history.place("witness", first.site, first.moment, note("steps-old"))],
        surfaced=[
            *shown_places(history, loose, first.moment, note("not-moved"), values=True),
            history.place("surfaced", one.steps[-1].site, one.steps[-1].moment),
        ],
        fixes=[_built_later(history, made, causes)],
    )


def _built_later(
    history: History, made: tuple[int, Site] | None, causes: list[FindingPlace | None]
) -> Fix | None:
    """The line that builds the optimizer, moved behind the one that makes the parameters."""
    if made is None or not made[1]:
        return None
    here = made[1][-1]
    text = history.text(here.file)
    for place in causes:
        if place is None or place.file != here.file or place.line <= here.line:
            continue
        edit = edits.move_after(text, here.file, here.line, place.line)
        if edit is not None:
            return fix("build-later", {"line": here.line, "target": place.line}, edit)
    return None


def _where_they_part(site: Site, other: Site) -> Site:
    """The new one's site up to the line at which it is another than that of the old one."""
    for index, place in enumerate(site):
        before = other[index] if index < len(other) else None
        if before is None or (before.file, before.line) != (place.file, place.line):
            return site[: index + 1]
    return site
