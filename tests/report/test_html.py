"""The page as text: complete, bounded, escaped, readable in both colours."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import product

import pytest

from tests.report.test_svg import LOOP
from tutor.diagnose import Diagnosis
from tutor.explain import findings
from tutor.report import html, palette, svg
from tutor.report.escape import escaped, visible
from tutor.run import Runner
from tutor.trace import End, Trace, snippet
from tutor.trace import events as ev

VOID = {"meta", "input", "br"}


class Checker(HTMLParser):
    """Every element is closed in its order; ids are unique; addresses lead into the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag not in VOID and tag not in ("rect", "path"):
            self.open.append(tag)
        if told.get("id"):
            self.ids.append(str(told["id"]))
        if tag == "a":
            self.links.append(str(told["href"]))
        self.addresses += [str(told[name]) for name in ("src", "data", "action") if name in told]

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "path"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def checked(document: str) -> Checker:
    checker = Checker()
    checker.feed(document)
    checker.close()
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    assert checker.addresses == []
    assert {link.removeprefix("#") for link in checker.links} <= set(checker.ids)
    return checker


def page(trace: Trace) -> str:
    return html.render(Diagnosis(trace, tuple(findings(trace))))


def test_one_page_holds_all_of_it(run: Callable[..., Trace]) -> None:
    document = page(run(LOOP))
    text = " ".join(checked(document).texts)
    for heading in ("The code", "What was found", "The graph", "Version counters", "Gradients",
                    "Names", "Output"):  # fmt: skip
        assert heading in text
    assert "b was overwritten by the very call that had kept it" in text
    assert "RuntimeError on line 9" in text


def test_a_page_needs_nothing_else(run: Callable[..., Trace]) -> None:
    document = page(run(LOOP))
    assert re.findall(r"(?:https?:)?//[a-z][a-z0-9.]+", document) == ["http://www.w3.org"]
    assert "url(http" not in document
    assert "default-src 'none'" in document


@pytest.mark.parametrize(
    "code",
    [
        "",
        "x = 1\n",
        "print x.grad\n",  # Python 2
        "import sys\nsys.exit(3)\n",
        "raise ValueError('</script><b>')\n",
        "import torch\ntorch.ones(2, requires_grad=True).exp()\n",
        "import torch\nx = torch.ones(1, requires_grad=True)\n[v.backward() for v in [x, x * 3]]",
        "import torch, warnings\nwarnings.warn('<i>')\ny = torch.ones(2, 2).sum()\n",
        "é = '\\ud800 \\u202e \\x1b'\nimport sys\nsys.stdout.buffer.write(b'\\xff\\x00<x>')",
        "import torch\nx = torch.ones(2, requires_grad=True)\ntorch.autograd.grad(x.sum(), x)\n",
    ],
)
def test_any_end_of_a_run_has_a_page(run: Callable[..., Trace], code: str) -> None:
    trace = run(code)
    document = page(trace)
    checked(document)
    document.encode()
    svg.render(Diagnosis(trace, ())).encode()


def test_a_trace_without_an_end_has_a_page() -> None:
    trace = Trace(snippet("x = 1"))
    assert "The run is not over." in page(trace)
    trace.end = End("killed", signal=9)
    assert "ended from outside" in page(trace)


def test_all_that_is_drawn_of_a_hostile_trace_is_text() -> None:
    bad = "</script><script>alert(1)</script>\u202e\x07\ud800"
    trace = Trace(snippet(bad, file=bad))
    trace.extend(
        [
            ev.Start(bad, bad, 1),
            ev.Text(bad, bad),
            ev.Enter(0, "<module>", bad, 1),
            ev.Line(0, 1),
            ev.Tensor(1, (1,), bad, bad, True, True, -1, 0, 1, 0, 1, kind=bad, label=bad),
            ev.Bind(0, bad, 1),
            ev.Output(1, bad),
            ev.Raised(bad, bad, ((bad, 1, bad),), bad),
        ]
    )
    document = page(trace)
    document.encode()
    checked(document)
    assert document.count("<script") == 2  # the stops and the slider
    assert "alert(1)</script" not in document


def test_a_long_run_is_bounded_and_says_what_is_left_out(runner: Runner) -> None:
    code = """import torch
w = torch.ones(2, requires_grad=True)
for step in range(600):
    loss = (w * w).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.001 * w.grad
    w.grad = None
    print('step', step, 'x' * 160)
"""
    trace = runner.run(snippet(code, timeout=100))
    document = page(trace)
    text = " ".join(checked(document).texts)
    assert len(document) < 1_500_000
    assert re.search(r"The slider holds \d{2,3} of \d{4,6} moments", text)
    assert "596 backward passes have no picture." in text
    assert re.search(r"\d+ letters from the middle of the output", text)
    assert "step 0 x" in text
    assert "step 599 x" in text
    assert "step 300 x" not in text


def test_control_characters_are_seen_and_markup_is_text() -> None:
    assert visible("a\x1b[31m\x00\r\n\ttab\x7f\x85") == "a␛[31m␀\n\ttab␡\\x85"
    assert visible("\u202eevil\u2066\udc80") == "\\u202eevil\\u2066\\udc80"
    assert escaped("<a href='x\">&") == "&lt;a href=&#x27;x&quot;&gt;&amp;"


GROUNDS = ("bg", "panel", "mark-bad", "mark-warn", "mark-note")
INKS = ("fg", "dim", "good", "bad", "warn", "name", "code")


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_every_text_can_be_read(colours: dict[str, str]) -> None:
    low = {
        (ink, ground): round(palette.contrast(colours[ink], colours[ground]), 2)
        for ink, ground in product(INKS, GROUNDS)
        if palette.contrast(colours[ink], colours[ground]) < 4.5  # WCAG 2.2, level AA
    }
    assert low == {}


def test_the_measure_of_contrast_is_right() -> None:
    assert palette.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert palette.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
