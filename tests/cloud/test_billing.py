"""The providers' rules as cases (docs/spot-billing.md cites them), and that dollars add up."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.billing import AWS, AZURE, GCP, POLICIES, BillingPolicy, BillReason
from leantune.cloud.markets import Market, PriceSeries
from leantune.errors import InvalidInput

START = 1_456_000_000.0
MARKET = Market("r3.large", "us-east-1c")
FLAT = 0.36  # USD per hour: 0.0001 USD per second
PER_SECOND = 0.0001


def rising(*steps: tuple[float, float]) -> PriceSeries:
    """Prices set so many seconds after START."""
    return PriceSeries(MARKET, [START + at for at, _ in steps], [price for _, price in steps])


@pytest.mark.parametrize("policy", [AWS, GCP, AZURE])
@pytest.mark.parametrize(
    ("used", "billed", "why"),
    [
        (0.0, 60, BillReason.MINIMUM),
        (59.0, 60, BillReason.MINIMUM),
        (59.5, 60, BillReason.USED),
        (60.0, 60, BillReason.USED),
        (60.1, 61, BillReason.USED),
        (3599.9, 3600, BillReason.USED),
        (3600.0, 3600, BillReason.USED),
        (100_000.0, 100_000, BillReason.USED),
    ],
)
def test_own_termination_is_charged_by_the_second_with_a_minimum(
    policy: BillingPolicy, used: float, billed: int, why: BillReason
) -> None:
    bill = policy.bill(FLAT, START, START + used, revoked=False)
    assert bill.seconds == float(billed)
    assert bill.gross_usd == pytest.approx(billed * PER_SECOND, rel=1e-9)
    assert bill.refund_usd == 0.0
    assert bill.net_usd == bill.gross_usd
    assert bill.why is why


@pytest.mark.parametrize(
    ("policy", "used", "free"),
    [
        (AWS, 0.0, True),
        (AWS, 59.0, True),
        (AWS, 3599.9, True),
        (AWS, 3600.0, False),
        (AWS, 3600.1, False),
        (AWS, 7200.0, False),
        (GCP, 59.9, True),
        (GCP, 60.0, False),
        (GCP, 3000.0, False),
        (AZURE, 0.0, False),
        (AZURE, 59.0, False),
        (AZURE, 3000.0, False),
    ],
)
def test_revoked_by_the_provider(policy: BillingPolicy, used: float, free: bool) -> None:
    revoked = policy.bill(FLAT, START, START + used, revoked=True)
    own = policy.bill(FLAT, START, START + used, revoked=False)
    assert (revoked.seconds, revoked.gross_usd) == (own.seconds, own.gross_usd)
    assert revoked.net_usd == (0.0 if free else own.net_usd)
    assert revoked.refund_usd == (own.gross_usd if free else 0.0)
    assert (revoked.why is BillReason.REFUNDED) == free


def test_notices_are_those_of_the_providers() -> None:
    assert {name: policy.notice_seconds for name, policy in POLICIES.items()} == {"aws": 120, "gcp": 30, "azure": 30}


def test_each_second_costs_the_price_in_force() -> None:
    series = rising((0, 3.6), (100, 7.2), (200, 36.0))
    bill = AWS.bill(series, START + 50, START + 250, revoked=False)
    assert bill.gross_usd == pytest.approx(50 * 0.001 + 100 * 0.002 + 50 * 0.01, rel=1e-9)


def test_the_minimum_is_charged_at_the_last_price_of_the_use() -> None:
    # 20 s of use, 10 s of it at the higher price; the 40 s up to the minimum cost that one.
    bill = AWS.bill(rising((0, 3.6), (100, 7.2)), START + 90, START + 110, revoked=False)
    assert bill.gross_usd == pytest.approx(10 * 0.001 + 50 * 0.002, rel=1e-9)


@pytest.mark.parametrize("used", [20.0, 59.0, 59.5, 100.5])
def test_a_price_set_at_the_end_does_not_matter(used: float) -> None:
    later = rising((0, FLAT), (30 + used, 1000.0))
    bill = AWS.bill(later, START + 30, START + 30 + used, revoked=False)
    assert bill.gross_usd == pytest.approx(bill.seconds * PER_SECOND, rel=1e-9)


def test_granularity_rounds_up() -> None:
    hourly = BillingPolicy("old", 120.0, 3600.0, minimum_seconds=3600.0, granularity_seconds=3600.0)
    assert [hourly.bill(FLAT, START, START + used, revoked=False).seconds for used in (0, 1, 3600, 3601)] == [
        3600.0,
        3600.0,
        3600.0,
        7200.0,
    ]


def test_a_whole_number_of_seconds_is_not_rounded_up_by_the_float() -> None:
    begin = START + 0.1
    assert AWS.bill(FLAT, begin, begin + 100.0, revoked=False).seconds == 100.0


prices = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=6)


@given(prices, st.data())
def test_pieces_add_up(levels: list[float], data: st.DataObject) -> None:
    """With whole seconds and no piece below the minimum."""
    series = rising(*((i * 500.0, price) for i, price in enumerate(levels)))
    lengths = data.draw(st.lists(st.integers(60, 4000), min_size=1, max_size=6))
    edges = [START + 17.0]
    for length in lengths:
        edges.append(edges[-1] + length)
    whole = AWS.bill(series, edges[0], edges[-1], revoked=False)
    pieces = [AWS.bill(series, a, b, revoked=False) for a, b in pairwise(edges)]
    assert whole.seconds == sum(piece.seconds for piece in pieces)
    assert whole.net_usd == pytest.approx(math.fsum(piece.net_usd for piece in pieces), rel=1e-9)


@given(prices, st.floats(0, 2000), st.floats(0, 5000), st.booleans(), st.sampled_from([AWS, GCP, AZURE]))
def test_never_negative_and_never_less_than_the_use(
    levels: list[float], begin: float, used: float, revoked: bool, policy: BillingPolicy
) -> None:
    series = rising(*((i * 500.0, price) for i, price in enumerate(levels)))
    bill = policy.bill(series, START + begin, START + begin + used, revoked=revoked)
    assert 0 <= bill.net_usd <= bill.gross_usd
    assert bill.seconds >= used - 1e-5
    assert bill.gross_usd >= series.cost(START + begin, START + begin + used)


def test_wrong_periods_and_policies_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no period"):
        AWS.bill(FLAT, START, START - 1, revoked=False)
    with pytest.raises(InvalidInput, match="no period"):
        AWS.bill(FLAT, START, math.nan, revoked=False)
    with pytest.raises(InvalidInput, match="granularity_seconds is 0"):
        BillingPolicy("x", 1.0, 1.0, granularity_seconds=0.0)
    with pytest.raises(InvalidInput, match="notice_seconds"):
        BillingPolicy("x", -1.0, 1.0)
