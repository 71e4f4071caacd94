"""The code with its marks: what a line is to the findings, what it did, and when it ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tutor.explain import Finding, words
from tutor.report.escape import escaped, visible
from tutor.report.film import Film, Piece, Slot
from tutor.report.html.markup import slot, time
from tutor.report.html.reel import Reel, first_lines
from tutor.report.style import MARKS, ROLES
from tutor.report.values import main_file, tensor_name, value_text
from tutor.trace import events as ev
from tutor.trace.trace import Trace

WHOLE = 400
"""Lines of a file that is shown whole."""

AROUND = 8
"""Lines around a marked one in a longer file."""

ROWS = 800
"""Lines shown of one file at the most."""

FILES = 12
"""Files shown at the most: those with marks come first."""

NOTES = 2
"""Parts of one note."""

_ORDER = ("surfaced", "cause", "witness")
_CLASSES = {"error": "bad", "warning": "warn", "note": "note"}


@dataclass(slots=True)
class Mark:
    """What findings say of one line."""

    severity: str
    roles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tips: list[str] = field(default_factory=list)
    rounds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a page in their order, and the markup of all of them."""

    files: tuple[str, ...]
    markup: str
    left_out: tuple[str, ...]
    """Files that ran and are not shown."""

    def row(self, file: str, line: int) -> str:
        """The id of a line's row, "" where its file is not shown."""
        return f"L{self.files.index(file)}-{line}" if file in self.files else ""


def listing(trace: Trace, findings: Sequence[Finding], reel: Reel) -> Listing:
    """The files that ran, with marks and notes."""
    marks = _marks(findings)
    ran: dict[str, dict[int, int]] = {}
    for file, number, moment in first_lines(trace):
        ran.setdefault(file, {})[number] = reel.after(moment)
    main = main_file(trace)
    known = [file for file in trace.texts if file in ran or file in marks or file == main]
    known.sort(key=lambda file: (file != main, file not in marks))
    shown = tuple(known[:FILES])
    notes = _notes(trace, reel)
    parts = [
        _file(trace, index, file, marks.get(file, {}), ran.get(file, {}), notes, reel)
        for index, file in enumerate(shown)
    ]
    return Listing(shown, "".join(parts), tuple(known[FILES:]))


def _marks(findings: Sequence[Finding]) -> dict[str, dict[int, Mark]]:
    table: dict[str, dict[int, Mark]] = {}
    for one in findings:
        title = words(one).title
        for place in one.places:
            if place.line < 1:
                continue
            mark = table.setdefault(place.file, {}).setdefault(place.line, Mark(one.severity))
            if place.role not in mark.roles:
                mark.roles.append(place.role)
            if place.note and place.note not in mark.notes:
                mark.notes.append(place.note)
            mark.rounds = mark.rounds or place.iteration
            tip = f"{ROLES[place.role]}: {title}"
            if tip not in mark.tips:
                mark.tips.append(tip)
    return table


# -- what lines did ------------------------------------------------------------------------


def _notes(trace: Trace, reel: Reel) -> Mapping[tuple[str, int], Slot]:
    """What each line did so far: versions that moved, gradients that came, values it made."""
    film = Film()
    told: dict[tuple[str, int], dict[object, str]] = {}
    for moment, file, number, key, text in sorted(
        [*_writes(trace), *_grads(trace), *_values(trace)], key=lambda entry: entry[0]
    ):
        parts = told.setdefault((file, number), {})
        parts[key] = text
        strong = [p for k, p in parts.items() if not _is_value(k)] or list(parts.values())
        words_ = strong if len(strong) <= NOTES else [strong[0], f"{len(strong) - 1} more"]
        film.say((file, number), reel.after(moment), (Piece(", ".join(words_), "dim"),))
    return {key: film.slot(key) for key in told}


_Entry = tuple[int, str, int, object, str]


def _is_value(key: object) -> bool:
    return isinstance(key, tuple) and key[0] == "value"


def _writes(trace: Trace) -> Iterator[_Entry]:
    """As in b v0 → v5 (×5)."""
    tensors = trace.last.tensors
    for counter in trace.last.counters.values():
        first: dict[tuple[str, int], tuple[int, int]] = {}
        for write in counter.writes:
            if not write.site or write.before == write.after:
                continue
            place = write.site[-1]
            key = (place.file, place.line)
            before, count = first.get(key, (write.before, 0))
            first[key] = (before, count + 1)
            name = tensor_name(tensors.get(write.uid), write.moment)
            if not name:
                continue  # an optimizer's own
            times = f" (×{count + 1})" if count else ""
            text = f"{name} v{before} → v{write.after}{times}"
            yield write.moment, *key, ("write", counter.counter), text


def _grads(trace: Trace) -> Iterator[_Entry]:
    """As in x.grad = [2., 4.]."""
    tensors = trace.last.tensors
    for run in trace.passes:
        for entry in run.accumulated:
            name = tensor_name(tensors.get(entry.uid), entry.moment)
            if entry.site and name:
                place = entry.site[-1]
                value = value_text(entry.after, 28)
                text = f"{name}.grad = {value}" if value else f"adds to {name}.grad"
                yield entry.moment, place.file, place.line, ("grad", name), text


def _values(trace: Trace) -> Iterator[_Entry]:
    """As in y = [1., 2.]: what a line gave to a name."""
    tensors = trace.last.tensors
    written: set[int] = set()
    for moment, event in trace.numbered():
        if type(event) is ev.Write:
            written.add(event.counter)
        if type(event) is not ev.Contents:
            continue
        tensor = tensors.get(event.uid)
        if tensor is None or not tensor.born or tensor.meta.counter in written:
            continue  # what it holds now is not what its line gave it
        name = next((n.name for n in tensor.names if "." not in n.name), "")
        if name:
            place = tensor.born[-1]
            text = f"{name} = {value_text(event.value, 28)}"
            yield moment, place.file, place.line, ("value", name), text


# -- rows ------------------------------------------------------------------------------------


def _file(
    trace: Trace,
    index: int,
    file: str,
    marks: dict[int, Mark],
    ran: dict[int, int],
    notes: Mapping[tuple[str, int], Slot],
    reel: Reel,
) -> str:
    text = trace.texts.get(file, "")
    rows = text.split("\n")
    while rows and not rows[-1].strip():
        rows.pop()
    shown = _shown(len(rows), marks, ran)
    painted = _painted(text)
    out: list[str] = []
    last = 0
    for number in shown:
        if number > last + 1:
            out.append(f'<div class="gap">⋮ {number - last - 1} lines</div>')
        code = painted[number - 1] if number <= len(painted) else escaped(rows[number - 1])
        note = notes.get((file, number), ())
        out.append(
            _row(f"L{index}-{number}", number, code, marks.get(number), ran.get(number), note, reel)
        )
        last = number
    if last < len(rows):
        out.append(f'<div class="gap">⋮ {len(rows) - last} lines</div>')
    name = escaped(file)
    return f'<div class="file" role="group" aria-label="{name}"><h3>{name}</h3>{"".join(out)}</div>'


def _shown(count: int, marks: Iterable[int], ran: Iterable[int]) -> list[int]:
    if count <= WHOLE:
        return list(range(1, count + 1))
    wanted: set[int] = set()
    for number in marks:
        wanted |= set(range(max(1, number - AROUND), min(count, number + AROUND) + 1))
    for number in sorted(ran):
        if len(wanted) >= ROWS:
            break
        wanted |= set(range(max(1, number - 1), min(count, number + 1) + 1))
    return sorted(wanted) or list(range(1, WHOLE + 1))


def _row(
    key: str,
    number: int,
    code: str,
    mark: Mark | None,
    ran: int | None,
    note: Slot,
    reel: Reel,
) -> str:
    if mark is not None:
        roles = [role for role in _ORDER if role in mark.roles]
        signs = "".join(MARKS[role] for role in roles)[:2]
        tip = escaped("; ".join(mark.tips))
        sign = f'<span class="mark" title="{tip}">{signs}<span class="sr"> {tip}</span></span>'
        rounds = f" (iteration {'·'.join(str(n) for n in mark.rounds)})" if mark.rounds else ""
        own = escaped(", ".join(mark.notes) + rounds if mark.notes else "")
        own = f'<span class="said">{own}</span>' if own else ""
        classes = f"row {_CLASSES[mark.severity]}"
    else:
        tick = f"<span{time(ran, None, reel.last)}>✓</span>" if ran is not None else ""
        sign = f'<span class="mark ran" aria-hidden="true">{tick}</span>'
        own, classes = "", "row"
    said = own or (slot(note, reel.last) if note else "")
    notes = f'<span class="notes">{said}</span>' if said else ""
    return (
        f'<div class="{classes}" id="{key}">{sign}<a class="no" href="#{key}">{number}</a>'
        f"<code>{code or ' '}</code>{notes}</div>"
    )


def _painted(text: str) -> list[str]:
    """The lines of a source with their colours, escaped."""
    from pygments.lexers.python import PythonLexer
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    kinds = (
        (Comment, "c"),
        (String, "s"),
        (Keyword, "k"),
        (Operator.Word, "k"),
        (Number, "n"),
        (Name.Function, "f"),
        (Name.Class, "f"),
        (Name.Decorator, "f"),
    )
    lines: list[list[str]] = [[]]
    for token, piece in PythonLexer(stripnl=False, ensurenl=False).get_tokens(visible(text)):
        style = next((name for kind, name in kinds if token[: len(kind)] == kind), "")
        for position, part in enumerate(piece.split("\n")):
            if position:
                lines.append([])
            if part:
                shown = escaped(part.expandtabs(4))
                lines[-1].append(f'<span class="{style}">{shown}</span>' if style else shown)
    return ["".join(line) for line in lines]
