"""Tables of machines: the format, spot prices by zone, and a user's refreshed ones."""

import csv
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune import Space, Study, clusters, maximize
from leantune.cloud.catalog import catalogue
from leantune.cloud.catalog_tables import Catalogue, install, parse_table, regions, table_text, uninstall, user_folder
from leantune.errors import InvalidInput, SpaceError, StoreError, StudyChanged
from leantune.space import Machine
from tests.data import needs

REPOSITORY = Path(__file__).parent.parent.parent
REFERENCE = (
    Path(os.environ.get("LEANTUNE_DATA", REPOSITORY.parent / "shared" / "data"))
    / "catalog"
    / "aws_us-east-1_2026-08.csv"
)
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters=".-"), min_size=1)
PRICES = st.floats(1e-5, 1e4)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEANTUNE_HOME", str(tmp_path))
    return tmp_path


def table(price: float = 0.5, region: str = "us-east-1", spot: Mapping[str, float] | None = None) -> Catalogue:
    machine = Machine("m5.large", 2, 8, price, provider="aws", region=region)
    return Catalogue("aws", region, "2026-11-16", "a test", {"m5.large": machine}, {"m5.large": spot} if spot else {})


def test_shipped_spot_prices_agree_with_the_reference() -> None:
    needs(REFERENCE)
    known: dict[str, dict[str, float]] = {}
    with REFERENCE.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["spot_usd_per_hour"]:
                known.setdefault(row["instance_type"], {})[row["availability_zone"]] = float(row["spot_usd_per_hour"])
    shipped = catalogue("aws")
    assert {name: dict(shipped.zones(name)) for name in shipped.machines} == {
        name: known.get(name, {}) for name in shipped.machines
    }


def test_most_shipped_types_have_spot_prices_at_most_on_demand() -> None:
    shipped = catalogue("aws")
    assert len(shipped.spot) > 0.9 * len(shipped.machines)
    for name, zones in shipped.spot.items():
        assert 0 < min(zones.values()) <= (shipped[name].usd_per_hour or 0), name


def test_zones_of_a_type() -> None:
    known = table(spot={"us-east-1a": 0.1})
    assert dict(known.zones("m5.large")) == {"us-east-1a": 0.1}
    assert dict(table().zones("m5.large")) == {}
    with pytest.raises(SpaceError, match="unknown machine type"):
        known.zones("m5.huge")


ONE = st.tuples(
    st.floats(0.25, 512), st.floats(0.5, 1e4), st.integers(0, 16), PRICES, st.dictionaries(NAMES, PRICES, max_size=4)
)


@given(st.dictionaries(NAMES, ONE, min_size=1, max_size=5))
def test_a_table_is_read_as_it_is_written(rows: dict[str, tuple[float, float, int, float, dict[str, float]]]) -> None:
    machines = {
        name: Machine(name, vcpus, memory, usd, count, "A, 100" if count else "", "aws", "x")
        for name, (vcpus, memory, count, usd, _) in rows.items()
    }
    spot = {name: zones for name, (*_, zones) in rows.items() if zones}
    written = Catalogue("aws", "x", "2026-11", "a: b, c", machines, spot)
    found = parse_table("# A title: with a colon\n" + table_text(written), "aws", "x", "shipped")
    assert (found.date, found.source, dict(found.machines)) == ("2026-11", "a: b, c", machines)
    assert {name: dict(zones) for name, zones in found.spot.items()} == spot


def test_a_refreshed_table_is_preferred_until_undone(home: Path) -> None:
    shipped = catalogue("aws")
    path = install(table(0.5))
    assert path == home / "catalog" / "aws_us-east-1.csv"
    new = catalogue("aws")
    assert (new["m5.large"].usd_per_hour, new.date, new.source, new.origin) == (0.5, "2026-11-16", "a test", str(path))
    install(table(0.75))
    assert catalogue("aws")["m5.large"].usd_per_hour == 0.75, "read again when it changed"
    assert uninstall("aws", "us-east-1") == path
    assert catalogue("aws") is shipped
    with pytest.raises(InvalidInput, match="was not refreshed") as caught:
        uninstall("aws", "us-east-1")
    assert "shipped table is in use" in caught.value.hint


def test_a_region_that_is_not_shipped() -> None:
    with pytest.raises(SpaceError, match="unknown region 'eu-west-1'"):
        catalogue("aws", "eu-west-1")
    install(table(region="eu-west-1"))
    assert regions("aws") == ("eu-west-1", "us-east-1")
    assert catalogue("aws", "eu-west-1")["m5.large"].region == "eu-west-1"
    assert clusters("aws", types=["m5.large"], region="eu-west-1").options[0].usd_per_hour == 0.5


def test_a_failed_write_leaves_what_was(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(table(0.5))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left") as caught:
        install(table(0.75))
    assert "LEANTUNE_HOME" in caught.value.hint
    assert catalogue("aws")["m5.large"].usd_per_hour == 0.5
    assert [path.name for path in (home / "catalog").iterdir()] == ["aws_us-east-1.csv"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# date: x\n# source: y\ntype,vcpus\na,1\n", 4),
        (table_text(table()).replace("m5.large,2,8", "m5.large,two,8"), 6),
        (table_text(table(spot={"a": 1.0})).replace("a:1.0", "a"), 6),
        (table_text(table()).replace("# date", "# when"), 6),
    ],
)
def test_a_damaged_table_is_named(home: Path, text: str, line: int) -> None:
    path = home / "catalog" / "aws_us-east-1.csv"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="no table of machines") as caught:
        catalogue("aws")
    assert caught.value.where == f"{path}, line {line}"
    assert "catalog refresh --undo" in caught.value.hint


def test_an_existing_study_is_not_changed_silently(home: Path) -> None:
    """Its definition has the prices it began with: with other ones it is refused, and after an undo it goes on."""
    store = f"sqlite:///{home / 'studies.db'}"

    def study() -> Study:
        space = Space(cluster=clusters("aws", types=["m5.large"], nodes=[1, 2]))
        return Study(space, maximize("accuracy"), store=store, name="s")

    study()
    study()
    install(table(0.5))
    with pytest.raises(StudyChanged, match="usd_per_hour") as caught:
        study()
    assert "0.096" in str(caught.value)
    uninstall("aws", "us-east-1")
    study()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/leantune"),
        ("linux", {}, "/home/me/.local/share/leantune"),
        ("darwin", {}, "/home/me/Library/Application Support/leantune"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/leantune"),
        ("win32", {"LEANTUNE_HOME": "/mine"}, "/mine"),
    ],
)
def test_the_users_folder(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    for name in ("LEANTUNE_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert user_folder().as_posix() == expected
