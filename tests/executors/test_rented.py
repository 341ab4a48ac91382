"""Rented machines and real programs on them: the contract, notices, revocations, bills, refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.errors import SpaceError
from leantune.executors.base import EndMode, Executor, Finished, MachineLaunched, MachineUpdate, Report, Terms
from leantune.history import History, Observation, ObservationKind, TrialState
from leantune.problem import Problem
from leantune.space import Machine
from leantune.testing.executor_contract import ExecutorContract
from leantune.units import Seconds, Usd
from tests.executors.programs import (
    ENOUGH,
    PROBLEM,
    eventually,
    log_of,
    told,
    trial_of,
    trials_of,
    until,
    until_ended,
)
from tests.executors.rented_worlds import (
    BOX,
    LASTS,
    POLICY,
    START,
    UNTIL_TOLD,
    World,
    feed,
    make_world,
    problem_on,
    stay_of,
    world,
)

ONE = problem_on()
FOREVER = "import time; time.sleep(60)"


class RentedContract(ExecutorContract):
    """Programs that sleep and then report, or fail, on machines that boot at once and are never taken."""

    speed: float

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> Iterator[None]:
        self.tmp_path = tmp_path
        self.made: list[World] = []
        yield
        for one in self.made:
            one.executor.close()
            assert one.cloud.machines() == (), "every machine is given back"

    def make(self, seconds: Mapping[int, float], failing: frozenset[int] = frozenset()) -> tuple[Executor, History]:
        code = "import sys, time; time.sleep(float(sys.argv[1])); print('accuracy=0.5'); sys.exit(int(sys.argv[2]))"
        said = {n: [str(span / self.speed), "1" if n in failing else "0"] for n, span in seconds.items()}
        made = make_world(self.tmp_path, [feed("a", (0, 1.0))], code=code, speed=self.speed, boot=0.0, arguments=said)
        self.made.append(made)
        return made.executor, trials_of(ONE, len(seconds))


@pytest.mark.slow
class TestContractInRealTime(RentedContract):
    second = 0.4
    speed = 1.0


class TestContractOnAFasterMarket(RentedContract):
    second = 24.0
    speed = 60.0


def saved_on_a_notice(here: World, place: Path, rises: float) -> None:
    """Run a trial until the price rises then, and wait until its program has left."""
    here.executor.start(trial_of(ONE))
    here.at(6.0)
    eventually(lambda: '"step": 3' in log_of(place))
    here.at(rises)
    eventually(lambda: not here.programs.running)


def test_a_run_is_billed_from_launch_to_its_end(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8)), code=UNTIL_TOLD + "time.sleep(0.2)", still=True) as here:
        here.executor.start(trial_of(ONE))
        here.at(6.0)
        eventually(lambda: here.programs.running)
        here.at(120.0)
        (tmp_path / "go").touch()
        end = here.told()
        (bill,) = here.cloud.bills().values()
    assert end.state is TrialState.DONE
    assert (end.seconds, bill.seconds) == (120.0, 120.0), "booting is paid for"
    assert end.usd == bill.net_usd == pytest.approx(120 * 1.8 / 3600)
    (seen,) = end.observations
    assert seen.cost == end.usd
    assert seen.seconds is not None and seen.seconds >= 0.2 * 60.0, "the program's own, and the market's"


def test_the_cheapest_zone_is_taken_and_prices_are_followed(tmp_path: Path) -> None:
    zones = feed("a", (0, 1.8)), feed("b", (0, 0.9), (30, 0.6)), feed("a")
    with world(tmp_path, *zones, code=UNTIL_TOLD, still=True) as here:
        here.executor.start(trial_of(ONE))
        (machine,) = here.cloud.machines("s")
        assert machine.offer.market.zone == "b"
        here.at(90.0)
        (tmp_path / "go").touch()
        end = here.told()
    assert end.usd == pytest.approx((30 * 0.9 + 60 * 0.6) / 3600)


def test_on_a_notice_the_checkpoint_is_saved_and_the_trial_goes_on_elsewhere(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 0.5), (36, 9.0)), feed("b", (0, 1.8)), code=LASTS, still=True) as here:
        saved_on_a_notice(here, tmp_path, 36.0)
        first = here.told()
        assert (first.state, first.observations) == (TrialState.REVOKED, ())
        assert first.cause.startswith("revoked: ")
        assert first.seconds == 36.0
        assert here.executor.running == frozenset(), "whoever has saved need not wait for the provider"
        here.executor.start(trial_of(ONE), Terms(attempt=2, earlier_seconds=first.seconds, earlier_usd=Usd(0.25)))
        here.at(42.0)
        second = here.told()
    assert second.state is TrialState.DONE
    assert second.resumed
    begun = int(log_of(tmp_path, attempt=2).partition('"step": ')[2].partition(",")[0])
    assert begun >= 3, "it went on where the notice came"
    assert begun == int(log_of(tmp_path).strip().rpartition('"step": ')[2].partition(",")[0])
    assert second.usd is not None
    (seen,) = second.observations
    assert seen.cost == pytest.approx(second.usd + 0.25)
    assert seen.seconds is not None and seen.seconds > first.seconds


def test_a_run_that_goes_on_from_a_smaller_share_has_its_bill_and_seconds_too(tmp_path: Path) -> None:
    code = "import sys, pathlib; w = pathlib.Path(sys.argv[1]) / 'w'; found = w.exists(); w.write_text('1')"
    code += "; print('accuracy=1' if found else 'accuracy=0')"
    smaller = Observation(Fraction(1, 4), ObservationKind.MEASURED, {"accuracy": 0.5}, Seconds(600.0), Usd(0.25))
    with world(tmp_path, feed("a", (0, 0.5)), code=code) as here:
        here.executor.start(trial_of(ONE), Terms(keep=True))
        first = here.told()
        assert here.executor.kept([0, 1]) == {0}
        larger = trials_of(ONE, 2).trial(1)
        here.executor.start(larger, Terms(continues=(trial_of(ONE), smaller)))
        second = here.told()
    assert (first.continued, second.continued, second.resumed) == (False, True, False)
    (seen,) = second.observations
    assert second.usd is not None
    assert seen.metrics == {"accuracy": 1.0}
    assert seen.cost == pytest.approx(second.usd + 0.25)
    assert seen.seconds is not None and 600.0 < seen.seconds <= 600.0 + second.seconds


def test_a_machine_that_the_provider_takes_for_nothing_is_left_to_it_and_billed_later(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 0.5), (36, 9.0)), code=LASTS, still=True) as here:
        here.executor.start(trial_of(ONE))
        (placed,), _ = until(here.executor, MachineLaunched)
        here.at(6.0)
        eventually(lambda: '"step": 3' in log_of(tmp_path))
        here.at(36.0)
        end = here.told()
        assert end.usd == 0.0, "the provider takes it within the first ten minutes"
        assert (here.executor.running, here.executor.owes) == (frozenset(), True)
        assert [machine.id for machine in here.cloud.machines()] == [placed.stay.machine], "not given back by us"
        (left,) = end.stays
        assert (left.machine, left.launched, left.left) == (placed.stay.machine, START, START + 36.0)
        assert (left.ended, left.gross_usd, left.refund_usd) == (None, None, None)
        assert (left.kept, left.reached) == (end.kept_step, end.kept_step) and (end.kept_step or 0.0) >= 3.0
        here.at(36.0 + POLICY.notice_seconds)
        (billed,), _ = until(here.executor, MachineUpdate)
        assert not here.executor.owes
        (bill,) = here.cloud.bills().values()
    assert billed.stay == replace(
        left, ended=START + 96.0, gross_usd=bill.gross_usd, refund_usd=bill.refund_usd, revoked=True
    )
    assert bill.gross_usd == bill.refund_usd > 0


def test_a_program_that_leaves_with_exit_code_0_is_not_done(tmp_path: Path) -> None:
    polite = LASTS.replace("sys.exit(1 if stop else 0)", "")
    with world(tmp_path, feed("a", (0, 0.5), (36, 9.0)), feed("b", (0, 1.8)), code=polite, still=True) as here:
        saved_on_a_notice(here, tmp_path, 36.0)
        first = here.told()
        assert (first.state, first.observations) == (TrialState.REVOKED, ())
        here.executor.start(trial_of(ONE), Terms(attempt=2))
        here.at(42.0)
        second = here.told()
    assert (second.state, second.resumed) == (TrialState.DONE, True)
    assert second.observations[0].metrics["accuracy"] >= 0.6, "three and three more"


def test_after_the_refund_window_a_warned_machine_is_given_back_as_soon_as_it_is_saved(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 0.5), (600, 9.0)), code=LASTS, still=True) as here:
        saved_on_a_notice(here, tmp_path, 600.0)
        end = here.told()
        (bill,) = here.cloud.bills().values()
    assert end.state is TrialState.REVOKED
    assert end.usd == bill.net_usd > 0
    assert bill.refund_usd == 0.0
    assert bill.seconds == 600.0, "the notice is not waited for"


def test_a_program_that_does_not_save_in_time_is_killed_with_its_machine_and_its_disk(tmp_path: Path) -> None:
    stubborn = LASTS.replace("stop.append(1)", "__import__('os').write(1, b'asked')")
    with world(tmp_path, feed("a", (0, 0.5), (90, 9.0)), code=stubborn, still=True) as here:
        here.executor.start(trial_of(ONE), Terms(grace=Seconds(600.0)))
        here.at(6.0)
        eventually(lambda: '"step": 1' in log_of(tmp_path))
        here.at(90.0)
        eventually(lambda: "asked" in log_of(tmp_path))
        assert (tmp_path / "runs" / "trial-0000" / "checkpoint").exists()
        here.at(90.0 + POLICY.notice_seconds)
        end = here.told()  # nobody waits for the grace period
        assert end.state is TrialState.REVOKED
        assert "was taken (price)" in end.cause
        assert not (tmp_path / "runs" / "trial-0000" / "checkpoint").exists()


def test_a_machine_that_is_taken_while_it_boots_never_runs_the_program(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 0.5), (12, 9.0)), boot=120.0, still=True) as here:
        here.executor.start(trial_of(ONE))
        here.at(12.0)
        end = here.told()
    assert (end.state, end.usd, end.seconds) == (TrialState.REVOKED, 0.0, 12.0)
    assert not (tmp_path / "runs" / "trial-0000").exists()


def test_every_node_is_billed_and_one_that_is_taken_takes_the_trial(tmp_path: Path) -> None:
    three = problem_on(nodes=2, extra=1)
    with world(tmp_path, feed("a", (0, 1.8)), code="print('accuracy=0.5')", still=True) as here:
        here.executor.start(trial_of(three))
        here.at(6.0)
        end = here.told()
        bills = list(here.cloud.bills().values())
    assert len(bills) == 3
    assert end.usd == pytest.approx(sum(bill.net_usd for bill in bills))
    assert end.usd == pytest.approx(3 * 60 * 1.8 / 3600), "the minimum, of each"
    with world(tmp_path / "b", feed("a", (0, 0.5), (30, 9.0)), code=LASTS, still=True) as here:
        here.executor.start(trial_of(three))
        here.at(6.0)
        eventually(lambda: '"step": 1' in log_of(tmp_path / "b"))
        here.at(90.0)
        end = here.told()
        assert end.state is TrialState.REVOKED
        assert end.usd == here.billed == 0.0
        assert len(here.cloud.bills()) == 3


def test_where_every_zone_refuses_it_runs_on_demand(tmp_path: Path) -> None:
    zones = feed("a", (0, 5.0)), feed("b", (0, 4.0)), feed("a")
    with world(tmp_path, *zones, code="print('accuracy=0.5')", still=True) as here:
        here.executor.start(trial_of(ONE))
        (machine,) = here.cloud.machines()
        assert (machine.offer.on_demand, machine.max_price) == (True, None)
        here.at(6.0)
        end = here.told()
    assert end.usd == pytest.approx(60 * 3.6 / 3600)


def test_where_nothing_is_to_be_had_it_waits(tmp_path: Path) -> None:
    rises_then_falls = feed("a", (0, 9.0), (30, 0.5))
    with world(tmp_path, rises_then_falls, code="print('accuracy=0.5')", boot=0.0, still=True) as here:
        here.executor.start(trial_of(ONE))
        assert here.cloud.machines() == ()
        assert here.executor.running == {0}
        here.at(60.0)
        end = here.told()
        assert end.state is TrialState.DONE
        assert len(here.cloud.bills()) == 1


def test_a_launch_that_fails_by_chance_is_tried_again(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 0.5)), code="print('accuracy=0.5')", launch_failures=0.7, speed=600.0) as here:
        assert here.end(trial_of(ONE)).state is TrialState.DONE


def test_interrupted_by_us_it_is_queued_and_paid_for(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8)), code=LASTS) as here:
        here.executor.start(trial_of(ONE))
        eventually(lambda: '"step": 2' in log_of(tmp_path))
        here.executor.end(0, EndMode.SAVE)
        end = here.told()
        assert end.state is TrialState.QUEUED
        assert end.usd == here.billed > 0
    with world(tmp_path, feed("a", (0, 1.8)), still=True) as here:
        here.executor.start(trial_of(ONE))
        here.executor.end(0, EndMode.SAVE)
        end = here.told()
        assert (end.state, end.cause) == (TrialState.QUEUED, "interrupted")
        assert end.usd == here.billed > 0, "our own termination is charged"


def test_a_time_limit_is_of_the_market(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8)), code=FOREVER) as here:
        end = here.end(trial_of(ONE), Terms(time_limit=Seconds(60.0), grace=Seconds(0.2)))
    assert end.state is TrialState.FAILED
    assert end.cause.startswith("timeout: not ended after 60 s")
    (seen,) = end.observations
    assert seen.kind is ObservationKind.FAILED
    assert seen.cause.startswith("timeout: not ended after 60 s")
    assert seen.seconds is not None and 60.0 <= seen.seconds < 60.0 * ENOUGH


def test_reports_are_timed_by_the_market(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8))) as here:
        here.executor.start(trial_of(ONE))
        (end,), events = until(here.executor, Finished)
    reports = [event for event in events if isinstance(event, Report)]
    assert [said.step for said in reports] == list(range(11))
    seconds = end.observations[-1].seconds
    assert seconds is not None
    assert 0.5 * 60.0 <= reports[-1].seconds <= seconds, "ten times a tenth of a second is a minute there"


def test_a_lease_that_ends_while_the_machine_boots_loses_the_trial(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8)), boot=30.0) as here:
        end = here.end(trial_of(ONE), Terms(lease=Seconds(0.1)))
        assert end.state is TrialState.LOST


@pytest.mark.slow
def test_a_lease_that_is_renewed_does_not_end(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8)), code=LASTS, boot=30.0) as here:
        here.executor.start(trial_of(ONE), Terms(lease=Seconds(4.0)))
        for _ in range(24):
            assert not any(isinstance(event, Finished) for event in told(here.executor, 0.2))
            here.executor.renew(0)
        here.executor.end(0, EndMode.KILL)
        assert here.cloud.machines() == ()


def test_what_nobody_rents_out_is_refused(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8))) as here:
        with pytest.raises(SpaceError, match="names no machine"):
            here.executor.check(trial_of(PROBLEM))
        with pytest.raises(SpaceError, match="crate is not for rent"):
            here.executor.check(trial_of(problem_on(Machine("crate", 1, 1, 1.0))))
        with pytest.raises(SpaceError, match="crate"):
            here.executor.start(trial_of(problem_on(Machine("crate", 1, 1, 1.0))))
        assert here.executor.running == frozenset()


def test_there_is_no_room_for_more_cores_than_this_machine_has(tmp_path: Path) -> None:
    """Whatever boots is promised its cores; a trial that names no machine may get the largest."""
    three, two = problem_on(Machine("box", 3, 0.1, 3.6)), problem_on(Machine("box", 2, 0.1, 3.6))
    large = feed("a", (0, 1.8), machine=Machine("large", 2, 0.1, usd_per_hour=7.2))
    with world(tmp_path, feed("a", (0, 1.8)), large, still=True, cores=2) as here:
        assert [here.executor.capacity().fits(trial_of(one)) for one in (ONE, two, three)] == [True, True, False]
        assert here.executor.capacity().fits(trial_of(PROBLEM))
        here.executor.start(trial_of(ONE))
        room, others = here.executor.capacity(), [trials_of(one, 2).trial(1) for one in (ONE, two, PROBLEM)]
        assert not room.fits(trial_of(ONE)), "it has been started"
        assert [room.fits(one) for one in others] == [True, False, False]
        here.executor.end(0, EndMode.KILL)
        assert here.executor.capacity().fits(trial_of(two))


def test_of_a_killed_run_nothing_is_told_and_its_machine_is_given_back(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8)), still=True) as here:
        here.executor.start(trial_of(ONE))
        here.executor.end(0, EndMode.KILL)
        assert here.cloud.machines() == ()
        assert told(here.executor) == []


def test_what_was_known_of_earlier_machines_is_recalled(tmp_path: Path) -> None:
    """A process that takes a study over knows from the stays where its checkpoints are."""
    with world(tmp_path, feed("a", (0, 1.8)), still=True) as here:
        here.rented.recall([replace(stay_of(0, "sim-9"), kept=7.0, saving_seconds=3.0)])
        here.executor.start(trial_of(ONE))
        (placed,), _ = until(here.executor, MachineLaunched)
    assert (placed.stay.step_from, placed.stay.kept) == (7.0, 7.0)


def test_a_fault_of_this_machine_comes_out_of_step(tmp_path: Path) -> None:
    with world(tmp_path, feed("a", (0, 1.8))) as here:
        (tmp_path / "runs").write_text("no folder")
        here.executor.start(trial_of(ONE))
        with pytest.raises(Exception, match="folder of a run cannot be made"):
            until_ended(here.executor)


@pytest.mark.parametrize("rises", [30, 60, 90])
def test_no_bill_exceeds_what_the_ledger_sets_aside(tmp_path: Path, rises: int) -> None:
    """At the price on demand for its time, booting, and a notice at the highest price there is."""
    limit, boot = 60.0, 6.0
    with world(tmp_path, feed("a", (0, 3.5), (rises, 9.0)), code=FOREVER, boot=boot, still=True) as here:
        here.executor.start(trial_of(ONE), Terms(time_limit=Seconds(limit), grace=Seconds(0.2)))
        here.at(boot)
        eventually(lambda: here.programs.running)
        here.at(min(boot + limit, rises))
        eventually(lambda: not here.programs.running)
        here.at(max(boot + limit, rises + POLICY.notice_seconds))
        end = here.told()
        (bill,) = here.cloud.bills().values()
    setup = 60.0 + POLICY.notice_seconds * (9.0 / 3.6 - 1.0)
    assert end.usd is not None
    assert 0.0 <= end.usd <= bill.gross_usd <= 3.6 / 3600 * (limit + setup)
    assert bill.gross_usd >= 3.5 / 3600 * min(boot + limit, rises)


def test_a_problem_of_the_tests_has_one_machine() -> None:
    assert isinstance(ONE, Problem)
    assert trial_of(ONE).configuration.usd_per_hour == BOX.usd_per_hour
