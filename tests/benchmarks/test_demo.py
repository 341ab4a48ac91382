"""The demo's benchmark: figures by hand, the command on a small table of the same columns, and the target itself."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from benchmarks.demo import TABLE, compared, figures, main, target_words
from leantune.executors.replay import Measurement
from leantune.lab.replay.runs import PAPER, Row
from leantune.lab.replay.tables import DATA_VARIABLE, default_data, load_table
from leantune.lab.replay.truth import TrueQuality, Truth
from leantune.problem import Problem, maximize
from leantune.space import Space, choice
from tests.data import needs
from tests.lab.replay.small import row


def write_table(folder: Path) -> None:
    """As demo/mnist_mlp.csv, of 24 configurations and two shares; all of them keep the limits."""
    lines = ["lr,hidden,batch,epochs,machine,fraction,seconds,accuracy"]
    settings = product((0.001, 0.01), (32, 128), (32, 128), (3,), ("quarter", "half", "one"), (0.25, 1.0))
    for number, (lr, hidden, batch, epochs, machine, fraction) in enumerate(settings):
        accuracy = 0.97 - 0.001 * (number % 12) - 0.05 * (1.0 - fraction)
        lines.append(f"{lr},{hidden},{batch},{epochs},{machine},{fraction},{4.0 * fraction},{accuracy:.4f}")
    (folder / "demo").mkdir()
    (folder / "demo" / "mnist_mlp.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")


def studied(accuracy: float, *, feasible: bool = True, tested: bool = True) -> list[Row]:
    """Two tests, of 4 dollars and a second of thinking, that end with this recommendation."""
    verdict = TrueQuality({"accuracy": accuracy}, feasible, accuracy, 1.0, 1.0)
    last = row(2, verdict)
    return [row(1, None), replace(last, advice={PAPER: replace(last.advice[PAPER], tested=tested)})]


def truth() -> Truth:
    """The best of three has 0.96, the median 0.94."""
    problem = Problem(Space(c=choice("a", "b", "c")), maximize("accuracy"))
    values = zip(problem.space.grid(), (0.96, 0.94, 0.90), strict=True)
    return Truth(problem, {(one.id, Fraction(1)): Measurement({"accuracy": value}, 1.0) for one, value in values})


def test_figures_by_hand() -> None:
    found = figures(
        truth(),
        "lean",
        [studied(0.96), studied(0.95, tested=False), studied(0.94), studied(0.99, feasible=False)],
    )
    assert found.accuracy == pytest.approx((0.96 + 0.95 + 0.94) / 4)
    assert found.regret == pytest.approx((0.0 + 0.5 + 1.0 + 1.5) / 4)
    assert (found.seeds, found.least_accuracy, found.good, found.verified, found.target) == (4, 0.0, 0.5, 0.5, 0.25)
    assert (found.tests, found.dollars, found.thinking_seconds) == (2.0, 4.0, 1.0)
    assert "1 of 4 seeds" in target_words(found)
    assert "missed" in target_words(found)
    assert "reached" in target_words(replace(found, target=0.9))


def test_ratios_are_to_random_search_where_it_ran() -> None:
    lean, random = (figures(truth(), name, [studied(value)]) for name, value in (("lean", 0.95), ("random", 0.94)))
    assert compared([lean])[0].over_random is None
    assert compared([lean, random])[0].over_random == pytest.approx(
        {"accuracy": 0.95 / 0.94, "regret": 0.5, "dollars": 1.0}
    )
    perfect = figures(truth(), "random", [studied(0.96)])
    over = compared([lean, perfect])[0].over_random
    assert over is not None
    assert over["regret"] is None, "nobody is so many times worse than perfect"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--seeds", "0"], "at least 1"),
        (["--seeds", "x"], "at least 1"),
        (["--strategies", "leanest"], "Did you mean 'lean'"),
        (["--strategies", "nephele"], "nephele"),
        (["--strategies", ""], "an empty name"),
        (["--data", "nowhere"], "demo/mnist_mlp.csv"),
    ],
)
def test_what_is_wrong_is_refused_at_once(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    told: str,
) -> None:
    write_table(tmp_path)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    results = tmp_path / "results"
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--results", str(results)])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
    assert not results.exists()


def test_the_command_prints_json_or_a_table_and_runs_nothing_twice(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_table(tmp_path)
    results = tmp_path / "results"
    places = ["--data", str(tmp_path), "--results", str(results), "--seeds", "1", "--processes", "1"]
    main([*places, "--strategies", "eic(points=8),random", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["budget"] == {"trials": 20, "usd": 1.2}
    for found in told["strategies"]:
        assert (found["seeds"], found["verified"], found["tests"]) == (1, 1.0, 20)
        assert found["target_reached"]
    kept = {path: path.stat().st_mtime_ns for path in results.iterdir()}
    assert len(kept) == 2
    main([*places, "--strategies", "random"])
    shown = capsys.readouterr().out
    assert "random: 1 of 1 seeds recommend at least 0.95, verified" in shown
    assert {path: path.stat().st_mtime_ns for path in results.iterdir()} == kept


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "python -m benchmarks.demo --strategies" in capsys.readouterr().out


@pytest.mark.slow
def test_lean_recommends_a_good_and_verified_setting_on_the_demos_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    needs(default_data() / "demo" / "mnist_mlp.csv")
    assert load_table(TABLE).rows == 2430
    main(["--seeds", "3", "--strategies", "lean", "--results", str(tmp_path), "--processes", "1", "--json"])
    (found,) = json.loads(capsys.readouterr().out)["strategies"]
    assert found["verified"] == 1.0
    assert found["least_accuracy"] >= 0.945
    assert found["accuracy"] >= 0.95
