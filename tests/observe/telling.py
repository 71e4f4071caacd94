"""A trace as short lines of text, so that a test can name what it must find in them."""

from __future__ import annotations

from tutor.trace import NONE, Trace
from tutor.trace import events as ev
from tutor.trace.state import Site


def told(trace: Trace) -> list[str]:
    """What happened, a line of text each: `call torch.add @3`, `write y 0>1 by Tensor.mul_ @4`.

    The number after `@` is the user's line, with the function where it is not the top level.
    """
    last = trace.last
    names = {uid: t.names[-1].name for uid, t in last.tensors.items() if t.names}
    found: list[str] = []

    def name(uid: int) -> str:
        tensor = last.tensors.get(uid)
        label = tensor.meta.label if tensor is not None else ""
        return names.get(uid) or label or "?"

    for op in trace.ops:
        how = "".join(
            [
                " nested" if op.event.nested else "",
                "" if op.grad_mode else " no_grad",
                " inference" if op.inference else "",
                f" raised {op.event.error[0]}" if op.event.error else "",
            ]
        )
        found.append(f"call {op.func} @{_at(op.site)}{how}")
    for counter in last.counters.values():
        for write in counter.writes:
            op = trace.op(write.op) if write.op != NONE else None
            by = op.func if op is not None else "nothing seen"
            moved = f"{write.before}>{write.after}"
            found.append(f"write {name(write.uid)} {moved} by {by} @{_at(write.site)}")
    for node in last.nodes.values():
        saves = ",".join(f"{s.name}:{'packed' if s.packed else s.role}" for s in node.saves)
        found.append(f"node {node.name} ({saves}) @{_at(node.site)}")
    for run in trace.passes:
        ends = "ok" if run.ok else "failed"
        found.append(f"{run.event.kind} {ends} @{_at(run.site)}")
        found += [f"visit {last.nodes[n].name}" for n in run.arrived if n in last.nodes]
        found += [f"altered {last.nodes[node].name} {save}" for node, save, _ in run.altered]
        found += [f"accumulate {name(one.uid)}" for one in run.accumulated]
    for moment, event in trace.of_kind(ev.Enter):
        via = trace.vias.get(event.via, ())
        through = f" via {via[-1][1]}" if via else ""
        found.append(f"enter {event.function} {event.file}{through}")
        del moment
    found += [f"line {event.line}" for _, event in trace.of_kind(ev.Line)]
    found += [f"thread {event.name}" for _, event in trace.of_kind(ev.Thread)]
    for one in last.unseen:
        found.append(f"unseen {one.what} @{_at(one.site)}")
    for tensor in last.tensors.values():
        meta = tensor.meta
        base = f" view of {name(meta.base)}" if meta.base != NONE else ""
        found.append(f"tensor {name(tensor.uid)} {meta.kind}{base} v{meta.version}")
        found += [f"name {n.name} in {n.function} @{_at(n.site)}" for n in tensor.names]
    return found


def _at(site: Site) -> str:
    if not site:
        return "nowhere"
    place = site[-1]
    return f"{place.line}" if place.function == "<module>" else f"{place.line} {place.function}"
