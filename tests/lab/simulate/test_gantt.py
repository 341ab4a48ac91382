"""The timeline as a file, and in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leantune.lab.simulate.comparison import ComparisonPlan, Tally, compare
from leantune.lab.simulate.gantt import MOST_PRICES, Page, chart, gantt_html, prices, write_gantt
from leantune.report.html import Tile
from tests.lab.simulate.small import plan, recorded

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HOSTILE = "</script><script>alert(1)</script>"
PAGE = Page(
    "A simulation",
    "4 jobs",
    "Ours costs $1 instead of $2.",
    ["At smooth prices half of it is left."],
    [Tile("dollars", "$1.00", ("$2.00 on demand",))],
    ["policy", "dollars"],
    [["ours", "$1.00"], ["on-demand", "$2.00"]],
    ["a note"],
)
Simulated = tuple[ComparisonPlan, list[Tally]]


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    made = plan(1, policies=("ours", "random", "on-demand"))
    return made, compare(made)


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    read: dict[str, Any] = json.loads(found[1])
    return read


def test_every_stay_is_drawn_with_its_dollars_and_steps(simulated: Simulated) -> None:
    made, tallies = simulated
    for tally in tallies:
        drawn = chart(made, tally)
        assert len(drawn["stays"]) == tally.machines
        assert sum(stay["usd"] for stay in drawn["stays"]) == pytest.approx(tally.usd)
        assert sum(stay["refund"] for stay in drawn["stays"]) == pytest.approx(tally.refund_usd)
        assert sum(stay["kept"] for stay in drawn["stays"]) == pytest.approx(tally.kept_steps)
        assert sum(stay["revoked"] for stay in drawn["stays"]) == tally.revocations
        assert all(0 <= stay["from"] <= stay["left"] for stay in drawn["stays"])
        assert [mark["t"] for mark in drawn["marks"]] == [tally.selected_seconds, tally.finished_seconds]


def test_rows_are_the_jobs_as_they_were_ranked(simulated: Simulated) -> None:
    made, tallies = simulated
    rows = chart(made, tallies[0])["rows"]
    ranking = tallies[0].results[0].ranking
    assert [row["name"] for row in rows] == [made.tunings[0][job].name for job in ranking]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert [row["selected"] for row in rows].count(True) == 3
    assert [row["name"] for row in rows if row["best"]] == [made.tunings[0][0].name]


def test_several_tunings_are_below_each_other() -> None:
    made = replace(plan(1), tunings=(recorded(2, 1.0), recorded(3, 1.0, family="other")), policies=("on-demand",))
    (tally,) = compare(made)
    drawn = chart(made, tally)
    assert [row["family"] for row in drawn["rows"]] == ["toy"] * 2 + ["other"] * 3
    assert {stay["row"] for stay in drawn["stays"]} == set(range(5))


def test_prices_are_those_of_the_time_and_not_too_many(simulated: Simulated) -> None:
    made, _ = simulated
    spot = [(row, feed) for row, feed in enumerate(made.pool.feeds) if feed.prices is not None]
    for drawn, (row, feed) in zip(prices(made, 7200.0), spot, strict=True):
        assert drawn["offer"] == row
        assert drawn["t"][0] == 0.0
        assert drawn["t"][-1] <= 7200.0
        assert drawn["p"][0] == feed.price_at(made.pool.start)
    for drawn in prices(made, 3e6):
        assert len(drawn["t"]) <= MOST_PRICES


def test_the_page_is_whole_and_fetches_nothing(simulated: Simulated) -> None:
    html = gantt_html(PAGE, *simulated)
    assert not re.search(r"@import|url\(|src=|<link|<img|https?://", html)
    data = data_of(html)
    assert [one["policy"] for one in data["charts"]] == ["ours", "random", "on-demand"]
    assert html.index("Ours costs $1 instead of $2.") < html.index('id="jobs"') < html.index("Policies side by side")
    assert gantt_html(PAGE, *simulated) == html


def test_nothing_from_outside_becomes_markup(simulated: Simulated) -> None:
    made, tallies = simulated
    jobs = tuple(replace(job, name=HOSTILE) for job in made.tunings[0])
    html = gantt_html(replace(PAGE, kicker=HOSTILE), replace(made, tunings=(jobs,)), tallies)
    assert html.count("</script>") == 2
    assert data_of(html)["charts"][0]["rows"][0]["name"] == HOSTILE


def test_a_page_that_cannot_be_written_leaves_the_old_one(
    simulated: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "timeline.html"
    path.write_text("old", encoding="utf-8")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_gantt(PAGE, *simulated, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["timeline.html"]


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


def opened(browser: Browser, simulated: Simulated, folder: Path, width: int = 1400) -> tuple[Tab, list[str]]:
    """The timeline without a network, and what the browser complained about."""
    path = folder / "timeline.html"
    write_gantt(PAGE, *simulated, path)
    tab = browser.new_context(viewport={"width": width, "height": 900}, offline=True).new_page()
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("request", lambda request: troubles.append(request.url) if request.url != path.as_uri() else None)
    tab.goto(path.as_uri())
    tab.wait_for_selector("html[data-drawn=ours]")
    return tab, troubles


COLOURS = """id => {
  const c = document.getElementById(id), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  const seen = new Set();
  for (let i = 0; i < d.length; i += 4) seen.add((d[i] << 16) + (d[i + 1] << 8) + d[i + 2]);
  return seen.size;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 420])
def test_it_is_drawn_and_fits(width: int, simulated: Simulated, browser: Browser, tmp_path: Path) -> None:
    tab, troubles = opened(browser, simulated, tmp_path, width)
    assert troubles == []
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.evaluate(COLOURS, "jobs") > 20
    assert tab.evaluate(COLOURS, "prices") > 20
    assert tab.locator("#tabs button").all_inner_texts() == ["ours", "random", "on-demand"]
    assert "r4.large" in tab.inner_text("#key")
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(20, 25, 31)'")
    assert troubles == []


@pytest.mark.slow
def test_pointing_tells_and_dragging_zooms(simulated: Simulated, browser: Browser, tmp_path: Path) -> None:
    tab, troubles = opened(browser, simulated, tmp_path)
    tab.click("#tabs button:nth-child(3)")
    tab.wait_for_selector("html[data-drawn=on-demand]")
    box = tab.locator("#jobs").bounding_box()
    assert box is not None
    tab.mouse.move(box["x"] + 300, box["y"] + 22 + 12)
    tab.wait_for_selector("#tip:not([hidden])")
    told = tab.inner_text("#tip")
    stay = next(s for s in chart(simulated[0], simulated[1][2])["stays"] if s["row"] == 0)
    assert "r4.large, on demand" in told
    assert f"${stay['usd']:.3f}".rstrip("0")[:5] in told
    assert f"{stay['kept']:,.0f} kept from 0 on" in told
    assert "reached theta" in told
    before = tab.evaluate("view.slice()")
    tab.mouse.down()
    tab.mouse.move(box["x"] + 600, box["y"] + 34, steps=3)
    tab.mouse.up()
    after = tab.evaluate("view.slice()")
    assert after[1] - after[0] < 0.4 * (before[1] - before[0])
    tab.click("#all")
    assert tab.evaluate("view.slice()") == before
    prices_box = tab.locator("#prices").bounding_box()
    assert prices_box is not None
    tab.mouse.move(prices_box["x"] + 500, prices_box["y"] + 60)
    tab.wait_for_function("document.getElementById('tip').innerText.includes('m4.2xlarge/')")
    assert troubles == []
