"""The page as a file, what is on it and when, and how it looks in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leantune.problem import Budget
from leantune.report.data import StudyView
from leantune.report.page import Section, report_html, sections_of, write_report
from tests.report.studies import EDGES, VIEWS, epochs_view, long_view, many_view, real_view

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


class Outline(HTMLParser):
    """Elements, ids, links and scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] not in ("script", "style"):
            self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def values(self, attribute: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(attribute)) is not None]

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def own_part(html: str) -> str:
    """The page without the embedded library."""
    before, _, after = html.partition("<script>/**\n* plotly.js")
    assert after
    return before + "<script>" + after[after.index("</script>") :]


def test_shares_of_epochs_are_never_called_shares_of_the_data() -> None:
    html = own_part(report_html(epochs_view()))
    said = [line for line in Outline(html).words if re.search(r"\bdata\b", line)]
    assert not said
    drawn = re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1]  # type: ignore[index]
    assert not re.findall(r"[^\"]*\b(?:the|all|most) data\b[^\"]*", drawn)
    for words in (
        "Shares of the epochs", "Runs of a small share of the epochs", "Runs on parts of the epochs",
        "Which share of the epochs each trial used", "part of the epochs", "runs on all epochs kept this limit",
    ):  # fmt: skip
        assert words in html, words


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_is_whole_and_fetches_nothing(name: str) -> None:
    html = report_html(VIEWS[name]())
    assert html.count("* plotly.js v") == 1  # the library, once
    page = Outline(own_part(html))
    assert page.count("script") == 3
    assert page.count("link") == page.count("img") == page.count("iframe") == 0
    assert page.values("src") == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    links = page.values("href")
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert not re.search(r"@import|url\(", own_part(html).split("</style>")[0])
    assert not any(attribute.startswith("on") for _, attrs in page.tags for attribute in attrs)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])  # type: ignore[index]
    assert sorted(data["figures"]) == sorted(page.values("data-figure"))


def test_the_verdict_comes_first() -> None:
    html = own_part(report_html(real_view()))
    positions = [
        html.index(text) for text in ("<h1>fashion-cnn</h1>", 'id="verdict"', 'class="tiles"', 'id="progress"')
    ]
    assert positions == sorted(positions)


def test_nothing_from_outside_becomes_markup() -> None:
    html = own_part(report_html(EDGES["hostile"]()))
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "<a href='https" not in html
    assert html.count("&lt;/script&gt;&lt;script&gt;alert(1)") > 5  # title, heading, setting, cause, note, version
    data = re.search(r'id="data">(.*?)</script>', html, re.DOTALL)
    assert data is not None
    assert "<" not in data[1]
    texts = json.dumps(json.loads(data[1]))
    for tag in re.findall(r"<\W?\w+", texts):
        assert tag in ("<b", "</b", "<br")  # Plotly would read others, links among them


def test_writing_replaces_the_file_at_once_and_makes_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "report.html"
    write_report(EDGES["nothing"](), path)
    first = path.read_text(encoding="utf-8")
    assert first.startswith("<!doctype html>")
    with path.open(encoding="utf-8") as reader:
        write_report(EDGES["hostile"](), path)
        assert reader.read() == first  # whoever has it open keeps what he had
    assert path.read_text(encoding="utf-8") != first
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(EDGES["nothing"](), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_ten_thousand_trials_are_written_soon_and_stay_small(tmp_path: Path) -> None:
    view = many_view(10_000)
    started = time.perf_counter()
    write_report(view, tmp_path / "report.html")
    assert time.perf_counter() - started < 10
    assert (tmp_path / "report.html").stat().st_size < 15e6


def test_the_same_study_gives_the_same_page() -> None:
    assert report_html(EDGES["anywhere"]()) == report_html(EDGES["anywhere"]())


# -- sections


def anchors(view: StudyView) -> list[str]:
    return [section.anchor for section in sections_of(view)]


def section(view: StudyView, anchor: str) -> Section:
    return next(section for section in sections_of(view) if section.anchor == anchor)


def test_a_study_with_everything_has_every_section_in_order() -> None:
    assert anchors(real_view()) == [
        "recommendation", "progress", "limits", "shares", "predictions", "parameters", "curves", "money", "trials",
        "making",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("nothing", {"recommendation", "progress", "limits", "shares", "predictions", "parameters", "money", "trials"}),
        ("only pending", {"recommendation", "progress", "parameters", "money"}),
        ("all failed", {"recommendation", "progress", "limits", "shares", "money"}),
        ("without prices", {"money", "predictions"}),
        ("minimised", {"limits", "shares", "money"}),
        ("anywhere", {"predictions", "curves"}),
    ],
)
def test_sections_without_content_are_left_out(name: str, missing: set[str]) -> None:
    present = set(anchors(EDGES[name]()))
    assert present & missing == set()
    assert "making" in present


def test_how_it_was_made_counts_fallbacks_and_caps() -> None:
    html = section(long_view(120), "making").html
    assert "fallback: none of 1881 pairs promises anything; the largest expected accuracy" in html
    assert "cap: the optimum is sought among 500 of 2000 configurations" in html
    assert "the models (108), the strategy&#x27;s start (9) and a fallback (3)" in html
    assert "trimtuner-gp, seed 3" in html
    assert "No fallback was needed" in section(EDGES["minimised"](), "making").html


def test_the_problem_is_written_out() -> None:
    view = real_view()
    view = replace(view, problem=view.problem.with_budget(Budget(usd=4.0, hours=2.0)), stop_reason=None)
    html = section(view, "making").html.replace("\u00a0", " ")
    for text in ("maximize accuracy", "cost ≤ $0.10 and time ≤ 10 min @ 0.95", "$4.00 and 2 h of training"):
        assert text in html
    assert "it can go on" in html


def test_states_of_all_trials_are_counted() -> None:
    assert section(EDGES["only pending"](), "trials").intro.startswith("1 trial: 1 queued.")


# -- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


def opened(browser: Browser, view: StudyView, folder: Path, width: int = 1400) -> tuple[Page, list[str]]:
    """The report in a browser without a network, all figures drawn; and what the browser complained about."""
    path = folder / "report.html"
    write_report(view, path)
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: troubles.append(f"dialog {dialog.message}"))
    page.on("request", lambda request: troubles.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-figures=drawn]", timeout=120_000)
    return page, troubles


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width"), [("real", 1400), ("long", 420), ("hostile", 1400), ("all failed", 1400), ("nothing", 420)]
)
def test_the_page_draws_everything_offline_and_fits(name: str, width: int, browser: Browser, tmp_path: Path) -> None:
    page, troubles = opened(browser, VIEWS[name](), tmp_path, width)
    assert troubles == []
    undrawn = "all => all.filter(e => !e.querySelector('.scatterlayer .trace')).map(e => e.dataset.figure)"
    assert page.eval_on_selector_all("[data-figure]", undrawn) == []
    assert page.locator("svg a, svg image").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width
    ends = page.eval_on_selector_all(".plot svg", "all => all.map(svg => svg.getBoundingClientRect().right)")
    assert max(ends, default=0) <= width
    hover = "all => all.flatMap(e => e.data).flatMap(trace => trace.customdata ? trace.hovertext : [])"
    texts = page.eval_on_selector_all("[data-figure]", hover)
    assert all(text.startswith("<b>trial ") for text in texts)
    assert len(texts) >= len(VIEWS[name]().results)


@pytest.mark.slow
def test_the_table_sorts_finds_and_opens(browser: Browser, tmp_path: Path) -> None:
    page, _ = opened(browser, long_view(320), tmp_path)

    def shown(column: int) -> Any:
        return page.eval_on_selector_all(
            "#trial-table tbody tr:not([hidden])", f"rows => rows.map(row => row.cells[{column}].textContent)"
        )

    assert len(shown(0)) == 300
    assert "The first 300 of 320 rows are shown." in page.inner_text("#shown")
    page.click("#shown button")
    assert len(shown(0)) == 320
    page.click("#trial-table th:nth-child(4) button")
    values = [float(text) for text in shown(3) if text != "–"]
    assert values == sorted(values)
    assert set(shown(3)[len(values) :]) == {"–"}  # failed trials last
    page.click("#trial-table th:nth-child(4) button")
    assert [float(text) for text in shown(3) if text != "–"] == sorted(values, reverse=True)
    page.click("#trial-table th:nth-child(6) button")  # times in several units
    seconds = page.eval_on_selector_all(
        "#trial-table tbody tr td:nth-child(6)", "cells => cells.map(c => +c.dataset.v)"
    )
    assert seconds == sorted(seconds)
    page.fill("#find", "OUT OF MEMORY")
    assert set(shown(1)) == {"failed"}
    page.click("#trial-table tbody tr:not([hidden])")
    assert page.locator("#trial-table tr.open").count() == 1


@pytest.mark.slow
def test_dark_and_light(browser: Browser, tmp_path: Path) -> None:
    page, troubles = opened(browser, EDGES["all failed"](), tmp_path)

    def ink() -> Any:
        return page.evaluate("document.querySelector('[data-figure]')._fullLayout.font.color")

    light = ink()
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "before => document.querySelector('[data-figure]')._fullLayout.font.color !== before", arg=light
    )
    page.wait_for_selector("html[data-figures=drawn]")
    assert troubles == []
