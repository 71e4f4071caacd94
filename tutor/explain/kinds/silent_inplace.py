"""An in-place layer changes what another reader of the same tensor sees, without an error."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import History, bare
from tutor.explain.reads import assigned, read_after
from tutor.explain.source import lines_calling
from tutor.trace import NONE, Place
from tutor.trace.state import Named, OpState, WriteState

KIND = "silent-inplace"


def ran(history: History) -> list[Finding]:
    """A write by a layer, values that it changed, and a later line that reads the old name."""
    for counter in history.last.counters.values():
        for write in counter.writes:
            op = history.trace.op(write.op)
            if op is None or not write.site or not _by_layer(op):
                continue
            reader = _reader(history, write)
            if reader is None or not _changed(history, write):
                continue
            return [_explain(history, write, op, *reader)]
    return []


def _by_layer(op: OpState) -> bool:
    return "inplace=True" in op.event.detail or (
        op.func.startswith("functional.") and bare(op.func).endswith("_")
    )


def _changed(history: History, write: WriteState) -> bool:
    before = history.value_before(write.uid, write.moment)
    after = history.value_after(write.uid, write.moment)
    if before is None or after is None:
        return False
    return (before.flat, before.low, before.high, before.mean) != (
        after.flat,
        after.low,
        after.high,
        after.mean,
    )


def _reader(history: History, write: WriteState) -> tuple[Named, OpState] | None:
    """A name that meant the tensor before the write, and a call that reads it by that name."""
    known = history.tensor(write.uid)
    for named in known.names if known is not None else ():
        if named.since > write.moment or (named.until or write.moment + 1) <= write.moment:
            continue
        frames = [p for p in write.site if p.frame == named.frame]
        if not frames or not named.name.isidentifier():
            continue
        place = frames[-1]
        if named.name in _stores(history, place):
            continue
        for op in history.users.get(write.uid, ()):
            if op.moment <= write.moment or not op.site or op.event.via != NONE:
                continue
            where = op.site[-1]
            if where.frame != named.frame or where.line == place.line:
                continue
            node = source.statement(history.text(where.file), where.line)
            if node is not None and named.name in source.names_read(node):
                return named, op
    return None


def _stores(history: History, place: Place) -> set[str]:
    """The names that the writing statement binds to its result."""
    text = history.text(place.file)
    node = source.statement(text, place.line)
    if isinstance(node, ast.Return):
        return set()
    return assigned(text, place.line)


def _explain(
    history: History, write: WriteState, op: OpState, named: Named, reader: OpState
) -> Finding:
    layer = next(
        (n.split(".")[-2] for _, n in reversed(history.via(op)) if n.endswith(".forward")), ""
    )
    facts: dict[str, Fact] = {
        "tensor": named.name,
        "layer": layer or bare(op.func),
        "reader_line": reader.site[-1].line,
    }
    place = history.place("cause", write.site, write.moment, note("writes-input"))
    causes: list[FindingPlace | None] = [place]
    fixes: list[Fix | None] = []
    for file, text in history.trace.texts.items():
        lines = lines_calling(text, layer, "inplace") if layer else []
        for line in lines[:2]:
            causes.append(history.line_place("cause", file, line, note("in-place-layer")))
            edit = edits.drop_keyword(text, file, line, "inplace", layer)
            fixes.append(fix("drop-inplace", {"line": line}, edit))
    if place is not None and len(fixes) == 0:
        edit = edits.drop_keyword(history.text(place.file), place.file, place.line, "inplace")
        fixes.append(fix("drop-inplace", {"line": place.line}, edit))
    seen: list[FindingPlace | None] = []
    for run in history.passes:
        for entry in run.accumulated:
            seen = seen or read_after(history, entry.uid, run.moment)
    return finding(
        KIND,
        "warning",
        "plain",
        facts,
        cause=causes,
        witness=[history.place("witness", reader.site, reader.moment, note("reads-changed"))],
        surfaced=[*seen, history.place("surfaced", reader.site, reader.moment)],
        fixes=fixes,
    )
