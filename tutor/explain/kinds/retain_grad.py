"""retain_grad whose gradient never comes, because the tensor got another history."""

from __future__ import annotations

import re

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Finding, FindingPlace, Fix
from tutor.explain.flow import behind
from tutor.explain.history import Failure, History, bare
from tutor.explain.kinds.no_grad_fn import uncut
from tutor.explain.reads import surfaced_at
from tutor.trace import NONE, Site
from tutor.trace.state import OpState

KIND = "retain-grad"

_REFUSED = re.compile(r"can't retain_grad")


def raised(history: History, failure: Failure) -> Finding | None:
    """retain_grad of a tensor that does not require grad."""
    op = failure.op
    called = op is not None and bare(op.func) == "retain_grad"
    if not called and not _REFUSED.search(failure.message):
        return None
    name = "the tensor"
    if op is not None and op.event.args:
        name = history.name(op.event.args[0], op.moment)
    causes = [history.place("cause", failure.site, failure.moment, note("refused"))]
    fixes: list[Fix | None] = []
    if op is not None and op.event.args:
        came = behind(history, op.event.args[0], op.moment)
        for cut in came.cuts[:1]:
            fixes += uncut(history, cut)
            where = (*cut.site[:-1], cut.block) if cut.block is not None else cut.site
            causes.append(history.place("cause", where, cut.moment, note("cuts")))
    if failure.site:
        here = failure.site[-1]
        dropped = edits.delete(history.text(here.file), here.file, here.line)
        fixes.append(fix("drop-retain", {"line": here.line}, dropped))
    return finding(
        KIND,
        "error",
        "no-grad",
        {"tensor": name},
        cause=causes,
        surfaced=[surfaced(history)],
        fixes=fixes,
    )


def ran(history: History) -> list[Finding]:
    """The user's code read a retained gradient after a backward and got None."""
    for event, moment, site in history.trace.grad_reads:
        if event.grad != NONE:
            continue
        asked = [
            op
            for op in history.users.get(event.uid, ())
            if bare(op.func) == "retain_grad" and op.moment < moment
        ]
        done = [run for run in history.passes if run.ok and run.moment < moment]
        meta = history.meta(event.uid, moment)
        if not asked and done and meta is not None and meta.node != NONE:
            found = _another(history, event.uid, moment, site)
            if found is not None:
                return [found]
        if not asked or not done or meta is None or meta.leaf:
            continue
        first, run = asked[0], done[-1]
        writes = [w for w in history.writes(meta.counter) if first.moment < w.moment < run.moment]
        name = history.name(event.uid, moment)
        causes: list[FindingPlace | None] = []
        variant = "no-way"
        if writes:
            variant = "rewritten"
            causes = [
                history.place("cause", w.site, w.moment, note("new-history")) for w in writes[:1]
            ]
        elif first.moment > run.moment:
            variant = "late"
        causes.append(history.place("cause", first.site, first.moment, note("retains")))
        return [
            finding(
                KIND,
                "warning",
                variant,
                {"tensor": name},
                cause=causes,
                witness=[history.place("witness", first.site, first.moment, note("retains"))],
                surfaced=surfaced_at(history, site, moment, note("is-none")),
            )
        ]
    return []


def retained_before(history: History, uid: int, moment: int) -> OpState | None:
    """The `retain_grad` of another tensor that had the name of this one before."""
    known = history.tensor(uid)
    names = {(n.frame, n.name) for n in known.names} if known is not None else set()
    for op in history.ops:
        if bare(op.func) != "retain_grad" or not op.event.args or op.moment > moment:
            continue
        other = history.tensor(op.event.args[0])
        if other is None or other.uid == uid:
            continue
        if names & {(n.frame, n.name) for n in other.names}:
            return op
    return None


def _another(history: History, uid: int, moment: int, site: Site) -> Finding | None:
    """A gradient that is kept for the tensor which had the name before."""
    asked = retained_before(history, uid, moment)
    meta = history.meta(uid, moment)
    node = history.nodes.get(meta.node) if meta is not None else None
    if asked is None or node is None:
        return None
    return finding(
        KIND,
        "warning",
        "another",
        {"tensor": history.name(uid, moment)},
        cause=[
            history.place("cause", asked.site, asked.moment, note("retains")),
            history.place("cause", node.site, node.moment, note("new-tensor-of-name")),
        ],
        witness=[history.place("witness", asked.site, asked.moment, note("retains"))],
        surfaced=surfaced_at(history, site, moment, note("is-none")),
    )
