"""Rows in columns."""

from leantune.cli.columns import columned


def test_words_begin_together_and_numbers_end_together() -> None:
    lines = columned(("name", "kind", "n"), [("a", "long one", "1"), ("bcdef", "", "1,000")], left=2)
    assert lines == [
        "  name   kind          n",
        "  a      long one      1",
        "  bcdef            1,000",
    ]


def test_no_rows_and_no_trailing_spaces() -> None:
    assert columned(("a", "b"), []) == ["  a  b"]
    assert columned(("a", "bb"), [("x", "")]) == ["  a  bb", "  x"]
