"""Training alike: the best try by validation is kept, here and in processes; the test slice is one for all."""

from dataclasses import replace

import numpy as np
import pytest

from leantune.errors import InvalidInput
from leantune.lab.training.scores import scores
from leantune.lab.training.training import Attempt, Slices, TrainingPlan, judged, train_kind
from leantune.revocation.trained import ALL_MARKETS
from tests.revocation.made import SMALL, markets, small_slices, walk


def test_the_best_try_on_validation_is_kept() -> None:
    slices, heard = small_slices(), list[Attempt]()
    result = train_kind("hazard", slices, replace(SMALL, tries=4), heard.append)
    assert [attempt.number for attempt in heard] == [0, 1, 2, 3]
    best = min(heard, key=lambda attempt: attempt.brier)
    assert result.kept == (best,)
    assert result.predictor.models == {ALL_MARKETS: best.model}
    assert result.seconds == pytest.approx(sum(attempt.seconds for attempt in heard))


def test_one_model_for_each_market() -> None:
    slices = small_slices()
    result = train_kind("logistic", slices, replace(SMALL, per_market=True))
    assert sorted(result.predictor.models) == ["m4.large/us-east-1a", "r3.large/us-east-1a"]
    found = judged(result.predictor, slices.test)
    assert found.name == "logistic"
    assert sorted(found.markets) == sorted(result.predictor.models)


def test_scores_per_market_and_pooled_are_of_the_same_answers() -> None:
    slices = small_slices()
    predictor = train_kind("logistic", slices, SMALL).predictor
    found = judged(predictor, slices.test)
    said = predictor.predict(slices.test.queried, slices.test.times, slices.test.max_prices)
    assert found.pooled == scores(said, slices.test.labels)
    counts = [one.count for one in found.markets.values()]
    weighted = np.average([one.brier for one in found.markets.values()], weights=counts)
    assert weighted == pytest.approx(found.pooled.brier)
    assert found.pooled.count == sum(counts) == sum(row.count for row in found.reliability)


def test_the_future_does_not_change_what_is_trained() -> None:
    """Prices after the validation slice are replaced by others: the predictor stays the same."""
    slices = small_slices()
    cut = slices.split.test.begin
    changed = []
    for one in markets():
        prices = np.where(one.times > cut, one.prices * 7.0, one.prices)
        changed.append(type(one)(one.market, one.times, prices, end=one.end))
    others = Slices.of(changed, SMALL)
    first, second = (train_kind("logistic-wide", part, SMALL).kept[0].model for part in (slices, others))
    assert np.array_equal(first.tensors()["weights"], second.tensors()["weights"])


@pytest.mark.slow
def test_processes_give_the_same_predictor() -> None:
    slices = small_slices()
    plan = replace(SMALL, tries=2)
    here = train_kind("logistic", slices, plan)
    apart = train_kind("logistic", slices, replace(plan, processes=2))
    assert here.kept[0].options == apart.kept[0].options
    assert np.array_equal(here.kept[0].model.tensors()["weights"], apart.kept[0].model.tensors()["weights"])


def test_markets_without_enough_prices_are_named() -> None:
    series = [*markets(), walk(7, days=2.0, instance_type="too.new")]
    with pytest.raises(InvalidInput, match=r"too few prices .*too.new"):
        train_kind("hazard", Slices.of(series, SMALL), replace(SMALL, per_market=True))
    with pytest.raises(InvalidInput, match="below 1"):
        TrainingPlan(tries=0)
