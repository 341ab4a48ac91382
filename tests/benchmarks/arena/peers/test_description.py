"""Every peer that played is described with its versions."""

import pytest

from benchmarks.arena.peers.description import HOW, described
from benchmarks.arena.peers.tuners import METHODS


def test_every_method_has_a_description() -> None:
    assert set(HOW) == set(METHODS)


def test_a_peer_that_played_is_named_with_its_versions() -> None:
    words, table = described(["lean", "asha", "smac"])
    assert "one test at a time" in words
    assert "syne-tune==0.16.0" in table
    assert "smac==2.4.1" in table
    assert "openbox" not in table


def test_a_library_of_our_own_environment_is_named_as_it_is_installed() -> None:
    optuna = pytest.importorskip("optuna", reason="optuna is not installed")
    _, table = described(["optuna-tpe"])
    assert f"optuna=={optuna.__version__}" in table


def test_nothing_is_said_where_no_peer_played() -> None:
    assert not list(described(["lean", "random"]))
