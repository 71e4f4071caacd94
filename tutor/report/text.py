"""The report for people: the code with its marks, then what, why, where, what to change."""

from __future__ import annotations

from tutor.explain import Finding, Fix, words
from tutor.explain.unseen import unseen
from tutor.report import graph
from tutor.report.gaps import gaps_words, number
from tutor.report.listing import listing
from tutor.report.style import MARKS, ROLES, Style, pad, width, wrap
from tutor.report.subject import Diagnosed
from tutor.trace import Trace

_SIGNS = {"error": "✗", "warning": "!", "note": "i"}

_GRAPH_KINDS = ("inplace-saved", "optimizer-step-stale", "freed-graph", "data-bypass")

_ENDS = {
    "timeout": "The program was stopped because it took too long.",
    "out-of-memory": "The program was stopped because it used too much memory.",
    "killed": "The program's process was ended from outside.",
    "cancelled": "The program was stopped.",
    "garbled": "The program's process sent something that cannot be read.",
}


def render(diagnosis: Diagnosed, color: bool = False, width: int = 80) -> str:
    """The whole report, without a newline at its end. `width` is in terminal cells."""
    style = Style(color)
    cells = max(40, min(width, 120))
    main = diagnosis.trace.program
    file = main.sources[-1].file if main is not None and main.sources else ""
    found = list(diagnosis.findings)
    blocks = [_finding(diagnosis.trace, one, file, style, cells) for one in found]
    blocks.append(_end(diagnosis, style, cells))
    missed = [row for text in unseen(diagnosis.trace) for row in wrap(text, cells)]
    if missed:
        blocks.insert(len(blocks) - 1, missed)
    if all(one.severity == "note" for one in found):
        kept = _kept(diagnosis.trace, style)
        if kept:
            blocks.insert(len(blocks) - 1, kept)
    blocks.append(_not_kept(diagnosis.trace, style, cells))
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)


def _finding(trace: Trace, one: Finding, main: str, style: Style, cells: int) -> list[str]:
    said = words(one)
    lines = _title(one, said.title, style, cells)
    lines.append("")
    shown = _code(trace, one, main, style, cells)
    lines += shown
    if shown:
        lines.append("")
    for paragraph in said.explanation.split("\n"):
        if not paragraph:
            lines.append("")
            continue
        lines += [f"  {style.inline(row)}" for row in wrap(paragraph, cells - 2)]
    lines += _failing(trace, one, style)
    lines += _where(one, main, style)
    lines += _fixes(trace, one, style, cells)
    if one.lesson:
        lines += ["", f"  Learn more: {style.paint(f'autograd-tutor {one.lesson}', 'bold')}"]
    return lines


def _title(one: Finding, title: str, style: Style, cells: int) -> list[str]:
    sign = style.paint(f"{_SIGNS[one.severity]} {one.severity}", one.severity)
    head = f"{_SIGNS[one.severity]} {one.severity}"
    rows = wrap(title, cells - width(head) - 3)
    lines = [f"{sign}   {style.paint(rows[0] if rows else '', 'bold')}"]
    lines += [" " * (width(head) + 3) + style.paint(row, "bold") for row in rows[1:]]
    return lines


def _code(trace: Trace, one: Finding, main: str, style: Style, cells: int) -> list[str]:
    lines: list[str] = []
    files = list(dict.fromkeys(place.file for place in one.places))
    files.sort(key=lambda file: file != main)
    for file in files:
        rows = listing(
            trace.texts.get(file, ""), [p for p in one.places if p.file == file], style, cells
        )
        if rows and (len(files) > 1 or file != main):
            lines.append(f"  {style.paint(file, 'dim')}")
        lines += rows
    return lines


def _failing(trace: Trace, one: Finding, style: Style) -> list[str]:
    """The node that failed, and what it had kept."""
    if one.kind not in _GRAPH_KINDS:
        return []
    failed = [run for run in trace.passes if run.stale is not None]
    run = failed[-1] if failed else next((r for r in trace.passes if r.altered), None)
    if run is None:
        return []
    number = run.stale[0] if run.stale is not None else run.altered[0][0]
    rows = graph.node_rows(trace, run, number)
    if len(rows) < 2:
        return []
    return ["", *[f"  {line}" for line in graph.render(rows, style)]]


def _where(one: Finding, main: str, style: Style) -> list[str]:
    """One line a place: its role in a word, and how the program came there."""
    lines: list[str] = []
    told: set[tuple[str, str, int]] = set()
    for place in one.places:
        if (place.role, place.file, place.line) in told:
            continue
        told.add((place.role, place.file, place.line))
        where = f"line {place.line}" if place.file == main else f"{place.file}:{place.line}"
        if place.function != "<module>":
            where += f" in {place.function}"
        if place.iteration:
            where += f", iteration {'·'.join(str(n) for n in place.iteration)}"
        calls = [spot for spot in place.stack[:-1] if spot.line != place.line]
        if calls:
            where += ", called from " + " → ".join(f"line {spot.line}" for spot in calls[-3:])
        mark = style.paint(f"{MARKS[place.role]} {pad(ROLES[place.role], 9)}", place.role)
        lines.append(f"  {mark} {where}")
    if all(place.function == "<module>" and not place.iteration for place in one.places):
        return []  # the listing says as much
    return ["", *lines]


def _fixes(trace: Trace, one: Finding, style: Style, cells: int) -> list[str]:
    lines: list[str] = []
    for fix in [f for f in one.fixes if f.verified is not False][:2]:
        lines += ["", f"  {fix.title}{_proof(fix, style)}"]
        for edit in fix.edits:
            for offset, row in enumerate(edit.new.split("\n") if edit.new else ["(no line)"]):
                number = edit.line + offset
                sign = "+" if edit.end_line < edit.line else "→"
                lines.append(
                    f"  {style.paint(f'{sign} {number:>3}', 'good')}  {style.paint(row, 'bold')}"
                )
    return lines


def _proof(fix: Fix, style: Style) -> str:
    if fix.verified is None:
        return style.paint("   (not tried)", "dim")
    return style.paint(f"   ✓ {fix.how}", "good")


def _kept(trace: Trace, style: Style) -> list[str]:
    """What the last pass found kept: shown where the run went well and the graph is small."""
    done = [run for run in trace.passes if run.event.roots and not run.event.nested]
    if not done:
        return []
    run = done[-1]
    rows = graph.graph(trace, run)
    if not rows:
        return []
    line = run.site[-1].line if run.site else 0
    return [
        f"What the backward on line {line} went through",
        "",
        *[f"  {text}" for text in graph.render(rows, style)],
    ]


def _not_kept(trace: Trace, style: Style, cells: int) -> list[str]:
    """What of a long run could not be looked at."""
    words = gaps_words(trace)
    text = f"The run was long: {words}. Its first and last events are." if words else ""
    return [style.paint(row, "dim") for row in wrap(text, cells)] if text else []


def _end(diagnosis: Diagnosed, style: Style, cells: int) -> list[str]:
    trace = diagnosis.trace
    end = trace.end
    found = diagnosis.findings
    if end is not None and end.outcome in _ENDS:
        said = "" if end.cut else _ENDS[end.outcome]
        text = f"{said} {end.message}".strip()
        return [style.paint(row, "error") for row in wrap(text, cells)]
    if any(one.severity != "note" for one in found):
        return []
    if end is not None and end.outcome == "error":
        return [style.paint("The program failed.", "error")]
    code = end.code if end is not None else 0
    if end is not None and end.outcome == "exited" and code:
        return [style.paint(f"The program ended itself with exit code {code}.", "warning")]
    passes = trace.last.begun
    what = {0: "no backward ran", 1: "1 backward ran"}.get(
        passes, f"{number(passes)} backwards ran"
    )
    lines = [f"{style.paint('✓ nothing wrong was found', 'good')}   {what}"]
    if end is not None and end.outcome == "exited" and trace.finished is None:
        text = (
            "It ended at once, by os._exit, or became another program, by os.exec. "
            "What came after that was not watched."
        )
        lines += [style.paint(row, "dim") for row in wrap(text, cells)]
    return lines


__all__ = ["render"]
