"""What the backward engine, or a kernel below it, refuses: callbacks, processes, two dtypes."""

from __future__ import annotations

from tutor.explain import rewrites
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare
from tutor.explain.patterns import kind_of

KIND = "engine"


def raised(history: History, failure: Failure) -> Finding | None:
    """A call of the engine's own, told by torch's words; two dtypes in one product."""
    if kind_of(failure.message) != KIND or not failure.site:
        return None
    op = failure.op
    facts: dict[str, Fact] = {"message": failure.said}
    witness: list[FindingPlace | None] = []
    fixes: list[Fix | None] = []
    variant = "known"
    if "fork" in failure.message:
        variant = "fork"
    elif "allback" in failure.message or "during" in failure.message:
        variant = "outside"
    elif op is not None:
        metas = [history.meta(uid, op.moment) for uid in op.event.args]
        kinds = [m for m in metas if m is not None and "float" in m.dtype]
        odd = next((m for m in kinds if m.dtype != kinds[0].dtype), None) if kinds else None
        if odd is not None:
            first = kinds[0]
            name, other = (history.name(m.uid, op.moment) for m in (first, odd))
            facts |= {
                "op": bare(op.func),
                "first": name,
                "dtype": first.dtype,
                "second": other,
                "other_dtype": odd.dtype,
            }
            variant = "dtype"
            known = history.tensor(odd.uid)
            if known is not None:
                maker = history.maker(odd.uid)
                site, moment = (maker.site, maker.moment) if maker else (known.born, known.moment)
                words = note("dtype", dtype=odd.dtype)
                witness.append(history.place("witness", site, moment, words))
            here = failure.site[-1]
            converted = f"{other}.to({name}.dtype)"
            edit = rewrites.replaced_name(
                history.text(here.file), here.file, here.line, other, converted
            )
            fixes.append(fix("one-dtype", {"line": here.line, "name": other}, edit))
    return finding(
        KIND,
        "error",
        variant,
        facts,
        cause=[history.place("cause", failure.site, failure.moment, note("refused"))],
        witness=witness,
        surfaced=[surfaced(history)],
        fixes=fixes,
    )
