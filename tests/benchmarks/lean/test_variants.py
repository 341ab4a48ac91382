"""Ablations differ from `lean` in one part each."""

from dataclasses import fields

import pytest

from benchmarks.lean.experiments import ABLATIONS
from benchmarks.lean.variants import PARTS, lean_without
from leantune.lab.replay.contenders import contender
from leantune.strategies.lean import Lean
from leantune.strategies.registry import lean
from leantune.strategies.strategy import Strategy


@pytest.mark.parametrize("part", PARTS)
def test_one_part_is_changed(part: str) -> None:
    whole, changed = lean(), lean_without(part)
    differing = [field.name for field in fields(whole) if getattr(whole, field.name) != getattr(changed, field.name)]
    assert len(differing) == 1


def test_every_ablation_can_be_run() -> None:
    for spec in ABLATIONS.values():
        assert isinstance(contender(spec).tuner, Strategy | Lean)
