"""What `make bench` prints: the keys, the settings, the tables."""

import io
import json

from rich.console import Console

from benchmarks.recommend import QUICK, Bench, described, settings
from benchmarks.report import print_report
from leantune.strategies.registry import recipe


def test_recipes_are_described_down_to_their_numbers() -> None:
    told = described(recipe("trimtuner-gp"))
    assert isinstance(told, dict)
    assert told["models"]["samples"] >= 5
    gain = told["acquisition"]["worth"]["factors"][0]
    assert (gain["is"], gain["roots"], gain["samples"]) == ("InformationGain", 3, 300)


def test_settings_say_what_was_measured() -> None:
    told = settings(Bench.of(QUICK))
    assert (told["pairs"], told["observations"], told["untested_pairs"]) == (1_440, 48, 1_392)
    assert {"data", "threads", "cores", "versions", "recipes"} <= json.loads(json.dumps(told)).keys()


def test_the_report_names_what_was_not_measured() -> None:
    names = ("trees_cea10_s", "trees_nofilter_s", "gp_cea10_s", "gp_nofilter_s", "lean_s")
    result: dict[str, object] = dict.fromkeys(names, 0.25)
    result |= {"ratio_trees": 120.0, "ratio_botorch": None, "ratio_optuna": 0.7, "agreement": []}
    shown = ("data", "observations", "pairs", "threads", "cores", "load_average")
    result |= {"settings": dict.fromkeys(shown, 1), "scale": [{"pairs": 10_000, "seconds": 1.5}]}
    written = io.StringIO()
    print_report(result, Console(file=written, width=120))
    assert "not measured" in written.getvalue()
    assert "10,000" in written.getvalue()
