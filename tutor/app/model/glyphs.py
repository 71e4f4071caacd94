"""The signs of the app, in one set for good fonts and one of plain ASCII."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Signs of one cell (the arrow may take two); a word always stands beside them."""

    ok: str = "✓"
    bad: str = "✗"
    mark: str = "◆"
    note: str = "•"
    here: str = "▶"
    shared: str = "◇"
    again: str = "↺"
    freed: str = "✂"
    packed: str = "□"
    arrow: str = "→"
    from_: str = "◀"
    more: str = "…"
    branch: str = "├"
    last: str = "└"
    pipe: str = "│"
    rail: str = "─"
    knob: str = "●"
    gap: str = "┄"
    closed: str = "▸"
    open: str = "▾"
    done: str = "●"
    half: str = "◐"
    todo: str = "○"
    passed_over: str = "◌"
    picked: str = "●"
    free: str = "○"
    ticked: str = "■"
    unticked: str = "□"
    times: str = "×"
    sep: str = "›"


UNICODE = Glyphs()

ASCII = Glyphs(
    ok="+",
    bad="x",
    mark="*",
    note="-",
    here=">",
    shared="&",
    again="^",
    freed="-",
    packed="#",
    arrow="->",
    from_="<-",
    more="~",
    branch="|",
    last="`",
    pipe="|",
    rail="-",
    knob="O",
    gap=":",
    closed="+",
    open="-",
    done="#",
    half="=",
    todo=".",
    passed_over="/",
    picked="*",
    free=".",
    ticked="x",
    unticked=".",
    times="x",
    sep=">",
)


PLAIN = str.maketrans("→←◀▶×·…–—‘’“”✓✗◆●○↺", "><<>x.~--''\"\"+x*Oo^")
"""Letters outside ASCII in texts of ours, and what stands for each in one cell."""


def glyphs(name: str) -> Glyphs:
    """The set of this name ("ascii" or "unicode")."""
    return ASCII if name == "ascii" else UNICODE
