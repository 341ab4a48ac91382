"""The rules of a tuning refuse what makes no sense."""

import pytest

from leantune.errors import InvalidInput
from leantune.run.tuning import TuningRules


@pytest.mark.parametrize(("theta", "mcnt"), [(0.0, 1), (1.1, 1), (float("nan"), 1), (0.5, 0)])
def test_nonsense_rules_are_refused(theta: float, mcnt: int) -> None:
    with pytest.raises(InvalidInput, match=r"theta|mcnt"):
        TuningRules(theta=theta, mcnt=mcnt)


def test_all_steps_and_one_setting_are_sensible() -> None:
    assert TuningRules(theta=1.0, mcnt=1).finish_by is None
