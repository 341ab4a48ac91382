"""The comparison of predictors, on small markets."""

from dataclasses import replace

import pytest

from benchmarks.revpred import (
    PER_MARKET,
    QUICK,
    grid_seconds,
    lines,
    load_markets,
    milliseconds_for_markets,
    plans,
    rows,
)
from leantune.lab.replay.tables import default_data
from leantune.revocation.kinds import KINDS
from leantune.revocation.predictors import predictor
from tests.data import needs
from tests.revocation.made import markets

pytest.importorskip("sklearn")


def test_plans_are_alike_but_for_the_scope() -> None:
    chosen = plans(quick=True, tries=2, processes=1)
    assert {plan.tries for plan in chosen.values()} == {2}
    assert [plan.per_market for plan in chosen.values()] == [False, True]
    assert set(QUICK) | set(PER_MARKET) <= set(KINDS)


def test_every_predictor_has_a_row_and_the_best_is_first() -> None:
    chosen = plans(quick=True, tries=1, processes=1)
    small = {
        scope: replace(plan, train_questions=600, validation_questions=300, test_questions=400)
        for scope, plan in chosen.items()
    }
    found = rows(markets(), small, ["hazard", "logistic"])
    assert [(row.name, row.scope) for row in found] == [
        ("online-hazard", "untrained"),
        ("hazard", "pooled"),
        ("logistic", "pooled"),
        ("logistic", "per market"),
    ]
    assert len({row.judged.pooled.count for row in found}) == 1  # one test slice for all
    best = min(found, key=lambda row: row.judged.pooled.brier)
    assert lines(found)[2].startswith(f"| {best.name} | {best.scope} |")
    assert found[1].as_json()["train_cpu_seconds"] == found[1].train_seconds


def test_questions_about_many_markets_are_timed() -> None:
    series = markets()
    assert 0 < milliseconds_for_markets(predictor(), series, count=20) < 1_000
    assert 0 < grid_seconds(predictor(), series, days=1) < 10


def test_the_real_markets_are_six() -> None:
    needs(default_data() / "spot" / "pool6_2016.csv")
    assert len(load_markets()) == 6
