"""The whole page."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources

from tutor.explain.unseen import unseen
from tutor.report import palette
from tutor.report.boxes import clip
from tutor.report.draw import STYLE
from tutor.report.escape import escaped
from tutor.report.gaps import gaps_words
from tutor.report.html.code import Listing, listing
from tutor.report.html.counters import timeline
from tutor.report.html.findings import finding
from tutor.report.html.graphs import graphs
from tutor.report.html.markup import section
from tutor.report.html.output import output
from tutor.report.html.reel import Reel, reel
from tutor.report.html.tensors import gradients, names
from tutor.report.subject import Diagnosed
from tutor.report.values import main_file
from tutor.trace.trace import Trace

_ENDS = {
    "ok": "The program came to its end.",
    "error": "The program failed.",
    "exited": "The program ended itself.",
    "timeout": "The program was stopped because it took too long.",
    "out-of-memory": "The program was stopped because it used too much memory.",
    "killed": "The program's process was ended from outside.",
    "cancelled": "The program was stopped.",
    "garbled": "The program's process sent something that cannot be read.",
}


def render(diagnosis: Diagnosed) -> str:
    """The document, as one text."""
    trace = diagnosis.trace
    found = diagnosis.findings
    moments = {p.moment for one in found for p in one.places if p.moment is not None}
    film = reel(trace, moments)
    code = listing(trace, found, film)
    pictures = graphs(trace, film, code, moments)
    walked = [trace.at(run.end_moment) for run in pictures.drawn if run.end_moment >= 0]
    grads, left = gradients(trace, film, code)
    printed, cut = output(trace, film)
    said = "".join(finding(trace, one, film, code) for one in found)
    parts = [
        section("findings", "What was found", said or _healthy(diagnosis)),
        section("graph", "The graph", pictures.markup),
        section("versions", "Version counters", timeline(trace, walked, film, code)),
        section("gradients", "Gradients", grads),
        section("names", "Names", names(trace, film)),
        section("output", "Output", printed),
        section(
            "left-out",
            "What is not in this page",
            _left_out(trace, film, code, pictures.left_out, left, cut),
        ),
    ]
    return _document(trace, code, "".join(parts), film)


def _healthy(diagnosis: Diagnosed) -> str:
    end = diagnosis.trace.end
    if end is not None and end.outcome not in ("ok", "exited"):
        return ""
    return '<p class="good">✓ Nothing wrong was found.</p>'


def _left_out(trace: Trace, film: Reel, code: Listing, passes: int, leaves: int, cut: int) -> str:
    said: list[str] = []
    if film.left_out:
        said.append(
            f"The slider holds {len(film.stops)} of {len(film.stops) + film.left_out} moments: "
            "the first, the last, those near what was found, and some between."
        )
    if passes > 0:
        said.append(f"{passes} backward passes have no picture.")
    if leaves > 0:
        said.append(f"{leaves} more leaves have no row of their own.")
    if cut > 0:
        said.append(f"{cut} letters from the middle of the output.")
    if trace.end is not None and trace.end.lost:
        said.append(f"{trace.end.lost} bytes of output that were not kept while it ran.")
    lost = gaps_words(trace)
    if lost:
        said.append(f"{lost}.")
    elif trace.truncated_events:
        said.append(f"{trace.truncated_events} events of the run were not kept.")
    if trace.truncated_values:
        said.append(f"{trace.truncated_values} values were not looked at, to save time.")
    said += unseen(trace)
    if code.left_out:
        said.append("Other files that ran: " + ", ".join(code.left_out[:20]) + ".")
    return f"<ul>{''.join(f'<li>{escaped(text)}</li>' for text in said)}</ul>" if said else ""


def _document(trace: Trace, code: Listing, body: str, film: Reel) -> str:
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    main = main_file(trace).replace("\\", "/").rsplit("/", 1)[-1] or "a run"
    title = escaped(f"{main}: what autograd did")
    style = f"{palette.variables()}:root{{--mono:{palette.FONT}}}{STYLE}{_asset('page.css')}"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head><body>"
        f"<header><h1>{escaped(main)}</h1><p>{_summary(trace)}</p></header>"
        '<main><section id="code" aria-labelledby="code-h" tabindex="0">'
        f'<h2 id="code-h">The code</h2>{code.markup}'
        '<p class="dim legend">◆ cause  ◇ witness  ✗ came out here  ✓ ran</p></section>'
        f'<div class="what">{body}</div></main>{_slider(film)}'
        f'<script type="application/json" id="stops">{_stops(film, code)}</script>'
        f"<script>{script}</script></body></html>"
    )


def _summary(trace: Trace) -> str:
    end = trace.end
    words = _ENDS.get(end.outcome, "") if end is not None else "The run is not over."
    raised = trace.raised
    if raised is not None:
        where = f" on line {raised.frames[-1][1]}" if raised.frames else ""
        words += f" {raised.kind}{where}: {clip(raised.message, 400)}"
    passes = len(trace.passes)
    told = [words, f"{passes} backward pass{'' if passes == 1 else 'es'}"]
    if trace.start is not None:
        told.append(f"torch {trace.start.torch}")
    if end is not None:
        told.append(f"{end.seconds:.1f} s")
    return f'{escaped(told[0])} <span class="dim">{escaped(", ".join(told[1:]))}</span>'


def _slider(film: Reel) -> str:
    buttons = (
        ("first", "|◀", "to the beginning"),
        ("line-", "◀ line", "one line back  ["),
        ("op-", "‹ op", "one call back  {"),
        ("op+", "op ›", "one call on  }"),
        ("line+", "line ▶", "one line on  ]"),
        ("last", "▶|", "to the end"),
        ("cause", "◆ cause", "to the cause  c"),
    )
    row = "".join(
        f'<button type="button" data-do="{do}" title="{tip}" aria-label="{tip}">{text}</button>'
        for do, text, tip in buttons
    )
    return (
        '<nav id="time" aria-label="Time" hidden>'
        f'<input type="range" min="0" max="{film.last}" value="{film.last}" step="1" '
        f'aria-label="moment of the run"><div class="bar">{row}'
        '<output aria-live="polite"></output></div></nav>'
    )


def _stops(film: Reel, code: Listing) -> str:
    """For each stop: its words, its kind, and the row of the line where the program is."""
    table = []
    for stop, state, words in zip(film.stops, film.states, film.words, strict=True):
        place = state.place
        row = code.row(place.file, place.line) if place is not None else ""
        table.append([words, stop.kind[0], row if stop.kind != "end" else ""])
    text = json.dumps(table, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files("tutor.report.html").joinpath(name).read_text(encoding="utf-8")
