"""Columns of the file and columns made of them."""

import pytest

from leantune.errors import JobError, TableError
from leantune.jobfile.tree import Entry, Where
from leantune.lab.replay.tables.description import Formula, Remark
from tests.lab.replay.made import columns

CSV = "vm,n,mean time,acc\nsmall,1,2 min,0.5\nlarge,2,3 min,80\nsmall,,1 min,0.7\n"
ENTRY = Entry("x", Where("runs.yaml", 7, "time"))


def formula(text: str) -> Formula:
    return Formula(text, ENTRY)


def test_made_columns() -> None:
    made = columns(
        CSV,
        columns="""columns:
  price: {by: vm, of: {small: 0.5, large: 2}}
  seconds: {column: mean time}
  region: {is: us-east-1}
  doubled: n * 2
  rate: doubled * price + 1""",
    )
    assert made.names[4:] == ("price", "seconds", "region", "doubled", "rate")
    assert made.texts(formula("price")) == ["0.5", "2", "0.5"]
    assert made.numbers(Formula("seconds", ENTRY, "time")) == [120.0, 180.0, 60.0]
    assert made.texts(formula("region")) == ["us-east-1"] * 3
    assert made.texts(formula("doubled")) == ["2", "4", ""]


def test_a_row_without_an_input_has_no_result() -> None:
    assert columns(CSV).numbers(Formula("n / 4", ENTRY, factor=10.0)) == [2.5, 5.0, None]


def test_look_up_by_number() -> None:
    made = columns("lr,x\n1e-3,1\n0.01,2\n", columns="columns: {name: {by: lr, of: {0.001: low, 1e-2: high}}}")
    assert made.texts(formula("name")) == ["low", "high"]


def test_a_look_up_that_lacks_a_value() -> None:
    with pytest.raises(TableError, match="the look-up has nothing for 'large'") as caught:
        columns(CSV, columns="columns: {price: {by: vm, of: {small: 0.5}}}")
    assert caught.value.where == "runs.csv, line 3, column 'vm'"
    assert "runs.yaml, line 8, columns.price.by" in caught.value.hint


def test_a_metric_that_mixes_shares_and_percents() -> None:
    with pytest.raises(TableError, match="1 values look like percents"):
        columns(CSV).metric(formula("acc"), "any")
    lenient = columns(CSV, "convert")
    assert lenient.metric(formula("acc"), "any") == [0.5, 0.8, 0.7]
    how = "1 of 3 cells of the column 'acc' look like percents, such as 80, and were divided by 100"
    assert lenient.remarks() == [Remark("units", 1, how)]


def test_percents_with_and_without_their_sign() -> None:
    assert columns("a\n50%\n70%\n").metric(formula("a"), "percent") == [0.5, 0.7]
    assert columns("a\n50%\n70\n", "convert").metric(formula("a"), "percent") == [0.5, 0.7]
    assert columns("a\n50\n70\n").metric(formula("a / 2"), "percent") == [0.25, 0.35]


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("vmm", "there is no column 'vmm'", "Did you mean 'vm'? The columns are vm, n, mean time, acc"),
        ("n * nn", "there is no column 'nn'", "Did you mean 'n'?"),
        ("mean tme", "there is no column 'mean tme'", "Did you mean 'mean time'?"),
    ],
)
def test_unknown_columns(text: str, says: str, hint: str) -> None:
    with pytest.raises(JobError) as caught:
        columns(CSV).numbers(formula(text))
    assert (caught.value.what, caught.value.where) == (says, "runs.yaml, line 7, time")
    assert caught.value.hint.startswith(hint)


def test_wrong_expressions() -> None:
    with pytest.raises(TableError, match="is not an expression"):
        columns(CSV).numbers(formula("n n"))
    with pytest.raises(TableError, match=r"'1 / .n - 1.' divides by zero with n = 1") as caught:
        columns(CSV).numbers(formula("1 / (n - 1)"))
    assert caught.value.where == "runs.csv, line 2, by runs.yaml, line 7, time"
    with pytest.raises(TableError, match="'small' is not a number") as caught:
        columns(CSV).numbers(formula("vm * 2"))
    assert caught.value.where == "runs.csv, line 2, column 'vm'"


def test_names_are_given_once() -> None:
    with pytest.raises(JobError, match="there is a column 'n' already"):
        columns(CSV, columns="columns: {n: {is: 1}}")
