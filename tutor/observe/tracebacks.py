"""Tracebacks as a bare run would have them: without the observer's frames."""

from __future__ import annotations

import os
import re
import types

from tutor.observe.library import trampoline_codes

OURS = os.path.dirname(os.path.abspath(__file__))
"""The folder whose frames are the observer's."""

_ENTRY = re.compile(r'\s*File "(?P<file>[^"]*)", line \d+, in (?P<function>\S+)')


def cut(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Take our frames out of a traceback, in place.

    What is taken out is the function mode's handler and the trampoline, and, where a Python
    function of torch handed over to the mode, its frames above ours: the function appears
    again below, as it would bare.
    """
    chain: list[types.TracebackType] = []
    entry = traceback
    while entry is not None:
        chain.append(entry)
        entry = entry.tb_next
    keep = kept_frames([entry.tb_frame.f_code for entry in chain])
    if all(keep):
        return traceback
    kept = [entry for entry, wanted in zip(chain, keep, strict=True) if wanted]
    if not kept:
        return None
    for entry, following in zip(kept, [*kept[1:], None], strict=True):
        if entry.tb_next is not following:
            entry.tb_next = following
    return kept[0]


def forget(error: BaseException) -> None:
    """Take our frames out of what an exception on its way out remembers.

    Our handler caught it and raised it again, which left the handler's frames, and with them the
    arguments of the call, in `__traceback__` until the program itself catches it.
    """
    if isinstance(error, BaseException) and error.__traceback__ is not None:
        error.__traceback__ = cut(error.__traceback__)


def kept_frames(codes: list[types.CodeType]) -> list[bool]:
    """Which frames of a stack, outermost first, a bare run would have too."""
    ours = [c in trampoline_codes or c.co_filename.startswith(OURS) for c in codes]
    keep = [not mine for mine in ours]
    for index in range(1, len(codes)):
        if ours[index] and not ours[index - 1]:
            below = index
            while below < len(codes) and ours[below]:
                below += 1
            handed_over = codes[index - 1].co_name == "handle_torch_function"
            again = codes[below] if below < len(codes) else None
            for above in range(index - 1, max(-1, index - 5), -1):
                if codes[above] is again and handed_over:
                    keep[above:index] = [False] * (index - above)
                    break
            else:
                if handed_over:
                    keep[max(0, index - 2) : index] = [False] * min(2, index)
    return keep


def clean_traceback(entries: list[str]) -> list[str]:
    """The traceback that anomaly mode keeps with a node, as a bare run would have it.

    Without the frames that start the program, the function mode's, the trampoline after them,
    and, where a Python function of torch handed over to the mode, its first appearance.
    """
    found = [_ENTRY.match(entry) for entry in entries]
    files = [match["file"] if match else "" for match in found]
    names = [match["function"] if match else "" for match in found]
    mine = [file.startswith(OURS) for file in files]
    keep = [not own for own in mine]
    for index in range(len(entries)):
        if not mine[index] or (index + 1 < len(entries) and mine[index + 1]):
            continue
        if files[index].endswith("child.py"):  # the program starts after this frame
            keep[: index + 1] = [False] * (index + 1)
            continue
        if index + 1 < len(entries):
            keep[index + 1] = False  # the trampoline
        first = index
        while first > 0 and mine[first - 1]:
            first -= 1
        if first >= 2 and names[first - 1] == "handle_torch_function":
            keep[first - 2 : first] = [False, False]
    return [entry for entry, wanted in zip(entries, keep, strict=True) if wanted]
