"""An in-place layer changes what another reader of the same tensor sees, without an error."""

from __future__ import annotations

import ast

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import History, bare
from tutor.explain.reads import assigned, read_after
from tutor.explain.shown import shown_places
from tutor.explain.source import lines_calling
from tutor.trace import NONE, Place
from tutor.trace.state import Named, OpState, WriteState

KIND = "silent-inplace"


def ran(history: History) -> list[Finding]:
    """A write hidden in a layer or helper, values that it changed, a reader by the old name."""
    for counter in history.last.counters.values():
        for write in counter.writes:
            op = history.trace.op(write.op)
            if op is None or not write.site:
                continue
            layer = _by_layer(op)
            if not layer and not _by_helper(history, op, write):
                continue
            reader = _reader(history, write, layer)
            if reader is None or not _changed(history, write):
                continue
            return [_explain(history, write, op, *reader)]
    return []


def _by_layer(op: OpState) -> bool:
    return "inplace=True" in op.event.detail or (
        op.func.startswith("functional.") and bare(op.func).endswith("_")
    )


def _by_helper(history: History, op: OpState, write: WriteState) -> bool:
    """Whether a function of the program's own wrote into a computed tensor it was given."""
    if not op.grad_mode or op.event.via != NONE or len(write.site) < 2:
        return False
    name = write.site[-1].function.rpartition(".")[2]
    if name.endswith("_") or name == "<module>":
        return False  # says so itself
    before = history.meta(write.uid, write.moment - 1)
    return before is not None and before.node != NONE


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


def _reader(history: History, write: WriteState, layer: bool) -> tuple[Named, OpState] | None:
    """A name that meant the tensor before the write, and a call that reads it by that name."""
    known = history.tensor(write.uid)
    for named in known.names if known is not None else ():
        if named.since > write.moment or (named.until or write.moment + 1) <= write.moment:
            continue
        frames = [p for p in write.site if p.frame == named.frame]
        if not frames or (not layer and frames[-1] == write.site[-1]):
            continue
        place = frames[-1]
        root = named.name.split("[")[0]
        if root in _stores(history, place):
            continue
        for op in history.users.get(write.uid, ()):
            if op.moment <= write.moment or not op.event.outs:
                continue
            where = next((p for p in op.site if p.frame == named.frame), None)
            if where is None and _handed_out(named, op):
                return named, op
            if where is None or where.line == place.line:
                continue
            if root in _reads(history, where) and not _rebound(history, named, write, op.moment):
                return named, op
    return None


def _handed_out(named: Named, op: OpState) -> bool:
    """Whether a call reads what a list of a function that is over had in it."""
    over = named.until is not None and named.until < op.moment
    return "[" in named.name and over and not op.event.nested


def _reads(history: History, place: Place) -> set[str]:
    """The names, dotted ones too, that a statement reads."""
    text = history.text(place.file)
    node = source.statement(text, place.line)
    if node is None:
        return set()
    dotted = {
        edits.segment(text, child) for child in ast.walk(node) if isinstance(child, ast.Attribute)
    }
    return source.names_read(node) | dotted


def _rebound(history: History, named: Named, write: WriteState, moment: int) -> bool:
    """Whether the name meant another tensor, or the result of the write, by the time of a read."""
    return named.until is not None and write.moment < named.until < moment and "[" not in named.name


def _stores(history: History, place: Place) -> set[str]:
    """The names that the writing statement binds to its result."""
    text = history.text(place.file)
    node = source.statement(text, place.line)
    if isinstance(node, ast.Expr):  # the result is dropped: the write is what is wanted
        return source.names_read(node)
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
    leaves = [entry.uid for run in history.passes for entry in run.accumulated]
    seen = seen[:1]
    seen += shown_places(history, leaves, write.moment, wrong=[*reader.event.outs, write.uid])
    return finding(
        KIND,
        "warning",
        "plain",
        facts,
        cause=causes,
        witness=[history.place("witness", reader.site, reader.moment, note("reads-changed"))],
        surfaced=[*seen[:2], history.place("surfaced", reader.site, reader.moment)],
        fixes=fixes,
    )
