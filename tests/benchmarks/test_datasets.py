"""The published tables say what the papers say; generated ones stand in for them."""

from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.datasets import (
    ACCURACY,
    FRACTIONS,
    GENERATED,
    Dataset,
    generated,
    large_space,
    load,
    table_path,
    trimtuner_space,
    write_generated,
)
from leantune import errors
from leantune.lab.replay.tables import DATA_VARIABLE, load_table
from tests.data import needs


def full_data(dataset: Dataset) -> list[tuple[float, float]]:
    """Accuracy and dollars of every configuration at full data."""
    found = []
    for configuration in dataset.space.grid():
        seen = dataset.measure(configuration, Fraction(1))
        assert configuration.usd_per_hour is not None
        found.append((seen.metrics[ACCURACY], seen.seconds / 3600 * configuration.usd_per_hour))
    return found


@pytest.mark.parametrize(("name", "feasible", "good", "best"), [("rnn", 178, 28, 0.98047), ("cnn", 111, 39, 0.98747)])
def test_published_tables_agree_with_the_paper(name: str, feasible: int, good: int, best: float) -> None:
    needs(table_path(name))
    dataset = load(name)
    assert dataset.source == str(table_path(name))
    assert dataset.pairs == 1_440
    kept = [accuracy for accuracy, dollars in full_data(dataset) if dollars <= dataset.cost_limit]
    assert len(kept) == feasible
    assert max(kept) == pytest.approx(best, abs=5e-6)
    assert sum(accuracy >= 0.95 * max(kept) for accuracy in kept) == good


def test_a_table_that_is_absent_is_generated_in_the_same_shape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    dataset = load("rnn")
    assert dataset.source == GENERATED
    assert dataset.pairs == 1_440
    found = full_data(dataset)
    assert 0.3 < sum(dollars <= dataset.cost_limit for _, dollars in found) / len(found) < 0.7
    assert all(0 <= accuracy < 1 for accuracy, _ in found)
    assert len(dataset.table()) == 1_440


def test_generated_measurements_are_the_same_every_time_and_improve_with_data() -> None:
    first, second = generated("twin", trimtuner_space()), generated("twin", trimtuner_space())
    configuration = first.space.grid()[7]
    assert first.measure(configuration, FRACTIONS[0]) == second.measure(configuration, FRACTIONS[0])
    few, all_data = first.measure(configuration, FRACTIONS[0]), first.measure(configuration, FRACTIONS[-1])
    assert few.metrics[ACCURACY] < all_data.metrics[ACCURACY]
    assert few.seconds < all_data.seconds


def test_an_incomplete_table_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    path = write_generated("rnn", tmp_path)
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-3]), encoding="utf-8")
    with pytest.raises(errors.InvalidInput, match=r"usable pairs.*1440"):
        load("rnn")


def test_a_written_table_reads_like_the_published_ones(tmp_path: Path) -> None:
    write_generated("rnn", tmp_path)
    for problem, least in (("", 50), ("cheapest", 20)):
        table = load_table("trimtuner-rnn", data=tmp_path, problem=problem)
        assert table.problem.fractions == FRACTIONS
        assert len(table.measurements) == 1_440
        limits = {limit.metric: limit for limit in table.problem.constraints}
        kept = [
            row
            for (_, share), row in table.measurements.items()
            if (share == 1 or problem)
            and all(
                limit.holds({**row.metrics, "cost": row.cost or 0.0, "time": row.seconds}[name])
                for name, limit in limits.items()
            )
        ]
        assert least < len(kept) < 1_300


def test_unknown_tables_and_sizes_are_refused() -> None:
    with pytest.raises(errors.InvalidInput, match="rnn, multilayer, cnn"):
        load("mlp")
    with pytest.raises(errors.InvalidInput, match="10000, 100000, 1000000"):
        large_space(12)


def test_large_spaces_have_the_size_they_promise() -> None:
    assert [large_space(pairs).size for pairs in (10_000, 100_000, 1_000_000)] == [2_000, 20_000, 200_000]
