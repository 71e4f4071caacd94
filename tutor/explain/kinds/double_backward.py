"""A derivative of a derivative whose first derivative has no graph, or whose second is missing."""

from __future__ import annotations

import ast
import re

from tutor.explain import edits, rewrites, source
from tutor.explain.build import finding, fix, note, surfaced
from tutor.explain.custom import file_of, function_of
from tutor.explain.finding import Fact, Finding, FindingPlace, Fix
from tutor.explain.flow import Behind, Cut, behind
from tutor.explain.history import Failure, History, bare, op_name
from tutor.explain.kinds.no_grad_fn import root_without_grad
from tutor.explain.reads import read_after
from tutor.explain.shown import shown_places
from tutor.trace import NONE
from tutor.trace.state import OpState, PassState

KIND = "double-backward"

_MISSING = re.compile(
    r"derivative for '?[\w:]+'? is not implemented|ouble backward is (?:not supported|unsupported)"
    r"|marked with @once_differentiable"
)
"""Which derivatives torch lacks is known to torch alone."""

_ADDITIVE = frozenset(
    ["add", "add_", "__add__", "__radd__", "__iadd__", "sub", "sub_", "__sub__", "__rsub__"]
)


def raised(history: History, failure: Failure) -> Finding | None:
    """A root made of gradients that `autograd.grad` gave without a graph; a missing rule."""
    root = root_without_grad(history, failure)
    if root != NONE:
        came = behind(history, root, failure.moment)
        if came.grads:
            name = history.name(root, failure.moment)
            seen = surfaced(history, note("no-grad-fn", tensor=name))
            once = came.grads[0].event.create
            variant = "once" if once else "no-graph"
            return _without_graph(history, came, {"root": name}, variant, [seen])
        return _of_grad(history, failure, came, root)
    run = failure.run
    if run is None or not _MISSING.search(failure.message):
        return None
    first = [p for p in history.passes if p.run < run.run and p.event.create]
    if not first and "_backward" not in failure.message:
        return None  # a first derivative is missing
    node = history.nodes.get(run.failing)
    op = node.name if node is not None else "an op"
    causes: list[FindingPlace | None] = []
    if node is not None and node.site:
        causes.append(history.place("cause", node.site, node.moment, note("no-second")))
    causes += [history.place("cause", p.site, p.moment, note("first-derivative")) for p in first]
    causes.append(history.place("cause", failure.site, failure.moment))
    return finding(
        KIND,
        "error",
        "not-implemented",
        {"op": op_name(op), "message": failure.message.strip().splitlines()[0]},
        cause=causes,
        surfaced=[surfaced(history)],
    )


def _without_graph(
    history: History,
    came: Behind,
    facts: dict[str, Fact],
    variant: str,
    seen: list[FindingPlace | None],
) -> Finding:
    first = came.grads[0]
    here = first.site[-1]
    edit = edits.add_keyword(
        history.text(here.file), here.file, here.line, "grad", "create_graph", "True"
    )
    causes = [
        history.place("cause", run.site, run.moment, note("first-derivative")) for run in came.grads
    ]
    fixes = [fix("create-graph", {"line": here.line}, edit)]
    if variant == "once":
        causes[1:] = _once(history, first, fixes)
    return finding(
        KIND,
        "warning" if variant == "constant" else "error",
        variant,
        facts,
        cause=causes,
        surfaced=seen,
        fixes=fixes,
    )


def _once(history: History, run: PassState, fixes: list[Fix | None]) -> list[FindingPlace | None]:
    """Where a Function was applied whose backward can be differentiated only once, and why."""
    found: list[FindingPlace | None] = []
    for number in run.arrived:
        node = history.nodes.get(number)
        cls = function_of(history, node.name) if node is not None else None
        if node is None or cls is None:
            continue
        found.append(history.place("cause", node.site, node.moment, note("no-second")))
        back = source.method(cls, "backward")
        for decorator in back.decorator_list if back is not None else ():
            name = (
                decorator.attr if isinstance(decorator, ast.Attribute) else ast.unparse(decorator)
            )
            if name == "once_differentiable":
                file = file_of(history, cls.name)
                words = note("no-second")
                found.append(history.line_place("cause", file, decorator.lineno, words))
                edit = rewrites.without_block(history.text(file), file, decorator.lineno)
                fixes.append(fix("differentiable", {"line": decorator.lineno}, edit))
    return found


def ran(history: History) -> list[Finding]:
    """A penalty on a gradient that is a constant in the loss; a second derivative that is zero."""
    for run in history.passes:
        if run.event.kind != "backward" or not run.ok:
            continue
        for uid, _ in run.event.roots:
            found = _constant_penalty(history, run, uid)
            if found is not None:
                return [found]
    return _zero_second(history)


def _constant_penalty(history: History, run: PassState, root: int) -> Finding | None:
    """A summand of the loss that is made of gradients without a graph."""
    results, kept = history.grad_results, history.filled_by
    if not results and not kept:
        return None
    for uid in _constant_summands(history, root, run.moment):
        came = behind(history, uid, run.moment)
        names: dict[str, Fact] = {
            "root": history.name(root, run.moment),
            "penalty": history.name(uid, run.moment),
        }
        if came.grads:
            return _without_graph(history, came, names, "constant", _seen(history, run, root))
        for cut in came.cuts:
            outer = _derived_from(history, [cut.lost], set(results), cut.moment)
            if outer is not None:
                return _cut_penalty(history, run, root, names, cut, results[outer])
        read = [kept[leaf] for leaf in came.leaves if leaf in kept and kept[leaf] < run.run]
        if read:
            return _read_penalty(history, run, root, names, read[0])
    return None


def _seen(history: History, run: PassState, root: int) -> list[FindingPlace | None]:
    """Where the loss, or a gradient that lacks the term, is looked at."""
    seen: list[FindingPlace | None] = []
    for entry in run.accumulated:
        seen = seen or read_after(history, entry.uid, run.moment, "")
    leaves = [entry.uid for entry in run.accumulated]
    seen = seen[:1] + shown_places(history, leaves, run.moment, wrong=[root], limit=1)
    return [*seen, history.place("surfaced", run.site, run.moment)]


def _cut_penalty(
    history: History,
    run: PassState,
    root: int,
    names: dict[str, Fact],
    cut: Cut,
    first: PassState,
) -> Finding:
    """A term whose first derivative has a graph, and that is cut off after it."""
    return finding(
        KIND,
        "warning",
        "constant-cut",
        {**names, "func": bare(cut.op.func)},
        cause=[
            history.place("cause", cut.site, cut.moment, note("cuts")),
            history.place("cause", first.site, first.moment, note("first-derivative")),
        ],
        surfaced=_seen(history, run, root),
    )


def _of_grad(history: History, failure: Failure, came: Behind, root: int) -> Finding | None:
    """A root made of `.grad`, which a plain backward fills with values without a graph."""
    kept: dict[int, int] = {}
    for entry in history.accumulations.values():
        kept.setdefault(entry.grad, entry.run)
    number = next((kept[leaf] for leaf in came.leaves if leaf in kept), None)
    first = history.last.passes.get(number) if number is not None else None
    if first is None or came.cuts:
        return None
    name = history.name(root, failure.moment)
    return finding(
        KIND,
        "error",
        "of-grad",
        {"root": name},
        cause=[
            history.place("cause", first.site, first.moment, note("first-derivative")),
            *_uses(history, came, kept, failure.moment),
        ],
        surfaced=[surfaced(history, note("no-grad-fn", tensor=name))],
        fixes=_kept_graph(history, first),
    )


def _uses(
    history: History, came: Behind, kept: dict[int, int], moment: int
) -> list[FindingPlace | None]:
    """The first call that computes with such a gradient."""
    for leaf in came.leaves:
        if leaf in kept:
            for op in history.users.get(leaf, ()):
                if op.moment < moment and op.event.outs and op.site and op.event.via == NONE:
                    return [history.place("cause", op.site, op.moment, note("no-graph-here"))]
    return []


def _kept_graph(history: History, first: PassState) -> list[Fix | None]:
    """The first backward with a graph of its own."""
    if not first.site:
        return []
    here = first.site[-1]
    where = (history.text(here.file), here.file, here.line, "backward", "create_graph", "True")
    return [fix("create-graph", {"line": here.line}, edits.add_keyword(*where))]


def _read_penalty(
    history: History, run: PassState, root: int, names: dict[str, Fact], number: int
) -> Finding | None:
    """A term made of `.grad`, which a plain backward fills with values without a graph."""
    first = history.last.passes.get(number)
    if first is None:
        return None
    return finding(
        KIND,
        "warning",
        "constant-grad",
        names,
        cause=[history.place("cause", first.site, first.moment, note("first-derivative"))],
        surfaced=_seen(history, run, root),
    )


def _constant_summands(history: History, root: int, moment: int) -> list[int]:
    """Scalars without grad that are added to others with grad on the way to a root."""
    found: list[int] = []
    pending, seen = [root], {root}
    while pending and len(seen) < 200:
        made = [op for op in history.makers.get(pending.pop(), ()) if op.moment < moment]
        op: OpState | None = made[-1] if made else None
        if op is None or bare(op.func) not in _ADDITIVE:
            continue
        for argument in op.event.args:
            meta = history.meta(argument, op.moment)
            if meta is None or argument in seen or meta.shape not in ((), (1,)):
                continue
            seen.add(argument)
            if meta.requires_grad:
                pending.append(argument)
            else:
                found.append(argument)
    return found


def _zero_second(history: History) -> list[Finding]:
    """A derivative of a derivative that is exactly zero, behind piecewise linear ops."""
    first: dict[int, PassState] = {
        uid: p for p in history.passes if p.event.create for uid in p.results if uid != NONE
    }
    for run in history.passes:
        if run.event.kind != "grad" or not run.ok or not run.results:
            continue
        values = [t.value for uid in run.results if (t := history.tensor(uid)) is not None]
        if not values or any(v is None or not _all_zero(v.flat, v.low, v.high) for v in values):
            continue
        outer = _derived_from(history, [uid for uid, _ in run.event.roots], set(first), run.moment)
        if outer is None:
            continue
        source_run = first[outer]
        linear = [
            node
            for _, top in source_run.event.roots
            for node in history.walk(top)
            if op_name(node.name) in _PIECEWISE
        ]
        if not linear:
            continue
        node = linear[0]
        seen: list[FindingPlace | None] = []
        for uid in run.results:
            seen = seen or read_after(history, uid, run.moment, "", value=True)
        seen = seen[:1] + shown_places(history, (), run.moment, wrong=run.results)
        return [
            finding(
                KIND,
                "warning",
                "zero",
                {"op": op_name(node.name)},
                cause=[
                    history.place("cause", node.site, node.moment, note("piecewise")),
                    history.place("cause", run.site, run.moment, note("second-derivative")),
                ],
                witness=[history.place("witness", source_run.site, source_run.moment)],
                surfaced=[*seen[:2], history.place("surfaced", run.site, run.moment)],
            )
        ]
    return []


_PIECEWISE = frozenset(
    ["relu", "leaky_relu", "threshold", "hardtanh", "abs", "clamp", "clamp_min", "maximum",
     "max", "amax", "max_pool2_d_with_indices"]
)  # fmt: skip


def _all_zero(flat: tuple[object, ...] | None, low: float | None, high: float | None) -> bool:
    if flat is not None:
        return bool(flat) and all(v == 0 for v in flat)
    return low == 0.0 and high == 0.0


def _derived_from(history: History, roots: list[int], wanted: set[int], moment: int) -> int | None:
    """One of the wanted tensors from which a root was made through a few calls."""
    pending, seen = list(roots), set(roots)
    while pending and len(seen) < 64:
        current = pending.pop(0)
        if current in wanted:
            return current
        maker = history.maker(current)
        for argument in maker.event.args if maker is not None else ():
            if argument not in seen:
                seen.add(argument)
                pending.append(argument)
    return None
