"""Gradients that were added up, cleared at the wrong moment, or kept under an alias."""

from __future__ import annotations

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, shown
from tutor.explain.finding import Fact, Finding, Fix
from tutor.explain.grads import (
    Step,
    Story,
    is_zero,
    kept_alias,
    kept_twice,
    only_some_cleared,
    stories,
)
from tutor.explain.history import History
from tutor.explain.reads import read_after, surfaced_at
from tutor.trace import Site
from tutor.trace.state import AccumulateState

KIND = "grad-accumulation"


def ran(history: History) -> list[Finding]:
    """A sum that a step used twice, a gradient cleared before its step, an alias; else a note."""
    told = stories(history)
    for look in (_cleared_early, _alias, _stepped_twice):
        for story in told:
            if look is _cleared_early and only_some_cleared(told, story):
                continue  # some parameters are kept out of this step
            trouble = look(history, story)
            if trouble is not None:
                return [trouble]
    return _note(history, told)


# -- a plain sum: true, and often meant -----------------------------------------------------


def _note(history: History, told: list[Story]) -> list[Finding]:
    sums = [(story, e) for story in told for e in story.sums if not is_zero(e.before)]
    if not sums:
        return []
    read = {event.uid for event, _, _ in history.trace.grad_reads}
    sums.sort(key=lambda pair: (pair[0].uid not in read, pair[1].moment))
    story, entry = sums[0]
    again = [e for s, e in sums if s is story]
    entry = _read_first(history, again) or entry
    leaf = history.name(story.uid, entry.moment)
    facts: dict[str, Fact] = {
        "leaf": leaf,
        "sums": len(again),
        "leaves": len({s.uid for s, _ in sums}),
    }
    variant = "sum"
    arithmetic = sum_of(entry)
    if arithmetic is not None:
        variant = "sum-values"
        facts |= dict(zip(("total", "old", "new"), arithmetic, strict=True))
    before = [e for e in story.entries if e.moment < entry.moment]
    return [
        finding(
            KIND,
            "note",
            variant,
            facts,
            cause=[history.place("cause", entry.site, entry.moment, note("adds", leaf=leaf))],
            witness=[
                history.place("witness", e.site, e.moment, note("added", leaf=leaf))
                for e in before[-1:]
            ],
            surfaced=read_after(history, story.uid, entry.moment, note("sum-read", leaf=leaf)),
        )
    ]


def _read_first(history: History, entries: list[AccumulateState]) -> AccumulateState | None:
    """The accumulation whose result the program looked at first."""
    for entry in entries:
        if any(e.uid == entry.uid and m > entry.moment for e, m, _ in history.trace.grad_reads):
            return entry
    return None


def sum_of(entry: AccumulateState) -> tuple[Fact, Fact, Fact] | None:
    """(total, old, new) of an accumulation, where the values are known and few."""
    before, after = entry.before, entry.after
    if before is None or after is None or before.flat is None or after.flat is None:
        return None
    if len(before.flat) != len(after.flat) or any(isinstance(v, str) for v in after.flat):
        return None
    pairs = [(float(a), float(b)) for a, b in zip(after.flat, before.flat, strict=True)]
    if len(set(pairs)) == 1:
        a, b = pairs[0]
        return _plain(a), _plain(b), _plain(a - b)
    if not 1 < len(pairs) <= 4 or len(after.shape) > 1:
        return None
    columns = ([a for a, _ in pairs], [b for _, b in pairs], [a - b for a, b in pairs])
    total, old, new = ("[" + ", ".join(str(_plain(v)) for v in c) + "]" for c in columns)
    return total, old, new


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 1e15 else round(value, 6)


# -- the warnings ---------------------------------------------------------------------------


def _stepped_twice(history: History, story: Story) -> Finding | None:
    """A step that used a sum in which a gradient is left that an earlier step had used."""
    trouble = story.stepped_twice()
    if trouble is None:
        return None
    entry, step, earlier = trouble
    leaf = history.name(story.uid, entry.moment)
    facts: dict[str, Fact] = {"leaf": leaf, "step_line": step.site[-1].line}
    return finding(
        KIND,
        "warning",
        "stepped-twice",
        facts,
        cause=[history.place("cause", entry.site, entry.moment, note("adds", leaf=leaf))],
        witness=[history.place("witness", earlier.site, earlier.moment, note("added", leaf=leaf))],
        surfaced=[
            *read_after(history, story.uid, step.moment, note("sum-read", leaf=leaf)),
            history.place("surfaced", step.site, step.moment, note("steps-sum")),
        ],
        fixes=[_clear_fix(history, leaf, entry, step)],
    )


def _clear_fix(history: History, leaf: str, entry: AccumulateState, step: Step) -> Fix | None:
    if step.optimizer:
        here = step.site[-1]
        code = history.code(here)
        if not code.endswith(".step()"):
            return None
        line = f"{code.removesuffix('.step()')}.zero_grad()"
        edit = edits.insert_after(history.text(here.file), here.file, here.line, line)
        return fix("zero-after-step", {"line": here.line, "code": line}, edit)
    if not leaf.isidentifier():
        return None
    here, line = entry.site[-1], f"{leaf}.grad = None"
    edit = edits.insert_before(history.text(here.file), here.file, here.line, line)
    return fix("clear-before", {"line": here.line, "code": line}, edit)


def _cleared_early(history: History, story: Story) -> Finding | None:
    """A gradient that was cleared after its backward and before any step saw it."""
    trouble = story.cleared_early()
    if trouble is None:
        return None
    entry, clear, step = trouble
    leaf = history.name(story.uid, entry.moment)
    cleared = history.site_at(clear.moment)
    here, backward = cleared[-1], entry.site[-1]
    edit = edits.move_before(history.text(here.file), here.file, here.line, backward.line)
    return finding(
        KIND,
        "warning",
        "cleared-early",
        {"leaf": leaf, "step_line": step.site[-1].line},
        cause=[history.place("cause", cleared, clear.moment, note("clears"))],
        witness=[history.place("witness", entry.site, entry.moment, note("fills", leaf=leaf))],
        surfaced=[
            *read_after(history, story.uid, step.moment, value=True),
            history.place("surfaced", step.site, step.moment, note("steps-nothing")),
        ],
        fixes=[fix("clear-before-backward", {"line": here.line, "target": backward.line}, edit)],
    )


def _alias(history: History, story: Story) -> Finding | None:
    """A name that was given to `.grad` itself, and whose tensor a later backward added into."""
    for entry in story.sums:
        alias = kept_alias(history, entry)
        if alias is None:
            kept = kept_twice(history, entry)
            if kept is not None:
                return _kept(history, story, entry, *kept)
            continue
        name = alias.named.name
        origin = _reading_line(history, story.uid, alias.named.since) or alias.named.site
        facts: dict[str, Fact] = {
            "leaf": history.name(story.uid, entry.moment),
            "alias": name,
            "old": shown(entry.before),
            "now": shown(entry.after),
        }
        return finding(
            KIND,
            "warning",
            "alias",
            facts,
            cause=[history.place("cause", origin, alias.named.since, note("alias", name=name))],
            witness=[
                history.place("witness", entry.site, entry.moment, note("adds-into", name=name))
            ],
            surfaced=surfaced_at(history, alias.site, alias.moment, note("changed", name=name)),
        )
    return None


def _kept(
    history: History, story: Story, entry: AccumulateState, moment: int, site: Site
) -> Finding:
    """Several items of a list are the one tensor in `.grad`."""
    words = note("adds-into", name=f"{history.name(story.uid, moment)}.grad")
    facts: dict[str, Fact] = {
        "leaf": history.name(story.uid, entry.moment),
        "old": shown(entry.before),
        "now": shown(entry.after),
    }
    return finding(
        KIND,
        "warning",
        "kept",
        facts,
        cause=[history.place("cause", site, moment, note("keeps-grad"))],
        witness=[history.place("witness", entry.site, entry.moment, words)],
        surfaced=surfaced_at(history, site, moment, note("all-one")),
    )


def _reading_line(history: History, uid: int, moment: int) -> Site | None:
    """The site of the last read of `.grad` before a name was bound to what it gave."""
    reads = [
        site
        for event, when, site in history.trace.grad_reads
        if event.uid == uid and when <= moment
    ]
    return reads[-1] if reads else None
