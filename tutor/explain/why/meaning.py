"""From one report of a paste to what it means."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from tutor.explain.finding import Fact
from tutor.explain.patterns import LONGEST, Found, Sentence, search, squash
from tutor.explain.registry import lesson_of
from tutor.explain.why import words
from tutor.explain.why.answer import Meaning, Other
from tutor.explain.why.cut import parts
from tutor.explain.why.facts import facts as told
from tutor.explain.why.frames import Frame
from tutor.explain.why.paste import Report

# A kind that other lines of the traceback make the likely one.
_CLUES = (
    ("no-grad-fn", "checkpoint", r"utils[/\\]checkpoint"),
    ("overlap-write", "hook-misuse", r"hook"),
    ("zero-division", "hook-misuse", r"_engine_run_backward|run_backward|autograd[/\\]graph"),
    ("dtype-mismatch", "engine", r"_engine_run_backward|run_backward|autograd[/\\]graph"),
    ("none-arithmetic", "custom-function", r"torch[/\\]autograd[/\\]function"),
    ("no-attribute", "custom-function", r"torch[/\\]autograd[/\\]function"),
    ("not-iterable", "backward-call", r"torch[/\\]autograd[/\\]__init__"),
    ("error:RuntimeError", "saved-hooks", r"torch[/\\]autograd[/\\]graph.*__enter__"),
)
_SURE = 24
"""Letters by which a sentence is known in the middle of other text."""
_START = 14
"""The same at the beginning of a line."""


def of_error(report: Report, installed: frozenset[str]) -> Meaning:
    """What an error or a warning with its name means; an unknown one is an ordinary error."""
    message = report.message[:LONGEST]
    found = _longest_of(message) or _longest_of(f"{report.type}: {message}")
    if found is not None:
        return _sentence(report, found.sentence, found.facts, installed)
    shared = parts(message, alone=False) if message else []
    if shared:
        return _cut(report, shared, installed)
    kind = report.type.rpartition(".")[2]
    raw = {"name": kind}
    kinds = ("other", "saved-hooks") if kind == "RuntimeError" else ("other",)
    return _meaning(report, f"error:{kind}", kinds, raw, installed)


def _longest_of(text: str) -> Found | None:
    """The sentence that covers most of a text, which may be broken in the middle of a word."""
    rows = text.split("\n")
    found = [*search(text), *(search("".join(map(str.strip, rows))) if len(rows) > 1 else ())]
    return max(found, key=lambda one: one.size, default=None)


def of_text(report: Report, installed: frozenset[str]) -> list[Meaning]:
    """What the sentences in a text mean that does not look like an error."""
    text = report.message[: 4 * LONGEST]
    kept: list[Found] = []
    for one in sorted(search(text), key=lambda one: -one.size):
        apart = all(one.end <= other.start or one.start >= other.end for other in kept)
        if apart and _telling(one, text):
            kept.append(one)
    if kept:
        kept.sort(key=lambda one: one.start)
        joined = _longest_of(text)
        if len(kept) == 1 and joined is not None and joined.sentence is kept[0].sentence:
            kept = [joined]
        return [_sentence(report, one.sentence, one.facts, installed) for one in kept]
    shared = parts(text, alone=True)
    return [_cut(report, shared, installed)] if shared else []


def _telling(one: Found, text: str) -> bool:
    """Whether so short a sentence is not in a text by chance."""
    before = text[: one.start].rpartition("\n")[2].strip(" \t`'\"*>")
    if one.size >= _SURE or (one.size >= _START and not before):
        return True
    return one.size >= 0.5 * len(squash(text))


def _sentence(
    report: Report, sentence: Sentence, raw: dict[str, str], installed: frozenset[str]
) -> Meaning:
    return _meaning(report, sentence.id, sentence.kinds, raw, installed, sentence.warning)


def _cut(report: Report, shared: list[Sentence], installed: frozenset[str]) -> Meaning:
    kinds = tuple(dict.fromkeys(kind for one in shared for kind in one.kinds))
    id = shared[0].id if len({one.kinds[0] for one in shared}) == 1 else ""
    warning = all(one.warning for one in shared)
    return _meaning(report, id, kinds, {}, installed, warning, cut=True)


def _meaning(
    report: Report,
    sentence: str,
    kinds: Sequence[str],
    raw: dict[str, str],
    installed: frozenset[str],
    warning: bool = False,
    *,
    cut: bool = False,
) -> Meaning:
    forward = next((one for one in report.forwards if one.frames), None)
    witness = _innermost(forward.frames) if forward is not None else None
    anomaly = bool(report.forwards) or "backtrace further above" in report.message
    facts = told(raw, anomaly=anomaly)
    kinds = _ordered(sentence, kinds, facts, report)
    kind = kinds[0]
    own = [frame for frame in report.frames if not frame.foreign]
    surfaced = own[-1] if own else _innermost(report.frames)
    lesson = lesson_of(kind)
    ids = [sentence, f"kind:{kind}"] if sentence else [f"kind:{kind}"]
    if sentence.startswith("error:"):
        ids = [sentence, "error:"] if kind == "other" else [f"kind:{kind}"]
    return Meaning(
        sentence=sentence,
        kind=kind,
        severity="warning" if report.warning or (warning and not report.type) else "error",
        title=words.line([f"{one}.title" for one in ids], facts),
        text=tuple(_text(ids, facts)),
        tries=tuple(_longest(words.rows([f"{one}.try"], facts) for one in ids)),
        facts={name: fact for name, fact in facts.items() if name not in ("blind",)},
        error=report.type,
        message=report.message,
        others=_others(sentence, kinds, facts),
        surfaced=surfaced,
        callers=tuple(own[:-1]),
        witness=witness,
        op=forward.op if forward is not None else "",
        foreign=bool(report.frames) and not own,
        lesson=lesson if lesson in installed else None,
        command=_command(own),
        adds=words.line([f"kind:{kind}.run"], facts),
        cut=cut,
        link=report.link,
        ranks=(report.rank,) if report.rank else (),
    )


def _text(ids: Sequence[str], facts: dict[str, Fact]) -> list[str]:
    """The words of the sentence; those of its kind only where it has not even a title."""
    own = words.rows([f"{ids[0]}.text"], facts)
    if own or words.line([f"{ids[0]}.title"], facts):
        return own
    return _longest(words.rows([f"{one}.text"], facts) for one in ids)


def _longest(found: Iterable[list[str]]) -> list[str]:
    """The first list that is not empty."""
    return next((rows for rows in found if rows), [])


def _innermost(frames: Sequence[Frame]) -> Frame | None:
    own = [frame for frame in frames if not frame.foreign]
    return own[-1] if own else (frames[-1] if frames else None)


def _ordered(
    sentence: str, kinds: Sequence[str], facts: dict[str, Fact], report: Report
) -> tuple[str, ...]:
    """The kinds with the likeliest first, as the other lines of the traceback tell."""
    first = ""
    if facts.get("weight") and "optimizer-step-stale" in kinds:
        first = "optimizer-step-stale"
    trail = "\n".join(f"{one.file} {one.function} {one.text}" for one in report.frames)
    for known, kind, clue in _CLUES:
        if known == sentence and kind in kinds and re.search(clue, trail):
            first = kind
    return tuple(sorted(kinds, key=lambda kind: kind != first))


def _others(sentence: str, kinds: Sequence[str], facts: dict[str, Fact]) -> tuple[Other, ...]:
    """How to tell the kinds apart, where there are several."""
    if len(kinds) < 2:
        return ()
    return tuple(
        Other(
            kind,
            words.line(
                [f"{sentence}.tell.{kind}", f"kind:{kind}.tell", f"kind:{kind}.text"], facts
            ),
        )
        for kind in kinds
    )


def _command(own: Sequence[Frame]) -> str:
    """The command that explains the program of a traceback, "" for a notebook's."""
    files = [frame for frame in own if frame.file.endswith(".py")]
    if not files:
        return "" if own else "autograd-tutor explain your_script.py"
    tests = [one for one in files if re.match(r"(?:.*[/\\])?test_[^/\\]*\.py$", one.file)]
    if tests and all(one.function != "<module>" for one in own):
        return f"autograd-tutor explain -m pytest {_quoted(tests[0].file)}"
    script = next((one for one in files if one.function == "<module>"), files[0])
    return f"autograd-tutor explain {_quoted(script.file)}"


def _quoted(path: str) -> str:
    """A path as a shell of its system takes it."""
    if "\\" in path:
        return f'"{path}"' if " " in path else path
    return "~/" + shlex.quote(path[2:]) if path.startswith("~/") else shlex.quote(path)
