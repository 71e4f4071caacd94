"""The lines of a traceback: those of Python, IPython, pytest and rich."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of a traceback. `line` is 0 where it is not told; `text` is its source."""

    file: str
    line: int
    function: str
    text: str = ""

    @property
    def foreign(self) -> bool:
        """Whether it belongs to a library or to Python, not to the person who pasted it."""
        path = self.file.replace("\\", "/")
        return bool(_FOREIGN.search(path)) or path.startswith(_BUILT_IN)


_FOREIGN = re.compile(
    r"/(?:site|dist)-packages/|/lib/python\d[\d.]*/|/Lib/(?!.*/(?:src|projects)/)|\.egg/"
    r"|(?:^|/)torch/(?:_\w+|autograd|nn|optim|utils|cuda|amp|distributed|func|fx|jit|library"
    r"|multiprocessing|functional|tensor|serialization)(?:\.py|/)"
    r"|(?:^|/)(?:pytorch_lightning|lightning|transformers|accelerate|_pytest|pluggy)/"
    r"|(?:^|/)bin/(?:torchrun|accelerate|pytest|ipython|deepspeed)$"
)
_BUILT_IN = ("<frozen", "<__array_function__", "<autograd", "code/__torch__")

_FILE = r"(?P<file>(?:[A-Za-z]:)?[^:\"\n]+?)"
_IN = r"in (?P<function>.+?)"
_SHAPES = tuple(
    re.compile(text)
    for text in (
        # Python's own; a crash report leaves out the comma.
        rf"\s*(?:> )?File \"(?P<file>[^\"\n]+)\", line (?P<line>\d+)(?:,? {_IN})?\s*$",
        # IPython from 8 on
        rf"\s*File {_FILE}:(?P<line>\d+)(?:, in (?P<function>.+?))?\s*$",
        r"\s*(?P<file>(?:Cell In|Input In|In) ?\[\d+\])(?:, line (?P<line>\d+))?"
        rf"(?:,? {_IN})?\s*$",
        # IPython before 8, and Colab
        r"(?P<file><ipython-input-[^>\n]+>|(?:[A-Za-z]:|~|\.{0,2})?[\\/][^:\n]*?\.pyx?)"
        r" in (?P<function>[\w<].*?)\s*$",
        # pytest, short and long; the type of the error stands in `raised`
        rf"{_FILE}:(?P<line>\d+): in (?P<function>\S+)\s*$",
        rf"{_FILE}\.py:(?P<line>\d+):\s*(?P<raised>[\w.]*)\s*$",
        # rich
        r"\s*(?P<file>\S[^│\n]*?\.py):(?P<line>\d+) in (?P<function>\S+)\s*$",
        # the same in its box, where a long path leaves no room for the function
        r"\s*│\s*(?P<file>\S[^│\n]*?\.py):(?P<line>\d+)"
        r"(?:\s+in(?:\s+(?P<function>\S+))?)?\s*│\s*$",
    )
)
_ARROW = re.compile(r"\s*(?:-+>|❱|│ ❱) ?(\d+) ?(.*?)\s*(?:│\s*)?$")
_UNDERLINE = re.compile(r"\s*[~^│└─ ]+$")


def frame(row: str) -> tuple[Frame, str] | None:
    """The frame that a line starts, and the type of error that pytest put there."""
    if not row.strip() or len(row) > 2000:
        return None
    for shape in _SHAPES:
        found = shape.match(row)
        if found is None:
            continue
        parts = found.groupdict()
        file, raised = parts["file"].strip(), parts.get("raised")
        if raised is not None:
            file += ".py"
        function = (parts.get("function") or "").strip()
        return Frame(file, int(parts.get("line") or 0), _name(function)), raised or ""
    return None


def arrow(row: str) -> tuple[int, str] | None:
    """Number and source of the line that IPython or rich points at."""
    found = _ARROW.match(row)
    return (int(found[1]), found[2].strip(" │")) if found else None


def underline(row: str) -> bool:
    """Whether a line only marks a part of the source line above it."""
    return bool(row.strip()) and bool(_UNDERLINE.match(row))


def _name(function: str) -> str:
    """`train` of `train(model, loader)`; a cell's own lines are the module's."""
    if function.startswith(("<cell line", "<module")):
        return "<module>"
    return re.split(r"[(\s]", function, maxsplit=1)[0]
