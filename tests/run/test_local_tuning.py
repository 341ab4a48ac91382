"""SpotTune's own mode with real programs: who is trained to the end, what is paid, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import pytest

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import ScaledClock
from leantune.cloud.catalog import clusters
from leantune.errors import InvalidInput, SpaceError
from leantune.executors.run_folder import RunFolder
from leantune.problem import Problem, minimize
from leantune.rent.expectation import weighed
from leantune.run.fleet import FleetEvent, Reported, Revoked, Saved
from leantune.run.local_tuning import Asked, machines_of, setting_words, settings_of
from leantune.run.tuning import Ending
from leantune.space import Machine, Space, choice, log
from tests.run import tuned_worlds
from tests.run.tuned_worlds import SPACE, TINY, TRAINS, PatientClock, market, resting, tuned


def test_the_best_setting_is_trained_to_the_end_and_the_others_to_theta(tmp_path: Path) -> None:
    result, events = tuned(tmp_path, market((0, 1.8)), code=resting(7))
    states = result.outcome.jobs
    assert result.outcome.ranking[0] == 0
    assert [state.selected for state in states] == [True, False, False]
    assert [state.ending for state in states] == [Ending.FINISHED, Ending.NOT_SELECTED, Ending.NOT_SELECTED]
    assert states[0].reports[-1] == pytest.approx((10.0, 0.2))
    assert [state.reports[-1][0] for state in states[1:]] == [7.0, 7.0]
    assert all([step for step, _ in state.reports] == sorted({step for step, _ in state.reports}) for state in states)
    assert result.failures == {}
    saved = [event for event in events if isinstance(event, Saved)]
    assert len(saved) == 4, "three at theta, one at the end"
    assert (tmp_path / "checkpoints" / "tuning" / "trial-0000").is_dir(), "the best model is kept"


def test_every_machine_is_billed_once_and_money_adds_up(tmp_path: Path) -> None:
    result, _ = tuned(tmp_path, market((0, 1.8)), code=resting(7))
    machines = [one.stay.machine for one in result.machines]
    assert len(set(machines)) == len(machines) == 4
    assert result.usd == pytest.approx(sum(one.usd for one in result.machines))
    for one in result.machines:
        assert one.stay.left is not None
        seconds = max(one.stay.left - one.stay.launched, 60.0)
        assert one.usd == pytest.approx(seconds * 1.8 / 3600, abs=1e-6), "at least the minimum of a minute each"
    assert sum(one.stay.kept - one.stay.step_from for one in result.machines) == pytest.approx(
        sum(state.step for state in result.outcome.jobs)
    ), "steps kept on machines are those of the checkpoints"


def test_no_more_programs_at_once_than_allowed(tmp_path: Path) -> None:
    result, _ = tuned(tmp_path, market((0, 1.8)), theta=1.0, mcnt=3)
    stays = sorted((one.stay.launched, one.stay.left) for one in result.machines)
    assert len(stays) == 3
    for (_, left), (launched, _) in pairwise(stays):
        assert left is not None and left <= launched
    assert [state.ending for state in result.outcome.jobs] == [Ending.FINISHED] * 3


def reported(events: Sequence[FleetEvent]) -> list[float]:
    """The steps that were told, in order."""
    return [event.step for event in events if isinstance(event, Reported)]


def test_a_notice_saves_and_the_job_goes_on_elsewhere_for_free(tmp_path: Path) -> None:
    """The price rises above on demand after the third step, and never falls again."""
    events: list[FleetEvent] = []
    clock = PatientClock(  # of a minute each: before the price rises at 30 s, and before the machine goes at 90 s
        (0.4, lambda: 3.0 in reported(events)),
        (1.2, lambda: any(isinstance(event, Saved) for event in events)),
    )
    where = market((0, 1.0), (30, 9.0))
    result, _ = tuned(tmp_path, where, code=resting(3), floors=(0.1,), theta=1.0, clock=clock, events=events)
    first, second = result.machines
    assert (first.revoked, first.usd) == (True, 0.0)
    assert first.refund_usd > 0
    assert second.offer.on_demand
    assert result.revocations == 1
    assert (first.stay.kept, second.stay.step_from) == (3.0, 3.0)
    steps = reported(events)
    assert list(dict.fromkeys(steps)) == list(range(1, 11)) and steps[:9] == list(range(1, 10)), "none lost or repeated"
    assert [type(event).__name__ for event in events if not hasattr(event, "value")] == [
        "Ready", "Warned", "Saved", "Ready", "Saved"
    ]  # fmt: skip


@pytest.mark.slow
def test_a_machine_that_is_taken_before_the_program_has_saved_loses_what_came_after_the_checkpoint(
    tmp_path: Path,
) -> None:
    """At first it leaves nothing in its folder after step 2, and after step 4 it waits for a stop it does not hear."""
    deaf = TRAINS.replace("stop.append(1)", "None").replace("    file.w", "    if not fresh or step <= 2: file.w")
    store = CheckpointStore(tmp_path / "checkpoints", "tuning")
    events: list[FleetEvent] = []
    clock = PatientClock(  # of a minute each: before the folder is looked at, and before the price rises at 150 s
        (1.0, lambda: 4.0 in reported(events)),
        (2.4, lambda: store.generation(RunFolder(tmp_path / "runs" / "tuning", 0).key) > 0),
    )
    where = market((0, 1.0), (150, 9.0))
    result, _ = tuned(tmp_path, where, code=resting(4, deaf), floors=(0.1,), theta=1.0, clock=clock, events=events)
    taken = next(place for place, event in enumerate(events) if isinstance(event, Revoked))
    assert reported(events[:taken]) == [1.0, 2.0, 3.0, 4.0]
    assert not any(isinstance(event, Saved) for event in events[:taken])
    assert reported(events[taken:])[:7] == list(range(3, 10)), "3 and 4 were lost and are done again"
    assert [step for step, _ in result.outcome.jobs[0].reports] == list(range(1, 11)), "and each counts once"
    assert result.outcome.jobs[0].ending is Ending.FINISHED
    assert result.revocations == 1


def test_what_chooses_machines_is_compiled_before_the_clock_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Mock()
    whole.weighed, whole.clock = Mock(wraps=weighed), Mock(wraps=ScaledClock)
    monkeypatch.setattr("leantune.rent.provisioner.weighed", whole.weighed)
    monkeypatch.setattr("leantune.cloud.marketplace.ScaledClock", whole.clock)
    tuned(tmp_path, market((0, 1.8)), floors=(0.1,), theta=1.0)
    names = [name for name, _, _ in whole.mock_calls]
    assert names[:2] == ["weighed", "clock"]
    assert names.count("clock") == 1


def test_a_program_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    broken = TRAINS.replace("step = int", "if floor == 0.2: sys.exit('no such data')\nstep = int")
    result, _ = tuned(tmp_path, market((0, 1.8)), code=resting(7, broken))
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
