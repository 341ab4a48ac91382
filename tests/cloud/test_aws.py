"""Prices fetched from a server that speaks EC2's protocol, and what is said when it refuses."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from leantune.clock import SimulatedClock
from leantune.cloud.aws import HISTORY_SECONDS, Access, fetch_into
from leantune.cloud.markets import Market
from leantune.cloud.price_store import PriceStore
from leantune.errors import InvalidInput, LeanTuneError
from tests.cloud.fake_aws import FakeAws, Row, serving, without_configuration

NOW = datetime.fromisoformat("2026-03-10T00:00:00+00:00").timestamp()
A, B = Market("m5.large", "us-east-1a"), Market("m5.large", "us-east-1b")


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def row(stamp: str, market: Market, price: str) -> Row:
    return (stamp, market.instance_type, market.zone, market.product, price)


ROWS = [
    row("2026-03-01T00:00:00.000Z", A, "0.0400"),
    row("2026-03-02T00:30:00.000Z", A, "0.0410"),
    row("2026-03-03T00:00:00.000Z", B, "0.0500"),
    row("2026-03-04T00:00:00.000Z", A, "0.0420"),
    row("2026-03-05T00:00:00.000Z", B, "0.0510"),
]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    with serving(monkeypatch) as fake:
        fake.rows = list(ROWS)
        yield fake


def access(aws: FakeAws, attempts: int = 3) -> Access:
    return Access("us-east-1", aws.url, attempts)


def test_all_pages_arrive(aws: FakeAws, tmp_path: Path) -> None:
    store, seen = PriceStore(tmp_path / "prices"), list[int]()
    fetched = fetch_into(store, access(aws), SimulatedClock(NOW), ("m5.large",), progress=seen.append)
    report = fetched.loaded.report
    assert (fetched.updated.added, report.out_of_order, report.unreadable, seen) == (5, 0, 0, [2, 4, 5])
    assert len(report.gaps) == 2, "each is longer than a day"
    assert [form.get("NextToken") for form in aws.asked] == [None, "2", "4"]
    assert at(aws.asked[0]["StartTime"]) == NOW - HISTORY_SECONDS == fetched.since
    assert store.series(A).prices.tolist() == [0.04, 0.041, 0.042]
    assert store.series(B).times.tolist() == [at("2026-03-03T00:00:00Z"), at("2026-03-05T00:00:00Z")]


def test_a_second_fetch_asks_only_for_what_came_since(aws: FakeAws, tmp_path: Path) -> None:
    store = PriceStore(tmp_path / "prices")
    fetch_into(store, access(aws), SimulatedClock(NOW))
    aws.rows.append(row("2026-03-06T12:00:00.000Z", A, "0.0430"))
    aws.asked.clear()
    fetched = fetch_into(store, access(aws), SimulatedClock(NOW))
    assert fetched.updated.added == 1
    assert fetched.since == at("2026-03-04T00:00:00Z"), "the newest price of the market that is furthest behind"
    assert at(aws.asked[0]["StartTime"]) == fetched.since
    again = fetch_into(store, access(aws), SimulatedClock(NOW))
    assert (again.updated.added, again.updated.files) == (0, 0)


def test_a_type_that_is_new_is_asked_for_from_the_beginning(aws: FakeAws, tmp_path: Path) -> None:
    store = PriceStore(tmp_path / "prices")
    fetch_into(store, access(aws), SimulatedClock(NOW), ("m5.large",))
    other = Market("r5.large", "us-east-1a")
    aws.rows.append(row("2026-02-01T00:00:00.000Z", other, "0.0300"))
    aws.asked.clear()
    assert fetch_into(store, access(aws), SimulatedClock(NOW), ("m5.large", "r5.large")).updated.added == 1
    starts = {form["InstanceType.1"]: at(form["StartTime"]) for form in aws.asked}
    assert starts == {"r5.large": NOW - HISTORY_SECONDS, "m5.large": at("2026-03-04T00:00:00Z")}
    assert set(store.markets()) == {A, B, other}


def test_products_are_markets_of_their_own(aws: FakeAws, tmp_path: Path) -> None:
    windows = Market("m5.large", "us-east-1a", "Windows")
    aws.rows.append(row("2026-03-01T00:00:00.000Z", windows, "0.1400"))
    store = PriceStore(tmp_path / "prices")
    fetch_into(store, access(aws), SimulatedClock(NOW), products=("Windows",))
    assert store.markets() == (windows,)


def test_throttling_is_waited_out(aws: FakeAws, tmp_path: Path) -> None:
    aws.failures = [(503, "RequestLimitExceeded")]
    assert fetch_into(PriceStore(tmp_path / "p"), access(aws), SimulatedClock(NOW)).updated.added == 5


@pytest.mark.parametrize(
    ("status", "code", "says", "right"),
    [
        (503, "RequestLimitExceeded", "asked too often", "Wait a minute"),
        (401, "AuthFailure", "refuses the credentials", "aws configure"),
        (403, "UnauthorizedOperation", "may not ask", "ec2:DescribeSpotPriceHistory"),
        (400, "InvalidParameterValue", "as the test wants it", "Correct"),
    ],
)
def test_refusals_are_said_and_nothing_is_kept(
    aws: FakeAws, tmp_path: Path, status: int, code: str, says: str, right: str
) -> None:
    store, one_page = PriceStore(tmp_path / "prices"), access(aws, attempts=1)
    aws.failures = [(status, code)]
    with pytest.raises(LeanTuneError, match=says) as caught:
        fetch_into(store, one_page, SimulatedClock(NOW))
    assert code in str(caught.value)
    assert (caught.value.where, right in caught.value.hint) == ("AWS, region us-east-1", True)
    assert store.markets() == ()


def test_a_failure_between_pages_keeps_nothing(aws: FakeAws, tmp_path: Path) -> None:
    """Pages come newest first: half of them would leave a hole that no later fetch fills."""
    store = PriceStore(tmp_path / "prices")
    fail_next = lambda _: aws.failures.append((400, "InvalidParameterValue"))  # noqa: E731
    with pytest.raises(InvalidInput):
        fetch_into(store, access(aws), SimulatedClock(NOW), progress=fail_next)
    assert store.markets() == ()


def test_nothing_found(aws: FakeAws, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no spot prices of m9\.huge, Linux/UNIX") as caught:
        fetch_into(PriceStore(tmp_path / "p"), access(aws), SimulatedClock(NOW), ("m9.huge",))
    assert caught.value.where == "region us-east-1"


def test_no_credentials(aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_configuration(monkeypatch)
    with pytest.raises(InvalidInput, match="no credentials for AWS") as caught:
        fetch_into(PriceStore(tmp_path / "p"), access(aws), SimulatedClock(NOW))
    assert "aws configure" in caught.value.hint
    assert aws.asked == []


@pytest.mark.parametrize(
    ("region", "right"), [("mars-north-1", "There may be no region 'mars-north-1'. Known: "), ("us-east-1", "network")]
)
def test_nobody_answers(aws: FakeAws, tmp_path: Path, region: str, right: str) -> None:
    """As with a region that does not exist: its name leads nowhere (here: a port that nobody listens on)."""
    nowhere = Access(region, "http://127.0.0.1:1", attempts=1)
    with pytest.raises(InvalidInput, match="AWS cannot be reached") as caught:
        fetch_into(PriceStore(tmp_path / "p"), nowhere, SimulatedClock(NOW))
    assert right in caught.value.hint


def test_a_region_that_is_no_name(aws: FakeAws, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="AWS cannot be reached") as caught:
        fetch_into(PriceStore(tmp_path / "p"), Access("us east!"), SimulatedClock(NOW))
    assert "Known: " in caught.value.hint
    assert "us-east-1" in caught.value.hint
