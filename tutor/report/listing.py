"""The code with its marks: the lines that matter, a little around them, notes at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tutor.explain import FindingPlace
from tutor.report.style import MARKS, Style, clip, pad, width, wrap

AROUND = 1
"""Lines shown before and after a marked one."""

WHOLE = 14
"""A source of at most this many lines is shown whole."""

_ORDER = ("surfaced", "cause", "witness")


@dataclass
class _Row:
    roles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    iteration: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """The notes, and in which iteration, where the line is in a loop."""
        count = "·".join(str(n) for n in self.iteration)
        return ", ".join(self.notes) + (f"  (iteration {count})" if count else "")


def listing(text: str, places: Sequence[FindingPlace], style: Style, cells: int) -> list[str]:
    """Lines of one file with the marks of these places; empty where there is no source."""
    rows = text.expandtabs(4).split("\n")
    while rows and not rows[-1].strip():
        rows.pop()
    marked: dict[int, _Row] = {}
    for place in places:
        if not 1 <= place.line <= len(rows):
            continue
        row = marked.setdefault(place.line, _Row())
        if place.role not in row.roles:
            row.roles.append(place.role)
        if place.note and place.note not in row.notes:
            row.notes.append(place.note)
        row.iteration = row.iteration or place.iteration
    if not marked:
        return []
    shown = _shown(rows, set(marked))
    number_width = len(str(max(shown)))
    column = _column(rows, marked, cells - number_width - 6)
    lines: list[str] = []
    last = 0
    for number in shown:
        if last and number > last + 1:
            lines.append(style.paint(" " * (number_width + 4) + "⋮", "dim"))
        lines += _lines(
            rows[number - 1], number, number_width, marked.get(number), style, column, cells
        )
        last = number
    return lines


def _shown(rows: list[str], marked: set[int]) -> list[int]:
    if len(rows) <= WHOLE:
        return list(range(1, len(rows) + 1))
    wanted: set[int] = set()
    for number in marked:
        wanted |= set(range(max(1, number - AROUND), min(len(rows), number + AROUND) + 1))
    # A gap of one line is no shorter than the line.
    for number in range(2, len(rows)):
        if number - 1 in wanted and number + 1 in wanted:
            wanted.add(number)
    kept = sorted(wanted)
    while kept and not rows[kept[0] - 1].strip() and kept[0] not in marked:
        kept.pop(0)
    while kept and not rows[kept[-1] - 1].strip() and kept[-1] not in marked:
        kept.pop()
    return kept


def _column(rows: list[str], marked: dict[int, _Row], room: int) -> int:
    """Where the notes begin: behind the longest marked line, if that leaves room for them."""
    longest = max(width(rows[n - 1].rstrip()) for n, row in marked.items())
    notes = max((width(row.words) for row in marked.values()), default=0)
    return max(min(longest, room - min(notes, room // 2) - 3), 12)


def _lines(
    text: str,
    number: int,
    number_width: int,
    row: _Row | None,
    style: Style,
    column: int,
    cells: int,
) -> list[str]:
    """A line of code; its notes go on below it where there is no room beside it."""
    code = text.rstrip()
    left = f"{number:>{number_width}}"
    if row is None:
        body = clip(code, cells - number_width - 6)
        return [f"  {style.paint(f'  {left}', 'dim')}  {style.paint(body, 'dim')}".rstrip()]
    role = next(r for r in _ORDER if r in row.roles)
    mark = "".join(MARKS[r] for r in _ORDER if r in row.roles)[:2]
    notes = row.words
    head = style.paint(mark.rjust(2), role)
    shown = pad(clip(code, column if notes else cells - number_width - 6), column)
    line = f"{head}{style.paint(f'  {left}', role)}  {style.paint(shown, 'bold')}"
    if not notes:
        return [line.rstrip()]
    room = max(cells - number_width - 9 - column, 8)
    tails = [notes] if width(notes) <= room else _wrapped(notes, room)
    gap = " " * (number_width + 9 + column)
    first = f"{line}   {style.paint(tails[0], role)}"
    return [first, *(gap + style.paint(tail, role) for tail in tails[1:])]


def _wrapped(notes: str, room: int) -> list[str]:
    """Notes in several rows, the number of an iteration in one with its word."""
    held = notes.replace("(iteration ", "(iteration\0")
    return [row.replace("\0", " ") for row in wrap(held, room)]
