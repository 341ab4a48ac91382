"""Clusters of a table: sizes, prices, rates."""

import pytest

from leantune.cloud.catalog import catalogue
from leantune.errors import InvalidInput
from leantune.lab.replay.tables.machines import RowClusters, rent
from leantune.space import Machine
from tests.lab.replay.made import columns, described

CSV = "vm,n,cpus,gib,usd,ps\nlarge,2,8,32,0.4,1\nsmall,4,1,2,0.05,1\nsmall,1,1,2,0.05,1\nlarge,2,8,32,0.4,1\n"
SIZED = "cluster: {type: vm, nodes: n, vcpus: cpus, memory: gib, price: usd}"


def read(cluster: str, csv: str = CSV) -> RowClusters:
    described_ = described(cluster=cluster).cluster
    assert described_ is not None
    return rent(described_, columns(csv))


def refused(cluster: str, csv: str = CSV) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        read(cluster, csv)
    assert caught.value.hint
    return caught.value


def test_sizes_from_columns() -> None:
    rented = read(SIZED)
    small, large = Machine("small", 1, 2, 0.05), Machine("large", 8, 32, 0.4)
    assert [(option.machine, option.nodes) for option in rented.options] == [(small, 1), (small, 4), (large, 2)]
    assert rented.pairs == [("large", 2), ("small", 4), ("small", 1), ("large", 2)]
    assert rented.usd_per_hour() == [0.8, 0.2, 0.05, 0.8]


def test_sizes_from_the_catalogue() -> None:
    rented = read("cluster: {type: vm, nodes: n, provider: aws}", "vm,n\nt2.xlarge,1\nt2.small,3\n")
    assert [str(option) for option in rented.options] == ["3 x t2.small", "1 x t2.xlarge"]
    assert rented.options[0].machine is catalogue("aws")["t2.small"]


def test_machines_as_in_a_job_file() -> None:
    machines = "{small: {vcpus: 1, memory: 2 GiB}, large: {vcpus: 8, memory: 32 GiB, usd_per_hour: 0.5}}"
    rented = read(f"cluster: {{type: vm, machines: {machines}}}")
    assert [str(option) for option in rented.options] == ["1 x small", "1 x large"]
    assert rented.usd_per_hour() == [0.5, None, None, 0.5]


def test_a_price_column_beats_the_catalogue() -> None:
    rented = read("cluster: {type: vm, nodes: n, provider: aws, price: p}", "vm,n,p\nt2.small,2,$0.5\n")
    assert rented.usd_per_hour() == [1.0]


def test_the_rate_becomes_an_overhead() -> None:
    rented = read("cluster: {type: vm, nodes: n, extra_nodes: ps, vcpus: cpus, memory: gib, price: usd}")
    rates = [(nodes + 1) * {"small": 0.05, "large": 0.4}[kind] + 0.3712 for kind, nodes in rented.pairs]
    priced = rented.priced(rates)
    assert [option.overhead_usd_per_hour for option in priced.options] == [0.3712] * 3
    assert [option.machine.usd_per_hour for option in priced.options] == [0.05, 0.05, 0.4]
    assert priced.usd_per_hour() == rates


def test_a_rate_below_the_price_lowers_it() -> None:
    """Small: 0.03 for one and 0.2 for four, where the price of 0.05 would leave -0.02 for one."""
    priced = read(SIZED).priced([0.9, 0.2, 0.03, 0.9])
    assert [option.machine.usd_per_hour for option in priced.options] == [0.03, 0.03, 0.4]
    assert priced.usd_per_hour() == pytest.approx([0.9, 0.2, 0.03, 0.9], rel=1e-15)
    assert all(option.overhead_usd_per_hour >= 0 for option in priced.options)


def test_rates_that_depend_on_other_columns_leave_no_prices() -> None:
    for rates in ([0.8, 0.2, 0.05, 0.9], [0.8, None, 0.05, 0.8]):
        priced = read(SIZED).priced(rates)
        assert priced.clusters.rates is None
        assert priced.usd_per_hour() == [None] * 4


@pytest.mark.parametrize(
    ("cluster", "csv", "says", "where"),
    [
        (
            SIZED,
            CSV.replace("2,0.05,1\nlarge", "3,0.05,1\nlarge"),
            "small has 3.0 here and 2.0 on line 3",
            "line 4, column 'gib'",
        ),
        (
            SIZED,
            CSV.replace("large,2,8,32,0.4,1\ns", "large,2,8,32,0,1\ns"),
            "0 is not the size or price",
            "line 2, column 'usd'",
        ),
        (SIZED, CSV.replace("small,4", "small,0"), "0 where a number of nodes", "line 3, column 'n'"),
        (SIZED, CSV.replace("small,4", "small,1.5"), "1.5 where a number of nodes", "line 3, column 'n'"),
        (SIZED, CSV.replace("small,4", "small,"), "nothing where a number of nodes", "line 3, column 'n'"),
        (SIZED, CSV.replace("small,4", ",4"), "the type of machine is missing", "line 3, column 'vm'"),
        ("cluster: {type: vm, provider: aws}", CSV, "the catalogue has no type 'large'", "line 2, column 'vm'"),
        (
            "cluster: {type: vm, machines: {small: {vcpus: 1, memory: 2}}}",
            CSV,
            "machines has no type",
            "line 2, column",
        ),
        (
            "cluster: {type: vm, nodes: n, extra_nodes: ps, vcpus: cpus, memory: gib}",
            CSV[:-2] + "2\n",
            "2 x large has 2 here and 1 on line 2",
            "line 5, column 'ps'",
        ),
    ],
)
def test_wrong_rows(cluster: str, csv: str, says: str, where: str) -> None:
    error = refused(cluster, csv)
    assert says in error.what
    assert f"runs.csv, {where}" in error.where


def test_an_unknown_provider() -> None:
    assert refused("cluster: {type: vm, provider: nimbus}").where == "runs.yaml, line 3, cluster"
