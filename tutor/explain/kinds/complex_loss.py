"""A complex value where a real one is needed."""

from __future__ import annotations

from tutor.explain import edits
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace
from tutor.explain.history import Failure, History
from tutor.trace import NONE

KIND = "complex-loss"


def raised(history: History, failure: Failure) -> Finding | None:
    """A refused pass whose root is complex and has no gradient to start from, or a real one."""
    run = failure.run
    if run is None or run.order:
        return None
    for index, (uid, node) in enumerate(run.event.roots):
        meta = history.meta(uid, run.moment)
        if meta is None or "complex" not in meta.dtype or node == NONE:
            continue
        seeds = run.event.seeds
        seed = seeds[index] if index < len(seeds) else None
        if seed is not None and seed.dtype == meta.dtype:
            continue
        maker = history.nodes.get(meta.node)
        causes: list[FindingPlace | None] = []
        if maker is not None:
            words = note("stays-complex")
            causes.append(history.place("cause", maker.site, maker.moment, words))
        causes.append(history.place("cause", failure.site, failure.moment))
        facts: dict[str, Fact] = {
            "root": history.name(uid, run.moment),
            "dtype": meta.dtype,
        }
        here = failure.site[-1]
        edit = edits.insert_method(
            history.text(here.file), here.file, here.line, "backward", "abs()"
        )
        return finding(
            KIND,
            "error",
            "root",
            facts,
            cause=causes,
            surfaced=[surfaced(history, note("needs-real"))],
            fixes=[fix("real-loss", {"line": here.line}, edit)],
        )
    return None
