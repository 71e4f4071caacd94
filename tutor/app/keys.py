"""Every key of the app: an id, what it does, its letters and its second keys.

The help screen, the palette and the line of keys at the bottom all read this table. Letters
work outside the editor; function and control keys work inside it too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding

Where = Literal["lesson", "course", "everywhere"]


@dataclass(frozen=True, slots=True)
class KeySpec:
    """One binding: `keys` as textual names them, `shown` as people write them."""

    id: str
    keys: str
    shown: str
    action: str
    words: str
    tooltip: str
    group: str

    def binding(self) -> Binding:
        """The textual binding."""
        return Binding(
            self.keys,
            self.action,
            self.words,
            show=False,
            tooltip=self.tooltip,
            id=self.id,
        )


def _spec(
    id: str, keys: str, shown: str, action: str, words: str, tooltip: str, group: str
) -> KeySpec:
    return KeySpec(id, keys, shown, action, words, tooltip, group)


WORK_KEYS: tuple[KeySpec, ...] = (
    _spec(
        "run",
        "r,f5,ctrl+r",
        "r  F5  ctrl+r",
        "run",
        "Run, or stop",
        "Run the code; while it runs, stop it.",
        "Code",
    ),
    _spec(
        "edit",
        "i,enter,f3",
        "i  Enter  F3",
        "edit",
        "Edit the code",
        "Go into the editor. Escape leaves it.",
        "Code",
    ),
    _spec(
        "apply",
        "a",
        "a",
        "apply_fix",
        "Apply the fix and run",
        "Make the first change that is proposed, as one step of undo, and run.",
        "Code",
    ),
    _spec(
        "reset",
        "R,ctrl+l",
        "R  ctrl+l",
        "reset",
        "Back to the first code",
        "Put the code back as it was at the start. ctrl+z in the editor undoes it.",
        "Code",
    ),
    _spec(
        "live",
        "l",
        "l",
        "live",
        "Live: run when typing pauses",
        "With it on, the code runs by itself a moment after the last key.",
        "Code",
    ),
    _spec(
        "unfold",
        "u",
        "u",
        "unfold",
        "Unfold the setup",
        "Show or hide the code that runs before yours.",
        "Code",
    ),
    _spec(
        "prose",
        "x,f2",
        "x  F2",
        "show('lesson')",
        "The lesson's text",
        "Go to the text of the step.",
        "Panes",
    ),
    _spec(
        "code",
        "d",
        "d",
        "show('code')",
        "The code",
        "Look at the code, and at what is asked about it.",
        "Panes",
    ),
    _spec(
        "graph",
        "g,f4",
        "g  F4",
        "show('graph')",
        "Graph",
        "The autograd graph, from each root down.",
        "Panes",
    ),
    _spec(
        "tensors",
        "t,f8",
        "t  F8",
        "show('tensors')",
        "Tensors",
        "Each named tensor: value, flags, gradient.",
        "Panes",
    ),
    _spec(
        "versions",
        "v",
        "v",
        "show('versions')",
        "Versions",
        "Each version counter, its writes, and the saves they broke.",
        "Panes",
    ),
    _spec(
        "output",
        "o",
        "o",
        "show('output')",
        "Output",
        "What the program printed, its warnings, its traceback.",
        "Panes",
    ),
    _spec(
        "explanation",
        "e",
        "e",
        "show('explanation')",
        "Explanation",
        "What happened, why, where, and what to change.",
        "Panes",
    ),
    _spec(
        "zoom",
        "z,ctrl+o",
        "z  ctrl+o",
        "zoom",
        "Zoom",
        "Let the pane in focus fill the screen; again brings the others back.",
        "Panes",
    ),
    _spec(
        "line-back",
        "left_square_bracket",
        "[",
        "time('line', False)",
        "One line back",
        "Go back in time to the line before.",
        "Time",
    ),
    _spec(
        "line-on",
        "right_square_bracket",
        "]",
        "time('line', True)",
        "One line on",
        "Go on in time to the next line.",
        "Time",
    ),
    _spec(
        "op-back",
        "left_curly_bracket",
        "{",
        "time('op', False)",
        "One torch call back",
        "Go back to before the last call of torch.",
        "Time",
    ),
    _spec(
        "op-on",
        "right_curly_bracket",
        "}",
        "time('op', True)",
        "One torch call on",
        "Go on to after the next call of torch.",
        "Time",
    ),
    _spec(
        "pass-back",
        "left_parenthesis",
        "(",
        "time('pass', False)",
        "One backward step back",
        "Go back to the node that the backward pass visited before.",
        "Time",
    ),
    _spec(
        "pass-on",
        "right_parenthesis",
        ")",
        "time('pass', True)",
        "One backward step on",
        "Go on to the node that the backward pass visits next.",
        "Time",
    ),
    _spec(
        "cause",
        "c",
        "c",
        "cause",
        "To the cause",
        "Go to the line and the moment that a finding blames.",
        "Time",
    ),
    _spec(
        "search",
        "slash",
        "/",
        "search",
        "Search",
        "Find text in the pane in focus.",
        "App",
    ),
    _spec(
        "palette",
        "colon,ctrl+p",
        ":  ctrl+p",
        "app.command_palette",
        "Palette",
        "Every command by name.",
        "App",
    ),
    _spec("help", "question_mark,f1", "?  F1", "help", "Help", "This page.", "App"),
    _spec("quit", "q,ctrl+q", "q  ctrl+q", "app.quit", "Quit", "Leave; all is kept.", "App"),
)

LESSON_KEYS: tuple[KeySpec, ...] = (
    _spec(
        "next",
        "n,f9",
        "n  F9",
        "next",
        "Next step",
        "Go on to the next step, after the last one to the next lesson.",
        "Lesson",
    ),
    _spec("previous", "p", "p", "previous", "Previous step", "Go back one step.", "Lesson"),
    _spec(
        "hint",
        "h,ctrl+t",
        "h  ctrl+t",
        "hint",
        "A hint",
        "Show the next hint, one at a time.",
        "Lesson",
    ),
    _spec(
        "solution",
        "s",
        "s",
        "solution",
        "The solution",
        "Show a solution under the text. Nothing is counted against you.",
        "Lesson",
    ),
    _spec(
        "use",
        "U",
        "U",
        "use",
        "Use the solution",
        "Put the solution that is shown into the code. ctrl+z in the editor undoes it.",
        "Lesson",
    ),
    _spec(
        "skip",
        "S",
        "S",
        "skip",
        "Skip the step",
        "Enter the solution, mark the step as skipped, and go on.",
        "Lesson",
    ),
    _spec(
        "tries",
        "y",
        "y",
        "tries",
        "Earlier tries",
        "The codes that were run before: compare them, go back to one.",
        "Lesson",
    ),
    _spec(
        "free",
        "f",
        "f",
        "free",
        "Free play",
        "Take this code to the playground, where nothing is checked.",
        "Lesson",
    ),
    _spec(
        "course",
        "b,backspace",
        "b  Backspace",
        "course",
        "All lessons",
        "Back to the list of lessons.",
        "Lesson",
    ),
)


def bindings(*tables: Iterable[KeySpec]) -> list[Binding]:
    """The textual bindings of these tables."""
    return [spec.binding() for table in tables for spec in table]


COURSE_KEYS: tuple[KeySpec, ...] = (
    _spec("open", "o", "Enter", "pick", "Open the lesson", "Open the lesson.", "Lessons"),
    _spec("find", "slash", "/", "search", "Search", "Search titles and concepts.", "Lessons"),
    _spec("play", "f", "f", "free", "Free play", "A playground without a lesson.", "Lessons"),
    *(spec for spec in WORK_KEYS if spec.id in ("palette", "help", "quit")),
)
