"""A second limit, on seconds, that a quarter of what is feasible misses."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.arena.limited import TimeLimited, time_limit
from leantune.errors import InvalidInput
from leantune.lab.replay.pool import Source
from leantune.lab.replay.truth import Truth
from leantune.problem import COST, TIME
from tests.lab.replay.small import write


def test_a_quarter_of_the_feasible_is_lost(tmp_path: Path) -> None:
    source = Source(str(write(tmp_path)))
    plain, limited = source.load(), TimeLimited(source).load()
    kept = [
        values[TIME]
        for pair, row in plain.measurements.items()
        if pair[1] == 1 and (values := Truth.of(plain).values(pair)) is not None and (row.cost or 0) <= 0.06
    ]
    assert time_limit(plain) == pytest.approx(np.quantile(kept, 0.75), rel=0.005)
    first, second = limited.problem.constraints
    assert (first.metric, second.metric, second.limit) == (COST, TIME, time_limit(plain))
    assert limited.measurements is not None
    assert dict(limited.measurements) == dict(plain.measurements)
    truth = Truth.of(limited)
    left = sum(truth.judge(pair).feasible for pair in truth.answers())
    assert 0.75 * len(kept) <= left <= len(kept)


def test_it_is_another_table_to_whoever_keeps_results(tmp_path: Path) -> None:
    source = Source(str(write(tmp_path)))
    assert TimeLimited(source).load().digest != source.load().digest
    assert TimeLimited(source).load().digest == TimeLimited(source).load().digest
    assert TimeLimited(source) == TimeLimited(source)
    assert "time" in TimeLimited(source).name


def test_a_table_with_a_limit_on_seconds_is_refused(tmp_path: Path) -> None:
    limited = TimeLimited(Source(str(write(tmp_path)))).load()
    with pytest.raises(InvalidInput, match="no limit on seconds"):
        time_limit(limited)
