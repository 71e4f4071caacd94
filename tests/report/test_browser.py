"""The page as a real browser shows it: marks, slider, keys, paper; nothing from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.browser import Browser, found
from tests.report.test_svg import LOOP
from tutor.diagnose import diagnose
from tutor.report import html
from tutor.run import Runner
from tutor.trace import snippet

EVIL = "</script><img src=x onerror=document.title=1>"

HOSTILE = f"""import torch
d = {{"{EVIL}": torch.ones(1, requires_grad=True)}}
print("{EVIL}\\x1b[31mred\\x00")
z = d["{EVIL}"] * 2
z.sum().backward()
raise ValueError("{EVIL}")
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = found()
    if program is None:
        pytest.skip("no Chromium is installed")
    made = Browser(program, tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, runner: Runner) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, code in (("loop", LOOP), ("hostile", HOSTILE)):
        text = html.render(diagnose(snippet(code), runner, lessons=[]))
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def shown(browser: Browser, selector: str) -> list[str]:
    """The texts of the elements that a person sees."""
    script = (
        f"[...document.querySelectorAll({selector!r})].filter(e => e.getClientRects().length)"
        ".map(e => e.textContent.trim())"
    )
    found_: list[str] = browser.run(script)
    return found_


def test_the_marks_are_at_their_lines(browser: Browser, pages: Path) -> None:
    browser.open(pages / "loop.html")
    rows = browser.run(
        "[...document.querySelectorAll('.row.bad')].map(r => ["
        "r.querySelector('.no').textContent, r.querySelector('.mark').firstChild.textContent,"
        "r.querySelector('code').textContent.trim()])"
    )
    assert rows == [["6", "◆◇", "b *= b"], ["9", "✗", "out.backward()"]]
    tip = browser.run("document.querySelector('#L0-9 .mark').title")
    assert tip.startswith("came out: ")
    assert browser.run("document.querySelector('#L0-6 .notes').textContent").endswith(
        "(iteration 2)"
    )


def test_nothing_is_asked_of_the_network_and_nothing_is_complained_of(
    browser: Browser, pages: Path
) -> None:
    for name in ("loop", "hostile"):
        page = pages / f"{name}.html"
        browser.open(page)
        browser.run("document.querySelector('[data-do=first]').click()")
        assert browser.requests == [page.as_uri()]
        assert browser.complaints == []


def test_the_slider_goes_back_and_every_view_follows(browser: Browser, pages: Path) -> None:
    browser.open(pages / "loop.html")
    stops = browser.run("JSON.parse(document.getElementById('stops').textContent).length")
    assert shown(browser, "#time output") == [
        f"the end: RuntimeError on line 9 · {stops} of {stops}"
    ]
    assert "✗ result: b (in fn) v0, now v2" in shown(browser, ".graph text")
    browser.run("document.querySelector('[data-do=first]').click()")
    assert shown(browser, ".graph text") == []
    assert shown(browser, "#time output") == [f"before line 1 · 1 of {stops}"]
    assert browser.run("document.querySelector('.row.now').id") == "L0-1"
    assert shown(browser, "#names tbody tr") == []
    # Until b has moved once, what exp saved holds.
    said = ""
    while not said.startswith("before line 5"):
        browser.press("]")
        (said,) = shown(browser, "#time output")
    assert "✓ result: b (in fn) v0" in shown(browser, ".graph text")
    assert shown(browser, ".saves span")[:1] == ["✓ kept by Exp line 4"]
    assert browser.run("document.querySelector('.row.now').id") == "L0-5"
    browser.press("c")
    assert "✗ other: b (in fn) v1, now v2" in shown(browser, ".graph text")
    assert "the backward stopped here" not in shown(browser, ".graph text")


def test_the_range_moves_by_the_arrow_keys(browser: Browser, pages: Path) -> None:
    browser.open(pages / "loop.html")
    browser.run("document.querySelector('#time input').focus()")
    before = browser.run("Number(document.querySelector('#time input').value)")
    browser.call(
        "Input.dispatchKeyEvent", type="rawKeyDown", key="ArrowLeft", code="ArrowLeft",
        windowsVirtualKeyCode=37,
    )  # fmt: skip
    assert browser.run("Number(document.querySelector('#time input').value)") == before - 1
    said = browser.run("document.querySelector('#time input').getAttribute('aria-valuetext')")
    assert f"{said} · {before} of {before + 1}" in shown(browser, "#time output")


def test_a_link_of_a_finding_goes_to_its_line_and_its_moment(browser: Browser, pages: Path) -> None:
    browser.open(pages / "loop.html")
    browser.run("document.querySelector('.places .cause a').click()")
    assert browser.run("location.hash") == "#L0-6"
    assert "now v2" in " ".join(shown(browser, ".graph text"))
    assert "the backward stopped here" not in shown(browser, ".graph text")


def test_markup_of_the_program_stays_text(browser: Browser, pages: Path) -> None:
    browser.open(pages / "hostile.html")
    assert browser.run("document.images.length") == 0
    assert browser.run("document.title") == "snippet.py: what autograd did"
    assert shown(browser, ".output")[0].startswith(f"{EVIL}␛[31mred␀")
    assert any(EVIL[:20] in text for text in shown(browser, ".graph text"))
    assert EVIL in shown(browser, "header p")[0]


def test_on_paper_everything_that_matters_is_there(browser: Browser, pages: Path) -> None:
    browser.open(pages / "loop.html")
    browser.run("document.querySelector('[data-do=first]').click()")
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        browser.run("window.dispatchEvent(new Event('beforeprint'))")
        assert shown(browser, "#time") == []
        assert len(shown(browser, ".row")) == LOOP.count("\n")
        assert "the backward stopped here" in shown(browser, ".graph text")
        assert "✗ kept by Mul line 6·2" in " ".join(shown(browser, ".saves span"))
        assert len(shown(browser, ".diff ins")) == 1
        paper = browser.call("Page.printToPDF")
        assert base64.b64decode(paper["data"]).startswith(b"%PDF")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_without_scripts_the_end_of_the_run_is_there(browser: Browser, pages: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages / "loop.html")
        assert shown(browser, "#time") == []
        assert "the backward stopped here" in shown(browser, ".graph text")
        assert "✓ result: b (in fn) v0" not in shown(browser, ".graph text")
        assert len(shown(browser, ".row")) == LOOP.count("\n")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_everything_that_can_be_operated_has_a_name(browser: Browser, pages: Path) -> None:
    browser.open(pages / "loop.html")
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    operated = ("button", "link", "slider", "region", "DisclosureTriangle")
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored")
        and node.get("role", {}).get("value") in operated
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []
    roles = {node.get("role", {}).get("value") for node in tree if not node.get("ignored")}
    assert {"slider", "button", "link", "heading", "main", "navigation", "table"} <= roles


def test_a_narrow_screen_scrolls_no_line_away(browser: Browser, pages: Path) -> None:
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=380, height=700, deviceScaleFactor=1,
        mobile=False,
    )  # fmt: skip
    try:
        browser.open(pages / "loop.html")
        wide = browser.run("document.documentElement.scrollWidth")
        assert wide <= 380
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")
