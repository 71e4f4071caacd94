"""A saved value changed past its version counter: a wrong gradient, and no error."""

from __future__ import annotations

from tutor.explain import edits, source
from tutor.explain.build import finding, fix, note
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.history import History, bare, op_name
from tutor.explain.reads import assigned, read_after
from tutor.explain.stale import stepped_by
from tutor.trace import Save
from tutor.trace.state import NodeState, OpState, PassState, WriteState

KIND = "data-bypass"

_SHARES = frozenset(["numpy", "data_ptr", "untyped_storage", "storage", "from_numpy", "__array__"])


def ran(history: History) -> list[Finding]:
    """A save whose memory no longer holds what was saved, at the same version."""
    for run in history.passes:
        for number, name, storage in run.altered:
            node = history.nodes.get(number)
            save = next((s for s in node.saves if s.name == name), None) if node else None
            if node is None or save is None or node.event.node not in run.arrived:
                continue
            if name.startswith("running_") and _moved_by_itself(history, node, save):
                continue
            return [_explain(history, run, node, save, storage)]
    return []


def _moved_by_itself(history: History, node: NodeState, save: Save) -> bool:
    """Whether the call itself moved these statistics: in training mode its backward needs none."""
    return any(write.op == node.event.op for write in history.writes(save.counter))


def _explain(
    history: History, run: PassState, node: NodeState, save: Save, storage: int
) -> Finding:
    name = history.save_name(save, node)
    facts: dict[str, Fact] = {
        "tensor": name,
        "op": node.name,
        "saver": op_name(node.name),
        "version": save.version,
    }
    writer, causes, way = _writers(history, run, node, save, storage)
    facts["writer"] = bare(writer.func) if writer is not None else "a write"
    keeps = note("saves", tensor=name, expected=save.version)
    surfaced: list[FindingPlace | None] = []
    for entry in run.accumulated:
        surfaced = read_after(history, entry.uid, run.moment, note("wrong-grad"))
        if surfaced:
            facts["leaf"] = history.name(entry.uid, run.moment)
            break
    surfaced.append(history.place("surfaced", run.site, run.moment, note("uses-changed")))
    return finding(
        KIND,
        "warning",
        way,
        facts,
        cause=causes,
        witness=[history.place("witness", node.site, node.moment, keeps)],
        surfaced=surfaced,
        fixes=_fixes(history, causes),
    )


def _writers(
    history: History, run: PassState, node: NodeState, save: Save, storage: int
) -> tuple[OpState | None, list[FindingPlace | None], str]:
    """(the call, the cause places, the way it got past the counter)."""
    words = note("writes-past")
    writes: list[WriteState] = []
    for uid in history.at_storage.get(storage, ()):
        known = history.tensor(uid)
        if known is None or known.meta.counter == save.counter:
            continue
        writes += [
            w
            for w in history.writes(known.meta.counter)
            if node.moment < w.moment < run.moment and w.storage == storage
        ]
    writes = sorted({w.moment: w for w in writes}.values(), key=lambda w: w.moment)
    if writes:
        op = history.trace.op(writes[0].op)
        places = [history.place("cause", w.site, w.moment, words) for w in writes]
        return op, places, "data"
    between = [op for op in history.ops if node.moment < op.moment < run.moment]
    replaced = [
        op for op in between if op.func == "Tensor.data =" and op.event.args[:1] == (save.uid,)
    ]
    if replaced:
        first = replaced[-1]
        return first, [history.place("cause", first.site, first.moment, words)], "data"
    sharing = {
        uid
        for uid in history.at_storage.get(storage, ())
        if (t := history.tensor(uid)) is not None and t.moment < run.moment
    }
    for op in between:
        if sharing & set(op.event.args) and (
            bare(op.func) in ("batch_norm", "instance_norm") or "fused" in op.func
        ):
            way = "fused" if stepped_by(history, op) else "buffer"
            return op, [history.place("cause", op.site, op.moment, words)], way
    for op in history.ops:
        if op.moment < run.moment and bare(op.func) in _SHARES:
            touched = set(op.event.args) | set(op.event.outs)
            if sharing & touched:
                return op, _numpy_lines(history, op, node, run, words), "memory"
    return None, [history.place("cause", node.site, node.moment)], "unseen"


def _numpy_lines(
    history: History, op: OpState, node: NodeState, run: PassState, words: str
) -> list[FindingPlace | None]:
    """Lines between save and backward that write through an array, then the sharing call."""
    found: list[FindingPlace | None] = []
    if op.site:
        here = op.site[-1]
        names = assigned(history.text(here.file), here.line)
        for (file, number), runs in sorted(history.line_runs.items()):
            inside = [m for m in runs if node.moment < m < run.moment]
            if file != here.file or not inside:
                continue
            if names & source.names_written(history.text(file), number):
                found.append(history.line_place("cause", file, number, words))
    found.append(history.place("cause", op.site, op.moment, note("shares")))
    return found


def _fixes(history: History, causes: list[FindingPlace | None]) -> list[Fix | None]:
    first = causes[0] if causes else None
    if first is None:
        return []
    text = history.text(first.file)
    moved = edits.drop_attribute(text, first.file, first.line, "data")
    return [fix("drop-data", {"line": first.line}, moved)]
