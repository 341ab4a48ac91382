"""SpotTune's own mode with real programs: who is trained to the end, what is paid, what is refused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from leantune.cloud.catalog import clusters
from leantune.errors import InvalidInput, SpaceError
from leantune.orchestrator.fleet import Revoked, Saved
from leantune.orchestrator.local_tuning import Asked, machines_of, setting_words, settings_of
from leantune.orchestrator.spottune import Ending
from leantune.problem import Problem, minimize
from leantune.space import Machine, Space, choice, log
from tests.orchestrator import tuned_worlds
from tests.orchestrator.tuned_worlds import SPACE, TINY, TRAINS, market, tuned


def test_the_best_setting_is_trained_to_the_end_and_the_others_to_theta(tmp_path: Path) -> None:
    result, events = tuned(tmp_path, market((0, 1.8)))
    states = result.outcome.jobs
    assert result.outcome.ranking[0] == 0
    assert [state.selected for state in states] == [True, False, False]
    assert [state.ending for state in states] == [Ending.FINISHED, Ending.NOT_SELECTED, Ending.NOT_SELECTED]
    assert states[0].reports[-1] == pytest.approx((10.0, 0.2))
    assert all(7.0 <= state.reports[-1][0] <= 9.0 for state in states[1:])
    assert all([step for step, _ in state.reports] == sorted({step for step, _ in state.reports}) for state in states)
    assert result.failures == {}
    saved = [event for event in events if isinstance(event, Saved)]
    assert len(saved) == 4, "three at theta, one at the end"
    assert (tmp_path / "checkpoints" / "tuning" / "trial-0000").is_dir(), "the best model is kept"


def test_every_machine_is_billed_once_and_money_adds_up(tmp_path: Path) -> None:
    result, _ = tuned(tmp_path, market((0, 1.8)))
    machines = [one.stay.machine for one in result.machines]
    assert len(set(machines)) == len(machines) == 4
    assert result.usd == pytest.approx(sum(one.usd for one in result.machines))
    assert 4 * 60 * 1.8 / 3600 - 1e-6 <= result.usd <= 0.5, "at least the minimum of a minute each"
    assert sum(one.stay.kept - one.stay.step_from for one in result.machines) == sum(
        state.step for state in result.outcome.jobs
    ), "steps kept on machines are those of the checkpoints"


def test_no_more_programs_at_once_than_allowed(tmp_path: Path) -> None:
    result, _ = tuned(tmp_path, market((0, 1.8)), theta=1.0, mcnt=3)
    stays = sorted((one.stay.launched, one.stay.left) for one in result.machines)
    assert len(stays) == 3
    for (_, left), (launched, _) in pairwise(stays):
        assert left is not None and left <= launched
    assert [state.ending for state in result.outcome.jobs] == [Ending.FINISHED] * 3


def test_a_notice_saves_and_the_job_goes_on_elsewhere_for_free(tmp_path: Path) -> None:
    """The price rises above on demand a quarter of a second after the program began, and never falls again."""
    slow = TRAINS.replace("0.05", "0.1")
    result, events = tuned(tmp_path, market((0, 1.0), (30, 9.0)), code=slow, floors=(0.1,), theta=1.0)
    first, second = result.machines
    assert (first.revoked, first.usd) == (True, 0.0)
    assert first.refund_usd > 0
    assert second.offer.on_demand
    assert result.revocations == 1
    assert 0 < first.stay.kept < 10
    assert second.stay.step_from == first.stay.kept
    assert [step for step, _ in result.outcome.jobs[0].reports] == list(range(1, 11)), "no step lost or done twice"
    assert [type(event).__name__ for event in events if not hasattr(event, "value")] == [
        "Ready", "Warned", "Saved", "Ready", "Saved"
    ]  # fmt: skip


def test_a_machine_that_is_taken_before_the_program_has_saved_loses_what_came_after_the_checkpoint(
    tmp_path: Path,
) -> None:
    stubborn = TRAINS.replace("stop.append(1)", "None").replace("0.05", "0.2")
    result, events = tuned(tmp_path, market((0, 1.0), (36, 9.0)), code=stubborn, floors=(0.1,), theta=1.0)
    assert any(isinstance(event, Revoked) for event in events)
    assert result.outcome.jobs[0].ending is Ending.FINISHED
    assert result.outcome.jobs[0].reports[-1][0] == 10.0
    assert result.revocations == 1


def test_a_program_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    failing = TRAINS + "\nif floor == 0.2: sys.exit('no such data')"
    broken = failing.replace("while step < 10", "while floor != 0.2 and step < 10")
    result, _ = tuned(tmp_path, market((0, 1.8)), code=broken)
    assert list(result.failures) == [1]
    assert "no such data" in result.failures[1]
    assert [state.ending for state in result.outcome.jobs] == [
        Ending.FINISHED,
        Ending.DIVERGED,
        Ending.NOT_SELECTED,
    ]


def test_a_metric_that_is_not_a_number_has_diverged(tmp_path: Path) -> None:
    code = TRAINS.replace("floor + 1 / step}", "float('nan') if floor == 0.3 else floor + 1 / step}")
    result, _ = tuned(tmp_path, market((0, 1.8)), code=code)
    assert [state.ending for state in result.outcome.jobs][2] is Ending.DIVERGED


def test_a_program_that_ends_before_its_last_step_counts_with_its_last_value(tmp_path: Path) -> None:
    result, _ = tuned(tmp_path, market((0, 1.8)), code=TRAINS.replace("step < 10", "step < 5"), floors=(0.1, 0.2))
    assert any("ended by itself after step 5 of 10" in note for note in result.notes)
    assert result.outcome.ranking[0] == 0
    assert result.outcome.jobs[0].reports[-1] == pytest.approx((10.0, 0.1 + 1 / 5))


def test_a_program_without_checkpoints_starts_over_and_is_told_on(tmp_path: Path) -> None:
    result, _ = tuned(
        tmp_path, market((0, 1.8)), code=TRAINS.replace("    file.write_text(str(step))\n", ""), floors=(0.1, 0.2)
    )
    assert any("saved no checkpoint" in note for note in result.notes)
    assert result.outcome.jobs[0].ending is Ending.FINISHED


# -- settings and machines


def test_all_settings_of_a_space_whatever_the_machine() -> None:
    big = Machine("big", 1, 1, 0.2)
    space = Space(lr=choice(0.1, 0.2), batch=choice(16, 64), cluster=clusters([TINY, big], nodes=[1, 2]))
    assert settings_of(space) == (
        {"lr": 0.1, "batch": 16},
        {"lr": 0.1, "batch": 64},
        {"lr": 0.2, "batch": 16},
        {"lr": 0.2, "batch": 64},
    )
    assert machines_of(space) == (TINY, big)
    assert machines_of(Space(lr=choice(1, 2))) == ()
    assert setting_words({"lr": 0.10, "batch": 16, "name": "a"}) == "lr=0.1 batch=16 name=a"


def test_a_space_without_end_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no end of them") as caught:
        settings_of(Space(lr=log(1e-3, 1.0), cluster=clusters([TINY])))
    assert "settings:" in caught.value.hint
    with pytest.raises(InvalidInput, match="too large"):
        settings_of(Space(**{f"p{i}": choice(*range(10)) for i in range(8)}))


@pytest.mark.parametrize(
    ("settings", "steps"), [((), 10.0), (({"floor": 0.1},), 0.0), (({"floor": 0.1},), float("nan"))]
)
def test_what_makes_no_sense_is_refused(settings: tuple[dict[str, object], ...], steps: float) -> None:
    with pytest.raises(InvalidInput):
        Asked(settings, steps)


def test_more_programs_than_cores_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="programs at once on tiny"):
        tuned(tmp_path, market((0, 1.8)), parallel=10_000)
    huge = tuned_worlds.market()
    feeds = tuple(type(one)(Machine("huge", 9999, 1, 1.0), one.market, None, on_demand=True) for one in huge.feeds)
    with pytest.raises(SpaceError, match="9999"):
        tuned(tmp_path, type(huge)(feeds, huge.opens))
    assert Problem(SPACE, minimize("loss")).goal.metric == "loss"
