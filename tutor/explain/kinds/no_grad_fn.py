"""A backward, or `autograd.grad`, of a tensor that is cut off from everything requiring grad."""

from __future__ import annotations

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import Behind, Cut, behind, frozen_lines
from tutor.explain.history import Failure, History, bare
from tutor.trace import NONE, Place
from tutor.trace.state import OpState

KIND = "no-grad-fn"


def root_without_grad(history: History, failure: Failure) -> int:
    """The root of a refused pass that does not require grad, NONE where each one does."""
    run = failure.run
    if run is None or run.order:
        return NONE
    for uid, node in run.event.roots:
        if node == NONE and uid != NONE and not history.requires_grad(uid, run.moment):
            return uid
    return NONE


def raised(history: History, failure: Failure) -> Finding | None:
    """The nearest place in the data flow behind the root where a gradient was lost."""
    root = root_without_grad(history, failure)
    if root == NONE:
        return _input_without_grad(history, failure)
    came = behind(history, root, failure.moment)
    name = history.name(root, failure.moment)
    facts: dict[str, Fact] = {"root": name}
    seen = surfaced(history, note("no-grad-fn", tensor=name))
    if came.cuts:
        return _cut(history, came.cuts, facts, seen)
    frozen = frozen_lines(history, came.leaves, failure.moment)
    if frozen:
        last = max(frozen, key=lambda op: op.moment)
        facts["parameter"] = history.name(last.event.args[0], last.moment)
        places = [
            history.place("cause", op.site, op.moment, note("freezes"))
            for op in sorted(frozen, key=lambda op: -op.moment)
        ]
        return finding(
            KIND,
            "error",
            "frozen",
            facts,
            cause=places,
            surfaced=[seen],
            fixes=_unfrozen(history, frozen),
        )
    return _never(history, came, root, facts, seen)


def _input_without_grad(history: History, failure: Failure) -> Finding | None:
    """A `grad` that was asked for the gradient of a tensor which does not require it."""
    run = failure.run
    if run is None or run.order or run.event.kind != "grad":
        return None
    for uid in run.event.inputs or ():
        known = history.tensor(uid)
        if known is None or history.requires_grad(uid, run.moment):
            continue
        name = history.name(uid, run.moment)
        came = behind(history, uid, run.moment)
        causes = [history.place("cause", cut.site, cut.moment, note("cuts")) for cut in came.cuts]
        words = note("no-requires-grad")
        causes.append(history.place("cause", known.born, known.moment, words))
        return finding(
            KIND, "error", "input", {"input": name}, cause=causes, surfaced=[surfaced(history)]
        )
    return None


def _cut(
    history: History, cuts: tuple[Cut, ...], facts: dict[str, Fact], seen: FindingPlace | None
) -> Finding:
    first = cuts[0]
    lost = history.name(first.lost, first.moment)
    facts |= {"lost": lost, "func": bare(first.op.func)}
    places: list[FindingPlace | None] = []
    for cut in cuts[:3]:
        if cut.block is not None:
            site = (*cut.site[: _depth(cut)], cut.block)
            places.append(history.place("cause", site, cut.moment, note("grad-off")))
        else:
            places.append(history.place("cause", cut.site, cut.moment, note("cuts")))
        if cut.created is not None:
            made = cut.created
            places.append(history.place("cause", made.site, made.moment, note("new-tensor")))
    witness = None
    if first.block is not None:
        witness = history.place("witness", first.site, first.moment, note("without-grad"))
    return finding(
        KIND,
        "error",
        first.reason,
        facts,
        cause=places,
        witness=[witness],
        surfaced=[seen],
        fixes=uncut(history, first),
    )


def _depth(cut: Cut) -> int:
    """How many outer frames of the cut's site stand above the block that turned grad off."""
    assert cut.block is not None
    for index, place in enumerate(cut.site):
        if place.frame == cut.block.frame:
            return index
    return 0


def _never(
    history: History,
    came: Behind,
    root: int,
    facts: dict[str, Fact],
    seen: FindingPlace | None,
) -> Finding:
    """Nothing behind the root ever required grad: name the leaves that a person made."""
    leaves = []
    for uid in came.leaves:
        known = history.tensor(uid)
        if known is None or not known.born or "float" not in known.meta.dtype:
            continue
        leaves.append(known)
    leaves.sort(key=lambda t: (not t.names, t.meta.kind != "Parameter", t.moment))
    places = [history.place("cause", t.born, t.moment, note("no-requires-grad")) for t in leaves]
    fixes: list[Fix | None] = []
    if leaves:
        first = leaves[0]
        facts["leaf"] = history.name(first.uid, first.moment)
        place = first.born[-1]
        maker = history.maker(first.uid)
        if maker is not None:
            edit = edits.add_keyword(
                history.text(place.file),
                place.file,
                place.line,
                bare(maker.func),
                "requires_grad",
                "True",
            )
            fixes.append(fix("requires-grad", {"line": place.line}, edit))
    else:
        facts["leaf"] = str(facts["root"])
        known = history.tensor(root)
        if known is not None and known.born:
            places = [history.place("cause", known.born, known.moment, note("no-requires-grad"))]
        elif seen is not None:
            places = [history.line_place("cause", seen.file, seen.line)]
    return finding(KIND, "error", "never", facts, cause=places, surfaced=[seen], fixes=fixes)


def uncut(history: History, cut: Cut) -> list[Fix | None]:
    """Changes that keep the graph whole at a cut."""
    place = cut.site[-1]
    text = history.text(place.file)
    if cut.reason == "detach":
        edit = edits.drop_method(text, place.file, place.line, "detach")
        return [fix("drop-detach", {"line": place.line}, edit)]
    if cut.reason == "data":
        edit = edits.drop_attribute(text, place.file, place.line, "data")
        return [fix("drop-data", {"line": place.line}, edit)]
    if cut.block is not None:
        return [recorded(history, cut.block)]
    if cut.reason == "values":
        return _kept_as_tensor(history, cut)
    if cut.reason == "sample":
        drawn = edits.rename_method(text, place.file, place.line, "sample", "rsample")
        return [fix("rsample", {"line": place.line}, drawn)]
    return []


def recorded(history: History, block: Place) -> Fix | None:
    """Gradients stay on where a line turned them off."""
    text = history.text(block.file)
    edit = rewrites.without_block(text, block.file, block.line)
    if edit is not None:
        return fix("record", {"line": block.line}, edit)
    if source.function_at(text, block.line) is not None:
        scoped = rewrites.scoped_no_grad(text, block.file, block.line)
        if scoped is not None:
            return fix("scoped", {"line": block.line}, scoped)
    dropped = edits.delete(text, block.file, block.line)
    return fix("record", {"line": block.line}, dropped)


def _kept_as_tensor(history: History, cut: Cut) -> list[Fix | None]:
    """Where values left torch they stay tensors, and where they came back they are stacked."""
    out = cut.site[-1]
    left = rewrites.as_tensor(history.text(out.file), out.file, out.line)
    facts: dict[str, Fact] = {"line": out.line}
    if cut.created is None or not cut.created.site:
        return [fix("keep-tensor", facts, left)]
    back = cut.created.site[-1]
    text = history.text(back.file)
    stacked = rewrites.of_tensors(text, back.file, back.line)
    if (out.file, out.line) == (back.file, back.line):
        if left is None:
            return [fix("stack", facts, stacked)]
        both = rewrites.of_tensors(edits.apply(text, [left]), back.file, back.line)
        return [fix("stack", facts, both)]
    return [fix("keep-tensor", facts, left, stacked), fix("keep-tensor", facts, left)]


def _unfrozen(history: History, frozen: list[OpState]) -> list[Fix | None]:
    found: dict[tuple[str, int], Fix | None] = {}
    for op in frozen:
        here = op.site[-1]
        text = history.text(here.file)
        edit = rewrites.trainable(text, here.file, here.line)
        found.setdefault((here.file, here.line), fix("trainable", {"line": here.line}, edit))
    return list(found.values())
