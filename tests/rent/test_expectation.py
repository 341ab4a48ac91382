"""The closed forms against drawing revocations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.rent.expectation import HOUR, expectation, hazard_of, save_interval, weighed_offers

DRAWS = 400_000


def drawn(
    p: float, price: float, lead: float, save: float, notice: float, window: float, remaining: float, horizon: float
) -> tuple[float, float, float]:
    """The definition in the module's docstring, by Monte Carlo."""
    x = np.random.default_rng(1).exponential(1 / hazard_of(p), DRAWS)
    end = min(horizon, lead + remaining + save)
    early = x < end
    work = np.where(early, np.maximum(x - lead, 0), max(end - lead - save, 0))
    paid = np.where(early, np.where(x + notice <= window, 0, price * (x + notice)), price * end)
    seconds = np.where(early, x + min(save, notice), end)
    return float(paid.mean() / HOUR), float(seconds.mean()), float(work.mean())


@pytest.mark.parametrize("p", [0.01, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("window", [0.0, 1800.0, 3600.0])
@pytest.mark.parametrize("remaining", [200.0, 1e6])
def test_closed_forms_equal_the_definition(p: float, window: float, remaining: float) -> None:
    given = (p, 0.25, 90.0, 20.0, 110.0, window, remaining, 3600.0)
    for formula, sample in zip(expectation(*given), drawn(*given), strict=True):
        assert formula == pytest.approx(sample, rel=0.03, abs=3e-4)


def test_what_is_never_revoked_pays_for_every_second() -> None:
    dollars, seconds, work = expectation(0.0, 0.36, 60.0, 10.0, 120.0, 3600.0, 1e9, 3600.0)
    assert dollars == pytest.approx(0.36)
    assert (seconds, work) == (3600.0, 3530.0)


def test_a_small_risk_joins_no_risk() -> None:
    given = (0.36, 60.0, 10.0, 120.0, 3600.0, 1e9, 3600.0)
    assert expectation(1e-9, *given) == pytest.approx(expectation(0.0, *given), rel=1e-6)


def test_certain_revocation_is_not_free_of_charge_for_progress() -> None:
    """Eq. 2 calls p -> 1 free; here a machine that goes before it has booted keeps nothing."""
    terms = (120.0, 0.0, 3600.0, 0.0)
    p, price, step, open_ = np.array([[1.0], [0.0]]), np.full(2, 0.1), np.ones(2), np.ones((2, 1), dtype=np.bool_)
    cost, whole = weighed_offers(p, price, step, open_, (3000.0, 10.0, 1e9), terms)
    assert cost[0] > 100 * cost[1]
    assert whole[0] > whole[1] == pytest.approx(1e9 * 3600 / 590)


@settings(max_examples=200, deadline=None)
@given(
    p=st.floats(0, 1),
    lead=st.floats(0, 4000),
    save=st.floats(0, 600),
    window=st.sampled_from([0.0, 3600.0]),
    remaining=st.floats(0, 1e6),
)
def test_nothing_is_negative_and_refunds_only_help(
    p: float, lead: float, save: float, window: float, remaining: float
) -> None:
    dollars, seconds, work = expectation(p, 0.5, lead, save, 110.0, window, remaining, 3600.0)
    plain, _, _ = expectation(p, 0.5, lead, save, 110.0, 0.0, remaining, 3600.0)
    assert 0 <= dollars <= plain + 1e-12
    assert 0 <= work <= max(3600.0 - lead, 0) + 1e-9
    assert 0 <= seconds <= 3600.0 + 120


def test_a_model_too_large_for_the_notice_keeps_less() -> None:
    _, _, small = expectation(0.8, 0.5, 60.0, 100.0, 110.0, 0.0, 1e9, 3600.0)
    _, _, large = expectation(0.8, 0.5, 60.0, 120.0, 110.0, 0.0, 1e9, 3600.0)
    assert large < small - 200


def test_saving_is_rarer_where_revocations_are() -> None:
    assert save_interval(hazard_of(0.9), 30.0) < save_interval(hazard_of(0.1), 30.0) < math.inf
    assert save_interval(0.0, 30.0) == math.inf
    assert save_interval(1 / 6000, 30.0) == pytest.approx(600.0)
