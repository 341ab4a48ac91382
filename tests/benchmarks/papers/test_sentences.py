"""Sentences are made of what the rows say."""

from collections.abc import Callable

import pytest

from benchmarks.papers import sentences
from benchmarks.papers.measures import within
from benchmarks.papers.results import Results
from tests.benchmarks.papers.made import BEST, inventory, results, run


def test_rankings_name_those_that_never_arrive() -> None:
    methods = {"slow": [run([0.1, BEST])], "never": [run([0.1, 0.1])], "quick": [run([BEST, BEST])]}
    told = sentences.ranking(methods, within(0.9))
    assert told == "quick $0.100, slow $0.200 (not in most seeds: never)"
    assert sentences.ranking({"never": methods["never"]}, within(0.9)) == "none arrives in most seeds"


@pytest.mark.parametrize(
    "sentence",
    [
        sentences.figure_1,
        sentences.figure_2,
        sentences.figure_3,
        sentences.figure_4,
        sentences.table_3,
        sentences.table_4,
        sentences.figures_cno,
        sentences.figures_fabulinus,
    ],
)
def test_every_sentence_can_be_said(sentence: Callable[[Results], str]) -> None:
    assert sentence(results()).endswith(".")


def test_every_knob_has_a_sentence() -> None:
    for setup in results().setups("sensitivity"):
        assert "Ours: on rnn " in sentences.sensitivity(results(), setup)
        assert not sentences.sensitivity(results(), setup).startswith("Ours")
    assert sentences.optuna(results(), ("eic",)).startswith("Neither sampler")
    assert "on rnn it does" in sentences.by_share(inventory())
