"""Where trials run: answers are functions of what is asked, and each is counted by hand."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.cloud.billing import AWS
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import Offer
from leantune.errors import SpaceError
from leantune.history import Estimate, History, Trial
from leantune.problem import TIME
from leantune.rent.expectation import hazard_of, save_interval
from leantune.rent.placement import Course, FixedPlacement, FreePlacement, Need, Pace
from leantune.rent.provisioner import CheapestStep, Demand, Held, OfferChoice
from leantune.rent.quotes import Quotes, max_prices, quote, quotes_text
from leantune.rent.step_times import StepTimes
from leantune.space import Cluster, Clusters, Machine, Space, integer

SMALL = Machine("small", 2.0, 8.0, usd_per_hour=0.1, provider="sim")
BIG = Machine("big", 8.0, 32.0, usd_per_hour=0.6, provider="sim")
NONE = Machine("none", 8.0, 32.0, usd_per_hour=0.6, provider="sim")
SMALL_SPOT, SMALL_OTHER, SMALL_SURE, BIG_SPOT, BIG_SURE = range(5)
OFFERS = (
    Offer(SMALL, Market("small", "a"), False, 0.03),
    Offer(SMALL, Market("small", "b"), False, 0.02),
    Offer(SMALL, Market("small", "a"), True, 0.1),
    Offer(BIG, Market("big", "a"), False, 0.2),
    Offer(BIG, Market("big", "a"), True, 0.6),
)
SPACE = Space(n=integer(0, 9), cluster=Clusters((Cluster(SMALL, 3), Cluster(BIG, 1, extra_nodes=1), Cluster(NONE, 1))))
FREE = Space(n=integer(0, 9))
HOUR, NOW = 3600.0, 50_000.0
VCPUS = {"small": 2.0, "big": 8.0}
CHEAPEST = CheapestStep(AWS)


def quotes_of(p: float = 0.2, seed: int | None = None) -> Quotes:
    """All offers at their prices; seed: of prices and risks that are any."""
    usd = np.array([offer.machine.usd_per_hour or 0.0 for offer in OFFERS])
    price, random = np.array([offer.usd_per_hour for offer in OFFERS]), np.random.default_rng(seed)
    if seed is not None:
        price = np.where([offer.on_demand for offer in OFFERS], price, price * random.uniform(0.5, 4.0, len(OFFERS)))
    grid = max_prices(price, usd)
    risks = np.full(grid.shape, p) if seed is None else np.sort(random.random(grid.shape), axis=1)[:, ::-1].copy()
    spot = [not offer.on_demand for offer in OFFERS]
    series = [
        PriceSeries(one.market, [0.0], [usd]) if free else None
        for one, usd, free in zip(OFFERS, price, spot, strict=True)
    ]
    return quote(OFFERS, series, 0.0, lambda *_: risks[spot])


def trial_on(cluster: Cluster | None, expected: float | None = None) -> Trial:
    space = FREE if cluster is None else SPACE
    values = {"n": 1} if cluster is None else {"n": 1, "cluster": cluster}
    models = {} if expected is None else {TIME: Estimate(expected, 1.0)}
    return History().propose(space.configuration(values), Fraction(1), expected=models)[1]


@dataclass
class Asked:
    """A chooser that takes what it is told to and remembers what it was asked."""

    choices: tuple[OfferChoice, ...] = ()
    stay: bool = True
    demands: list[Demand] = field(default_factory=list)

    def ranked(self, demand: Demand, quotes: Quotes, job: int) -> Iterable[OfferChoice]:
        self.demands.append(demand)
        return iter([choice for choice in self.choices if quotes.open[choice.offer].any()])

    def stays(self, demand: Demand, quotes: Quotes, held: Held, job: int) -> bool:
        self.demands.append(demand)
        return self.stay


# -- the machine is part of the configuration


def test_a_fixed_machine_is_of_its_type_and_at_last_on_demand() -> None:
    """The other market of the type and its machine on demand, which the chooser ranks or not."""
    placement, need = FixedPlacement(OFFERS, CHEAPEST), Need(trial_on(Cluster(SMALL, 3)), NOW)
    quotes = quotes_of()
    chosen = list(placement.choose(need, quotes))
    assert [choice.offer for choice in chosen] == [SMALL_OTHER, SMALL_SPOT, SMALL_SURE]
    assert [choice.max_price is None for choice in chosen] == [False, False, True]
    wanting_nothing = FixedPlacement(OFFERS, Asked())
    (sure,) = wanting_nothing.choose(need, quotes)
    assert (sure.offer, sure.max_price) == (SMALL_SURE, None)
    assert list(wanting_nothing.choose(need, quotes.closed([SMALL_SURE]))) == [], "it was refused a moment ago"


@pytest.mark.parametrize(
    ("expected", "limit", "seconds"), [(500.0, 900.0, 500.0), (None, 900.0, 900.0), (None, None, HOUR), (0.1, None, 1)]
)
def test_how_long_a_fixed_machine_is_needed(expected: float | None, limit: float | None, seconds: float) -> None:
    """By the models, else by the limit, else an hour."""
    asked = Asked()
    need = Need(trial_on(Cluster(BIG, 1), expected), NOW, save=7.0, restore=3.0, limit=limit)
    list(FixedPlacement(OFFERS, asked, boot=90.0).choose(need, quotes_of()))
    (demand,) = asked.demands
    assert (demand.steps, demand.boot, demand.save, demand.restore) == (seconds, 90.0, 7.0, 3.0)
    assert demand.step_seconds.tolist() == [1.0] * len(OFFERS)
    assert demand.within == math.inf


def test_a_fixed_machine_is_never_left() -> None:
    placement = FixedPlacement(OFFERS, Asked(stay=False))
    need, held = Need(trial_on(Cluster(SMALL, 3)), NOW), Held(SMALL_SPOT, 0.05, 2 * HOUR)
    assert placement.keep(need, held, quotes_of())
    assert placement.notice == math.inf
    assert placement.save_every(need, held, quotes_of()) == math.inf
    assert placement.move_by(need, held) == placement.last_moment(need) == math.inf
    assert not placement.must_move(need)
    placement.measured("small", 0, 10.0, 1.0)


def test_a_cluster_has_all_its_machines_and_must_be_for_rent() -> None:
    placement = FixedPlacement(OFFERS, CHEAPEST)
    assert placement.nodes(trial_on(Cluster(SMALL, 3))) == 3
    assert placement.nodes(trial_on(Cluster(BIG, 1, extra_nodes=1))) == 2
    placement.check(trial_on(Cluster(SMALL, 3)))
    with pytest.raises(SpaceError, match="none is not for rent") as caught:
        placement.check(trial_on(Cluster(NONE, 1)))
    assert "small, big" in caught.value.hint
    with pytest.raises(SpaceError, match="names no machine"):
        placement.check(trial_on(None))


# -- the machine is free

TRIAL = trial_on(None)
LAST = 1000.0
USUAL = Pace()


def free(
    chooser: Asked | CheapestStep | None = None,
    *,
    measured: bool = True,
    offers: tuple[Offer, ...] = OFFERS,
    began: float = NOW,
    pace: Pace = USUAL,
) -> FreePlacement:
    """One trial of 1000 steps, judged at 700; measured: a step took 4 s on a small machine, 2 s are thought on big."""
    times = StepTimes(VCPUS, exponent=0.5)
    if measured:
        times.measured("small", 0, 400.0, 100.0)
    course = Course(lambda trial: LAST, lambda trial, done: 700.0 if done < 700.0 else LAST, 0.7)
    return FreePlacement(offers, chooser or Asked(), pace, course, began, times, [(0, LAST)])


def test_a_free_machine_is_the_choosers_for_the_steps_to_the_next_judgement() -> None:
    best = (OfferChoice(BIG_SPOT, 0.3, 0.01), OfferChoice(SMALL_SPOT, 0.05, 0.02))
    asked = Asked(best)
    placement = free(asked, pace=Pace(pace=None, boot=90.0))
    assert tuple(placement.choose(Need(TRIAL, NOW, 200.0, 7.0, 3.0), quotes_of())) == best
    list(placement.choose(Need(TRIAL, NOW, 900.0), quotes_of()))
    first, second = asked.demands
    assert (first.steps, first.boot, first.save, first.restore, first.within) == (500.0, 90.0, 7.0, 3.0, math.inf)
    assert first.step_seconds == pytest.approx([4.0, 4.0, 4.0, 2.0, 2.0])
    assert second.steps == 100.0
    assert placement.nodes(TRIAL) == 1
    placement.check(TRIAL)


def test_the_pace_is_that_of_the_cheapest_steps_on_demand() -> None:
    """4 s a step at 0.1 USD per hour beat 2 s at 0.6: 60 + 4000 s, of which 70 % until all are judged."""
    asked = Asked()
    placement = free(asked, began=NOW - 1000.0, pace=Pace(pace=1.5))
    for done in (0.0, 800.0):
        list(placement.choose(Need(TRIAL, NOW, done), quotes_of()))
    late = Need(TRIAL, NOW + 1e6)
    list(placement.choose(late, quotes_of()))
    assert [one.within for one in asked.demands] == pytest.approx(
        [1.5 * 4060.0 * 0.7 - 1000.0, 1.5 * 4060.0 - 1000.0, 0.0]
    )
    unmeasured = Asked()
    list(free(unmeasured, measured=False, pace=Pace(pace=1.5)).choose(Need(TRIAL, NOW), quotes_of()))
    assert unmeasured.demands[0].within == math.inf, "nobody knows yet how long a step takes"


def test_the_longest_of_all_sets_the_pace_and_is_learned() -> None:
    asked = Asked()
    placement = replace(free(asked), side_by_side=[(0, LAST), (1, 2 * LAST)])
    list(placement.choose(Need(TRIAL, NOW), quotes_of()))
    placement.measured("small", 1, 1000.0, 100.0)  # 10 s a step, and 2000 of them
    list(placement.choose(Need(TRIAL, NOW), quotes_of()))
    assert asked.demands[0].within == pytest.approx(0.7 * (60.0 + 2000 * 4.0))
    assert asked.demands[1].within == pytest.approx(0.7 * (60.0 + 2000 * 10.0))


def by_hand(finish_by: float, done: float, save: float, restore: float, share: float) -> float:
    """The last moment for a big machine on demand: boot, restore, two saves, a retry, and 2 s a step."""
    return finish_by - (LAST - done) * 2.0 * share - (60.0 + restore + 2 * save + 60.0)


@given(done=st.floats(0, 1000), save=st.floats(0, 400), restore=st.floats(0, 400), hours=st.floats(0.1, 9))
def test_the_last_moment_is_counted_back_from_the_deadline(
    done: float, save: float, restore: float, hours: float
) -> None:
    finish_by = NOW + hours * HOUR
    placement = free(pace=Pace(finish_by=finish_by))
    need = Need(TRIAL, NOW, done, save, restore)
    assert placement.last_moment(need) == pytest.approx(by_hand(finish_by, done, save, restore, 1.25))
    assert placement.must_move(need) == (by_hand(finish_by, done, save, restore, 1.25) <= NOW + 1.0)
    placement.measured("big", 0, 200.0, 100.0)
    assert placement.last_moment(need) == pytest.approx(by_hand(finish_by, done, save, restore, 1.03))


def test_without_a_deadline_there_is_no_last_moment() -> None:
    placement, need = free(), Need(TRIAL, NOW)
    assert placement.last_moment(need) == placement.move_by(need, Held(SMALL_SPOT, 0.05, 0.0)) == math.inf
    assert not placement.must_move(need)
    assert placement.notes == {}


def test_a_deadline_without_machines_on_demand_is_no_promise() -> None:
    spot = tuple(offer for offer in OFFERS if not offer.on_demand)
    placement = free(pace=Pace(finish_by=NOW + 60.0), offers=spot)
    assert not placement.must_move(Need(TRIAL, NOW))
    assert any("cannot be kept for sure" in note for note in placement.notes)


@pytest.mark.parametrize(
    ("before", "hurried"), [(0.0, True), (-100.0, True), (590.0, True), (610.0, False), (5000.0, False)]
)
def test_in_a_hurry_it_goes_on_demand_the_fastest_first(before: float, hurried: bool) -> None:
    """Within ten minutes of the last moment; seconds before that."""
    finish_by = NOW + 10 * HOUR
    placement = free(Asked((OfferChoice(SMALL_SPOT, 0.05, 0.01),)), pace=Pace(finish_by=finish_by))
    now = placement.last_moment(Need(TRIAL, NOW)) - before
    need, quotes = Need(TRIAL, now), quotes_of()
    chosen = [choice.offer for choice in placement.choose(need, quotes)]
    assert chosen == ([BIG_SURE, SMALL_SURE] if hurried else [SMALL_SPOT])
    if hurried:
        left = placement.choose(need, quotes.closed([BIG_SURE]))
        assert [choice.offer for choice in left] == [SMALL_SURE], "it was refused a moment ago"
        assert placement.keep(need, Held(BIG_SURE, None, HOUR), quotes)
    away = free(Asked(stay=False), pace=Pace(finish_by=finish_by))
    assert not away.keep(need, Held(SMALL_SPOT, 0.05, HOUR), quotes), "a machine that may be taken is no help"
    assert away.keep(need, Held(BIG_SURE, None, HOUR), quotes) is hurried


def test_a_deadline_and_no_idea_how_long_a_step_takes() -> None:
    """It does not wait for a cheap machine: on demand at last."""
    one = OfferChoice(SMALL_SPOT, 0.05, 0.01)
    unknown = free(Asked((one,)), measured=False, pace=Pace(finish_by=NOW + 10 * HOUR))
    assert [choice.offer for choice in unknown.choose(Need(TRIAL, NOW), quotes_of())] == [
        SMALL_SPOT,
        BIG_SURE,
        SMALL_SURE,
    ]
    known = free(Asked((one,)), pace=Pace(finish_by=NOW + 10 * HOUR))
    assert [choice.offer for choice in known.choose(Need(TRIAL, NOW), quotes_of())] == [SMALL_SPOT]
    unhurried = free(Asked((one,)), measured=False)
    assert [choice.offer for choice in unhurried.choose(Need(TRIAL, NOW), quotes_of())] == [SMALL_SPOT]


@pytest.mark.parametrize(("waited", "offers"), [(HOUR, []), (HOUR + 1.0, [BIG_SURE, SMALL_SURE])])
def test_who_has_waited_too_long_goes_on_demand(waited: float, offers: list[int]) -> None:
    placement = free(Asked(), pace=Pace(patience=HOUR))
    chosen = placement.choose(Need(TRIAL, NOW, waited=waited), quotes_of())
    assert [choice.offer for choice in chosen] == offers


def test_the_chooser_says_who_moves_but_a_program_that_saves_nothing_stays() -> None:
    need, held = Need(TRIAL, NOW, 300.0), Held(SMALL_SPOT, 0.05, HOUR)
    assert free(Asked(stay=True)).keep(need, held, quotes_of())
    placement = free(Asked(stay=False))
    assert not placement.keep(need, held, quotes_of())
    assert placement.keep(need._replace(keeps=False), held, quotes_of())
    assert placement.notes == {"a job is not moved: its program saves no checkpoint": 1}


@pytest.mark.parametrize(("p", "save"), [(0.2, 300.0), (0.9, 300.0), (0.2, 0.1)])
def test_periodic_checkpoints_come_by_the_risk(p: float, save: float) -> None:
    placement, need = free(), Need(TRIAL, NOW, save=save)
    every = placement.save_every(need, Held(SMALL_SPOT, 0.05, 0.0), quotes_of(p))
    assert every == pytest.approx(save_interval(hazard_of(p), max(save, 1.0)))
    assert every == pytest.approx(math.sqrt(2 * max(save, 1.0) * -HOUR / math.log1p(-p)), rel=0.05)
    assert placement.save_every(need, Held(SMALL_SURE, None, 0.0), quotes_of(p)) == math.inf
    assert free(pace=Pace(notice=20.0)).notice == 20.0


def test_a_deadline_is_looked_at_every_ten_minutes_until_it_is_the_fastest_machine() -> None:
    """How long steps take is learned only while they are done."""
    finish_by = NOW + 10 * HOUR
    placement = free(pace=Pace(finish_by=finish_by))
    last = placement.last_moment(Need(TRIAL, NOW))
    held = Held(SMALL_SPOT, 0.05, 0.0)
    assert placement.move_by(Need(TRIAL, NOW), held) == NOW + 600.0
    assert placement.move_by(Need(TRIAL, last - 60.0), held) == pytest.approx(last)
    assert placement.move_by(Need(TRIAL, last + 60.0), held) == last + 60.0
    assert placement.move_by(Need(TRIAL, NOW), Held(BIG_SURE, None, 0.0)) == math.inf
    placement.measured("small", 0, 1.0, 1000.0)  # it was the small one, after all
    assert placement.move_by(Need(TRIAL, NOW), Held(BIG_SURE, None, 0.0)) < math.inf


# -- decisions can be made again


def read_quotes(text: str) -> Quotes:
    """What a stay keeps of what its placement saw."""
    return Quotes(**{name: np.array(values) for name, values in json.loads(text).items()})


@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    done=st.floats(0, 999),
    save=st.floats(0, 400),
    later=st.floats(0, 12 * HOUR),
    waited=st.floats(0, 12 * HOUR),
    refused=st.sets(st.integers(0, 4)),
    deadline=st.none() | st.floats(0, 12 * HOUR),
    measured=st.lists(st.tuples(st.sampled_from(["small", "big"]), st.floats(1, 100)), max_size=4),
)
def test_what_was_seen_gives_the_same_decision_again(
    seed: int,
    done: float,
    save: float,
    later: float,
    waited: float,
    refused: set[int],
    deadline: float | None,
    measured: list[tuple[str, float]],
) -> None:
    """From the stored quotes, the need, and the step times told in their order, to the last bit."""
    need = Need(TRIAL, NOW + later, done, save, save, waited=waited)
    quotes = quotes_of(seed=seed).closed(sorted(refused))
    stored = read_quotes(quotes_text(quotes))
    answers = []
    for seen in (quotes, stored):
        placement = free(CHEAPEST, pace=Pace(finish_by=None if deadline is None else NOW + deadline))
        for kind, seconds in measured:
            placement.measured(kind, 0, seconds, 10.0)
        chosen = [(choice.offer, choice.max_price) for choice in placement.choose(need, seen)]
        held = Held(SMALL_SPOT, 0.05, HOUR)
        answers.append((chosen, placement.keep(need, held, seen), placement.save_every(need, held, seen)))
    assert answers[0] == answers[1]
    fixed = FixedPlacement(OFFERS, CHEAPEST)
    aboard = need._replace(trial=trial_on(Cluster(SMALL, 3)))
    again = [[(choice.offer, choice.max_price) for choice in fixed.choose(aboard, seen)] for seen in (quotes, stored)]
    assert again[0] == again[1]
