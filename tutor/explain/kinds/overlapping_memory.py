"""A write to a tensor in which several elements are the same place in memory."""

from __future__ import annotations

from tutor.explain import edits, rewrites
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare
from tutor.explain.writes import EXPANDS, refused, view_chain

KIND = "overlapping-memory"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused write whose target came out of an expand.

    Strides are not in the trace: where the expand was not seen, torch's own words decide.
    """
    write = refused(history, failure)
    if write is None:
        return None
    expands = [op for op in view_chain(history, write.target.uid) if bare(op.func) in EXPANDS]
    said = "single memory location" in failure.message
    if not said or (failure.run is not None and not expands):
        return None
    witness: FindingPlace | None = None
    facts: dict[str, Fact] = {
        "tensor": history.name(write.target.uid, write.op.moment),
        "writer": write.name,
    }
    fixes: list[Fix | None] = []
    causes = [history.place("cause", failure.site, failure.moment, note("writes-shared"))]
    if expands:
        made = expands[0]
        facts["maker"] = bare(made.func)
        witness = history.place("witness", made.site, made.moment, note("shares-elements"))
        there = made.site[-1]
        copy = rewrites.cloned(history.text(there.file), there.file, there.line, EXPANDS)
        fixes.append(fix("clone-expanded", {"line": there.line}, copy))
    if failure.site:
        here = failure.site[-1]
        plain = edits.out_of_place(history.text(here.file), here.file, here.line)
        fixes.append(fix("out-of-place", {"line": here.line}, plain))
    return finding(
        KIND,
        "error",
        "expand" if expands else "plain",
        facts,
        cause=causes,
        witness=[witness],
        surfaced=[surfaced(history)],
        fixes=fixes,
    )
