"""The help page: what the pane in focus shows, what its signs mean, and every key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from tutor.app.model.glyphs import UNICODE, Glyphs
from tutor.app.model.prose import prose_rows
from tutor.app.model.rows import BLANK, Role, Row, Span, wrap


class KeyLike(Protocol):
    """What the page needs of a key."""

    @property
    def shown(self) -> str: ...
    @property
    def words(self) -> str: ...
    @property
    def group(self) -> str: ...


ABOUT: Mapping[str, tuple[str, str]] = {
    "lesson": (
        "The lesson's text",
        "What this step is about and what to do. Hints, a solution and the closing words are "
        "added below it. `n` goes on, `p` goes back; nothing is locked, and nothing is counted "
        "against you.",
    ),
    "code": (
        "The code",
        "`i` or Enter goes into the editor, Escape leaves it. Outside it every letter is a key. "
        "After a run each line has a sign and, where something happened, a few words at its end. "
        "An edit hides them until the next run; undoing the edit brings them back. "
        "The dim line above the code is what runs before it: `u` unfolds it.",
    ),
    "graph": (
        "The graph",
        "The nodes that autograd recorded, from the result down to the leaves: the way a backward "
        "pass goes. Under a node stand the tensors that it saved, each with the version it had "
        "then. A chain is drawn flat; the indent grows where a node has several inputs. "
        "`grad` is the gradient that reached the node in the latest backward pass.",
    ),
    "tensors": (
        "The tensors",
        "Each tensor that a name means at this moment: its value, whether it is a leaf, whether "
        "it requires a gradient, and its `.grad`. What changed since the last line says so.",
    ),
    "versions": (
        "The version counters",
        "Every tensor has a counter that each in-place write moves on; views and detached tensors "
        "share it. Under a version stand the nodes that saved the tensor while it was at that "
        "version. If the counter has moved on, the save no longer holds, and a backward pass that "
        "needs it stops.",
    ),
    "output": (
        "The output",
        "What the program printed, its warnings, and its traceback. The lines of a traceback are "
        "links into your code.",
    ),
    "explanation": (
        "The explanation",
        "First what the step says to your code: each check that does not hold, with what was "
        "wanted and what was found. Then what went wrong, why, and where: up and down choose a "
        "line, Enter goes to that place in the code. `a` makes the proposed change and runs; "
        "ctrl+z in the editor takes it back.",
    ),
    "course": (
        "The lessons",
        "Every lesson can be opened at any time. Enter opens one, `/` searches titles and "
        "concepts. The cursor starts on the lesson to go on with.",
    ),
}


def help_rows(
    pane: str, keys: Iterable[KeyLike], width: int, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """The page for a pane."""
    title, about = ABOUT.get(pane, ABOUT["code"])
    rows = [Row((Span(title, "strong"),)), *prose_rows(about, width), BLANK]
    if pane in ("code", "graph", "versions", "explanation"):
        rows += [Row((Span("Signs", "strong"),)), *_signs(width, glyphs), BLANK]
    group = ""
    for key in keys:
        if key.group != group:
            if group:
                rows.append(BLANK)
            group = key.group
            rows.append(Row((Span(f"Keys: {group}", "strong"),)))
        lead = Span(f"  {key.shown:<17}", "op")
        rows += [Row(line) for line in wrap((lead, Span(key.words)), width, " " * 19)]
    return rows


def _signs(width: int, glyphs: Glyphs) -> Iterable[Row]:
    table: tuple[tuple[str, Role, str], ...] = (
        (glyphs.ok, "good", "the line ran; a saved tensor still holds"),
        (glyphs.bad, "bad", "here it came out; a saved tensor was changed since"),
        (glyphs.mark, "warn", "a line that caused it, or made it matter"),
        (glyphs.here, "new", "the line that the time slider points to is tinted"),
        (glyphs.freed, "dim", "a backward pass released what was saved"),
        (glyphs.shared, "dim", "a node with several users, drawn once"),
        (glyphs.again, "op", "the same node again: Enter goes to it"),
        (glyphs.packed, "dim", "a saved tensor that a hook has packed away"),
    )
    for sign, role, words in table:
        yield from (
            Row(line) for line in wrap((Span(f"  {sign}  ", role), Span(words)), width, "     ")
        )
