"""Capped against uncapped: caps that do not bite change nothing, and ranks are counted from 1."""

from dataclasses import replace

from benchmarks.agreement import UNCAPPED, compare, configuration_caps, uncapped
from benchmarks.datasets import generated, trimtuner_space
from leantune.strategies.recipe import Caps
from leantune.strategies.registry import recipe

DATASET = generated("agreement", trimtuner_space())


def test_only_caps_that_bite_change_proposals() -> None:
    plain = recipe("trimtuner-gp")
    changed = {"own": plain, "one candidate": replace(plain, caps=Caps(candidates=1, representers=5, incumbents=5))}
    own, one = compare(uncapped(plain), changed, DATASET, observations=12, seeds=2)
    assert (own.changed, own.equal, own.median_rank, own.worst_rank, own.value) == ("own", 1.0, 1.0, 1, 1.0)
    assert (one.changed, one.recipe, one.seeds) == ("one candidate", "trimtuner-gp", 2)
    assert one.equal < 1.0
    assert one.worst_rank > 1
    assert 0.0 <= one.value < 1.0


def test_each_cap_is_tried_by_itself() -> None:
    plain = recipe("trimtuner-gp")
    single = [
        other
        for other in configuration_caps(plain).values()
        if sum(getattr(other.caps, cap) < 288 for cap in ("candidates", "representers", "incumbents")) == 1
    ]
    assert len(single) == 3
    assert all(other.caps != UNCAPPED for other in single)
