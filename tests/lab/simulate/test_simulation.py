"""What a simulation says about itself, counted again from its stays."""

import math
from dataclasses import replace

import numpy as np
import pytest

from leantune.errors import InvalidInput
from leantune.lab.simulate.comparison import compare
from leantune.lab.simulate.simulation import Scenario, SimulationResult, training_run
from leantune.store.rows import StayRow
from tests.lab.simulate.small import plan, pool, recorded


def billed(job: int, times: tuple[float, float, float], steps: tuple[float, float, float], usd: float) -> StayRow:
    """times: launched, ready, left; steps: from, kept, reached; refunded where usd is below 0."""
    stay = StayRow(job, 1, f"sim-{job}", "m/a", False, 0.2, 0.1, "made", times[0], "", steps[0], times[1], times[2])
    ended = replace(stay, ended=times[2] + 100.0, kept=steps[1], reached=steps[2], saving_seconds=5.0, why="notice")
    return replace(ended, gross_usd=abs(usd), refund_usd=max(-usd, 0.0), revoked=usd < 0)


def result(stays: list[StayRow], final: list[float], *, maximize: bool = False) -> SimulationResult:
    return SimulationResult(
        0.0, 7200.0, 9000.0, (2, 0, 1), (2,), (), (), tuple(stays), np.array(final), maximize=maximize
    )


STAYS = [
    billed(0, (0.0, 60.0, 1000.0), (0.0, 100.0, 110.0), -0.5),
    billed(1, (0.0, 70.0, 3600.0), (0.0, 300.0, 300.0), 1.0),
]


def test_the_books() -> None:
    found = result(STAYS, [1.0, 2.0, 3.0])
    assert found.usd == pytest.approx(1.0)
    assert found.refund_usd == pytest.approx(0.5)
    assert (found.kept_steps, found.lost_steps, found.revocations) == (400.0, 10.0, 1)
    assert found.free_share == pytest.approx(0.25)
    assert found.machine_seconds == pytest.approx(4600.0)
    assert (found.lead_seconds, found.saving_seconds) == (130.0, 10.0)
    assert (found.selected_seconds, found.finished_seconds) == (7200.0, 9000.0)


@pytest.mark.parametrize(
    ("final", "maximize", "hits"),
    [
        ([3.0, 2.0, 1.0], False, (True, True)),
        ([1.0, 2.0, 3.0], False, (False, True)),
        ([1.0, 2.0, 3.0], True, (True, True)),
        ([1.0, 0.0, math.nan], False, (False, False)),
    ],
)
def test_a_hit_is_the_truly_best(final: list[float], maximize: bool, hits: tuple[bool, bool]) -> None:
    found = result(STAYS, final, maximize=maximize)
    assert (found.hit(1), found.hit(2)) == hits


def test_nothing_kept_has_no_price() -> None:
    nothing = result([billed(0, (0.0, 60.0, 100.0), (0.0, 0.0, 5.0), 0.1)], [1.0, 2.0, 3.0])
    assert nothing.free_share == 0.0


def test_on_demand_costs_its_seconds_and_loses_nothing() -> None:
    (tally,) = compare(plan(policies=("on-demand",)))
    (found,) = tally.results
    assert found.revocations == 0
    assert found.lost_steps == 0
    assert found.refund_usd == 0
    seconds = sum(math.ceil(one.over - one.launched - 1e-6) for one in found.stays)
    assert found.usd == pytest.approx(seconds / 3600 * 0.133)  # r4.large: the cheapest steps of the three types
    assert found.hit(1)
    assert len(found.selected) == 3


def test_every_step_is_kept_once() -> None:
    jobs = recorded()
    (tally,) = compare(plan(seed=5, policies=("random",)))
    (found,) = tally.results
    for number, state in enumerate(found.jobs):
        assert sum(one.kept_steps for one in found.stays if one.number == number) == pytest.approx(state.step)
        if number in found.selected and state.ending == "finished":
            assert state.step == jobs[number].total_steps


def test_true_seconds_per_step() -> None:
    markets = pool()
    jobs = recorded(2, hours=1.0)
    slowness = {name: 2.0 if name == "r4.large" else 1.0 for name in markets.types}
    scenario = Scenario(markets.feeds, jobs, slowness, markets.start)
    seconds = scenario.step_seconds()
    assert seconds.shape == (2, len(markets.feeds))
    assert seconds[1, 0] == pytest.approx(2 * 3600 * 1.1 / 1500)
    run = training_run(jobs[0], slowness)
    assert run.elapsed_at(jobs[0].total_steps) == pytest.approx(3600.0)


def test_a_type_without_speed_is_named() -> None:
    markets = pool()
    with pytest.raises(InvalidInput, match=r"how fast is m4\.2xlarge"):
        Scenario(markets.feeds, recorded(), {"r4.large": 1.0, "r4.xlarge": 1.0}, markets.start)
