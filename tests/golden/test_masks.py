"""Only what varies is masked."""

from __future__ import annotations

import pytest

from tests.golden.masks import DATE, MOMENT, SHARE, TIME, USD, Varying, masked, masked_lines


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        (TIME, "done after 12.3\u00a0ms: accuracy 0.5, batch 64", "done after <time>: accuracy 0.5, batch 64"),
        (TIME, "time 0.0039 ± 0.0012\u00a0s, latency 2.00 ± 0.14", "time <time>, latency 2.00 ± 0.14"),
        (TIME, "trial 1 started: 3 settings", "trial 1 started: 3 settings"),
        (USD, "spent $0.0012, left $1,099.99; 4 trials", "spent <usd>, left <usd>; 4 trials"),
        (DATE, "is now of 2026-11 (file), 2 types", "is now of <date> (file), 2 types"),
        (MOMENT, "report · 18 November 2026, 23:59 – 19 November 2026, 00:01 UTC", "report · <date>"),
        (MOMENT, "18 November 2026, 00:32 UTC", "<date>"),
        (SHARE, "less than under 1\u00a0% of", "less than <share> of"),
    ],
)
def test_words(pattern: tuple[str, str], text: str, wanted: str) -> None:
    assert masked_lines(text, Varying(words=(pattern,))) == [wanted]


def test_keys_keep_what_is_unknown() -> None:
    varying = Varying(frozenset({"seconds"}), folder="/runs/x")
    told = {"seconds": 1.5, "best": [{"seconds": None, "cost": 2.0}], "store": "sqlite:////runs/x/a.db"}
    assert masked(told, varying) == {
        "seconds": "<seconds>",
        "best": [{"seconds": None, "cost": 2.0}],
        "store": "sqlite:///<folder>/a.db",
    }
