"""Files as columns: blocks, compression, names, other columns."""

import gzip
from pathlib import Path

import pytest

from leantune.cloud import price_files
from leantune.cloud.markets import Market
from leantune.cloud.price_files import columns_of, read_columns
from leantune.errors import InvalidInput

HEADER = "timestamp,instance_type,availability_zone,product,price"


def test_blocks_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Markets get the same number in each block, and a wrong row its place in the file."""
    monkeypatch.setattr(price_files, "BLOCK_BYTES", 1000)
    rows = [f"2026-03-01T{n // 60:02}:{n % 60:02}:00Z,m{n % 3}.large,z{n % 2},Linux/UNIX,{n + 1}" for n in range(200)]
    rows[150] = rows[150].replace("2026", "then")
    path = tmp_path / "prices.csv"
    path.write_text("\n".join([HEADER, *rows]), encoding="utf-8")
    seen: list[int] = []
    columns = read_columns(path, seen.append)
    assert seen == sorted(seen)
    assert (seen[-1], len(seen) > 3) == (200, True)
    assert (columns.unreadable, columns.first_unreadable) == (1, "line 152")
    kept = [n for n in range(200) if n != 150]
    assert columns.prices.tolist() == [n + 1 for n in kept]
    assert [columns.markets[code] for code in columns.codes] == [Market(f"m{n % 3}.large", f"z{n % 2}") for n in kept]


def test_other_columns_order_spaces_quotes_and_compression(tmp_path: Path) -> None:
    header = "note,price,product,availability_zone,instance_type,timestamp"
    text = f'{header}\n"a,b", 0.5 ,Windows, us-east-1a,m5.large , 2026-03-01T00:00:00Z\n'
    path = tmp_path / "prices.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.encode()))
    columns = read_columns(path)
    assert columns.markets == (Market("m5.large", "us-east-1a", "Windows"),)
    assert (columns.prices.tolist(), columns.unreadable) == ([0.5], 0)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_bytes(HEADER.encode() + b"\n2026-03-01T00:00:00Z,a,b,c,1\n\xff\xfe,a,b,c,1\n")
    with pytest.raises(InvalidInput, match="no CSV of prices") as caught:
        read_columns(path)
    assert caught.value.where == f"{path}, line 3"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_columns(tmp_path)


def test_entries_in_memory() -> None:
    entry = {
        "AvailabilityZone": "a",
        "InstanceType": "t",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": 0.25,
        "Timestamp": "1970-01-02",
    }
    columns = columns_of([entry, None, {**entry, "SpotPrice": None}])
    assert (columns.times.tolist(), columns.prices.tolist()) == ([86400.0], [0.25])
    assert (columns.unreadable, columns.first_unreadable, columns.without_zone) == (2, "entry 2", 1)
