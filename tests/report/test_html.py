"""Parts of pages."""

import json
import re
from pathlib import Path

from leantune.report.html import Tile, amount, cell, items_html, page_html, table, tiles_html, write_page

HOSTILE = "</script><b>&"


def test_nothing_from_outside_becomes_part_of_the_page(tmp_path: Path) -> None:
    body = tiles_html([Tile(HOSTILE, HOSTILE, (HOSTILE,), of=HOSTILE)]) + items_html([HOSTILE])
    page = page_html(HOSTILE, "p {}", body + table([HOSTILE], [[cell(HOSTILE)]]), {"a": HOSTILE}, ["1;", "2;"])
    assert HOSTILE not in page
    assert re.findall(r"<script>(.*?)</script>", page) == ["1;", "2;"]
    data = re.search(r'id="data">(.*?)</script>', page)
    assert data is not None
    assert json.loads(data[1]) == {"a": HOSTILE}
    write_page(page + "\ud800", tmp_path / "new" / "page.html")
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8") == page + "?"


def test_a_gauge_stays_within_its_tile_and_unknown_numbers_are_dashes() -> None:
    assert "width:100.0%" in tiles_html([Tile("dollars", "$2", filled=1.7, good=False)])
    assert amount("–") == '<td class="none n">–</td>'
    assert amount("2 min", 120.0) == "<td class=n data-v=120>2 min</td>"
    assert cell("") == "<td class=none>–</td>"
