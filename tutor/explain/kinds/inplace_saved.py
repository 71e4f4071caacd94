"""A tensor that an op had saved for its backward was changed in place."""

from __future__ import annotations

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.source import lines_calling
from tutor.explain.stale import Stale, stale
from tutor.trace import NONE

KIND = "inplace-saved"


def raised(history: History, failure: Failure) -> Finding | None:
    """The write that moved the counter of the save which the backward asked for."""
    trouble = stale(history, failure)
    if trouble is None:
        return None
    node, write = trouble.node, trouble.write
    name = history.save_name(trouble.save, node)
    versions: dict[str, Fact] = {"tensor": name, "expected": trouble.expected}
    seen = note("wanted", found=trouble.found, **versions)
    facts: dict[str, Fact] = {
        "tensor": name,
        "op": node.name,
        "saver": op_name(node.name),
        "save": trouble.save.name,
        "found": trouble.found,
        "expected": trouble.expected,
        "writes": trouble.found - trouble.expected,
    }
    keeps = history.place("witness", node.site, node.moment, note("saves", **versions))
    if write is None or not write.site:
        return finding(
            KIND, "error", "unseen", facts, cause=[_same(keeps)], witness=[keeps],
            surfaced=[surfaced(history, seen)],
        )  # fmt: skip
    writer = bare(trouble.op.func) if trouble.op is not None else "a write"
    facts |= {"writer": writer, "before": write.before, "after": write.after}
    cause = history.place(
        "cause", write.site, write.moment,
        note("writes", tensor=name, before=write.before, after=write.after),
    )  # fmt: skip
    where = _definition(history, trouble)
    return finding(
        KIND,
        "error",
        _variant(trouble, cause, keeps),
        facts,
        cause=[cause, where],
        witness=[keeps],
        surfaced=[surfaced(history, seen)],
        fixes=_fixes(history, trouble, where),
    )


def _variant(trouble: Stale, cause: FindingPlace | None, keeps: FindingPlace | None) -> str:
    if trouble.op is not None and trouble.op.op == trouble.node.event.op:
        return "same-call"
    if trouble.save.role == "output":
        return "result"
    if cause is not None and keeps is not None and cause.line == keeps.line:
        return "same-line"
    return "input"


def _same(place: FindingPlace | None) -> FindingPlace | None:
    return None if place is None else _as_cause(place)


def _as_cause(place: FindingPlace) -> FindingPlace:
    return FindingPlace(
        "cause", place.file, place.line, place.function, place.iteration, place.stack, place.text,
        "", place.moment,
    )  # fmt: skip


def _definition(history: History, trouble: Stale) -> FindingPlace | None:
    """The line that defines the in-place layer which wrote, where only one line does."""
    for _, name in history.via(trouble.op):
        if not name.endswith(".forward"):
            continue
        layer = name.split(".")[-2]
        for file, text in history.trace.texts.items():
            lines = lines_calling(text, layer, "inplace")
            if len(lines) == 1:
                return history.line_place("cause", file, lines[0])
    return None


def _fixes(history: History, trouble: Stale, where: FindingPlace | None) -> list[Fix | None]:
    write = trouble.write
    assert write is not None
    if where is not None:
        text = history.text(where.file)
        edit = edits.drop_keyword(text, where.file, where.line, "inplace")
        return [fix("drop-inplace", {"line": where.line}, edit)]
    here = write.site[-1]
    text = history.text(here.file)
    found: list[Fix | None] = []
    if trouble.op is not None and bare(trouble.op.func) == "embedding":
        return [*_kept_copy(history, trouble), _no_max_norm(history)]
    outside, stays = _in_helper(history, trouble)
    if outside is not None:
        found.append(outside)
    if stays:
        return found
    plain = edits.out_of_place(text, here.file, here.line)
    if plain is None:
        plain = edits.drop_keyword(text, here.file, here.line, "inplace")
    found.append(fix("out-of-place", {"line": here.line}, plain))
    clone = edits.clone_first(text, here.file, here.line)
    found.append(fix("clone-first", {"line": here.line}, clone))
    return [*found, *_kept_copy(history, trouble)]


def _kept_copy(history: History, trouble: Stale) -> list[Fix | None]:
    """The op that keeps the tensor keeps a copy, so that the write does not reach it."""
    keeper = trouble.node.site[-1] if trouble.node.site else None
    known = history.tensor(trouble.save.uid) if trouble.save.uid != NONE else None
    if keeper is None or known is None or trouble.save.role == "output":
        return []
    text = history.text(keeper.file)
    names = [n.name for n in known.names if n.frame == keeper.frame]
    names += source.attributes(text, keeper.line, known.meta.label.rpartition(".")[2])
    for name in names[:1]:
        copy = edits.read_clone(text, keeper.file, keeper.line, name)
        return [fix("save-clone", {"line": keeper.line, "name": name}, copy)]
    return []


def _no_max_norm(history: History) -> Fix | None:
    """The embedding without `max_norm`, which rescales its rows in place whenever it is called."""
    for file, text in history.trace.texts.items():
        for name in ("Embedding", "EmbeddingBag", "embedding", "embedding_bag"):
            for line in source.lines_calling(text, name):
                edit = edits.drop_keyword(text, file, line, "max_norm")
                if edit is not None:
                    return fix("no-max-norm", {"line": line}, edit)
    return None


def _in_helper(history: History, trouble: Stale) -> tuple[Fix | None, bool]:
    """(a copy for the helper that writes, whether a change inside it would lose the write).

    A helper that writes into its argument and returns nothing is called for that write: its
    caller can give it a copy, while a new tensor inside would be seen by nobody.
    """
    write = trouble.write
    assert write is not None
    if len(write.site) < 2:
        return None, False
    here, caller = write.site[-1], write.site[-2]
    around = source.function_at(history.text(here.file), here.line)
    known = history.tensor(write.uid)
    if around is None or known is None:
        return None, False
    parameters = {a.arg for a in (*around.args.posonlyargs, *around.args.args)}
    given = any(
        n.frame == here.frame and n.name in parameters and n.since <= write.moment
        for n in known.names
    )
    if not given or any(r.value is not None for r in source.returns(around)):
        return None, False
    text = history.text(caller.file)
    node = source.statement(text, caller.line)
    reads = source.names_read(node) if node is not None else set()
    for named in known.names:
        if named.frame == caller.frame and named.name in reads:
            code = f"{named.name} = {named.name}.clone()"
            edit = edits.insert_before(text, caller.file, caller.line, code)
            return fix("copy-for-helper", {"line": caller.line, "name": named.name}, edit), True
    return None, True
