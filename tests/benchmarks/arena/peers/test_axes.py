"""A space as libraries see it, and back: every configuration is nearest to its own point."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.arena.peers.axes import MOST_RANKS, Offer, rungs
from benchmarks.arena.peers.drivers.wire import Axis
from leantune.errors import StrategyError
from leantune.problem import Problem, maximize
from leantune.space import Space, boolean, choice, integer, linear, ordinal, when
from tests.toy import toy_problem


def listed(count: int = 60, seed: int = 0) -> Problem:
    """Random configurations that lie on no grid."""
    rng = np.random.default_rng(seed)
    space = Space(lr=linear(0, 1), width=integer(8, 512, log=True), kind=choice("a", "b", "c"), flag=boolean())
    settings = [
        {
            "lr": float(rng.random()),
            "width": int(rng.integers(8, 513)),
            "kind": str(rng.choice(list("abc"))),
            "flag": bool(rng.random() < 0.5),
        }
        for _ in range(count)
    ]
    return Problem(space, maximize("accuracy"), settings=settings)


@pytest.mark.parametrize("problem", [toy_problem(), listed()], ids=["grid", "list"])
def test_every_configuration_is_nearest_to_its_own_point(problem: Problem) -> None:
    offer = Offer(problem)
    names = [axis.name for axis in offer.axes]
    for row, configuration in enumerate(problem.choices.grid()):
        point = offer.point(configuration)
        assert sorted(point) == sorted(names)
        assert offer.nearest(point, []) == row


def test_axes_are_what_the_parameters_are() -> None:
    assert Offer(listed()).axes == (
        Axis("x0", "unit"),
        Axis("x1", "unit"),
        Axis("x2", "choice", 3),
        Axis("x3", "rank", 2),
    )
    assert Offer(toy_problem()).axes == (
        Axis("x0", "rank", 3),
        Axis("x1", "rank", 2),
        Axis("x2_type", "choice", 2),
        Axis("x2_nodes", "rank", 2),
    )


def test_a_long_list_in_order_is_a_number_on_its_own_scale() -> None:
    values = [10.0 ** (-place / 10) for place in range(MOST_RANKS + 1)]
    problem = Problem(Space(lr=ordinal(*sorted(values), scale="log"), one=choice("only")), maximize("accuracy"))
    offer = Offer(problem)
    assert offer.axes == (Axis("x0", "unit"),)
    assert offer.point(problem.space.grid()[16])["x0"] == pytest.approx(0.5)
    assert offer.nearest({"x0": 0.51}, []) == 16


def test_nearest_means_the_smallest_distance_among_those_not_given_yet() -> None:
    problem = listed()
    offer, grid = Offer(problem), problem.choices.grid()
    point = {"x0": 0.3, "x1": 0.6, "x2": 1, "x3": 0}
    away = ((grid.features - offer.features(point)) ** 2).sum(axis=1)
    order = np.argsort(away, kind="stable").tolist()
    for rank in range(5):
        assert offer.nearest(point, order[:rank]) == order[rank]
    assert offer.nearest(point, order) is None


def test_what_has_no_result_on_every_share_is_not_on_offer() -> None:
    whole = toy_problem()
    first = whole.space.grid()[0]
    problem = Problem(whole.space, whole.goal, (), whole.fractions, gaps=[(first.id, Fraction(1, 2))])
    assert Offer(whole).nearest(Offer(whole).point(first), []) == 0
    assert Offer(problem).nearest(Offer(problem).point(first), []) != 0


@pytest.mark.parametrize(
    ("space", "told"),
    [
        (Space(lr=linear(0, 1)), "endlessly many"),
        (Space(a=boolean(), b=when(ordinal(1, 2, 3), a=True)), "exist sometimes"),
    ],
)
def test_spaces_that_are_no_table_are_refused(space: Space, told: str) -> None:
    with pytest.raises(StrategyError, match=told):
        _ = Offer(Problem(space, maximize("accuracy"))).axes


@pytest.mark.parametrize(
    ("shares", "wanted"),
    [
        ((1,), (0,)),
        ((1 / 60, 1 / 10, 1 / 4, 1 / 2, 1), (0, 1, 2, 4)),
        ((1 / 20, 1 / 8, 1 / 4, 1 / 2, 1), (0, 1, 2, 4)),
        ((1 / 52, 1 / 26, 3 / 52, 1 / 13, 3 / 26, 9 / 52, 1 / 4, 9 / 26, 1 / 2, 9 / 13, 1), (0, 1, 4, 7, 10)),
        ((0.9, 1), (1,)),
        ((0.5, 1), (0, 1)),
    ],
)
def test_rungs_are_about_a_third_apart(shares: tuple[float, ...], wanted: tuple[int, ...]) -> None:
    found = rungs(shares)
    assert found == wanted
    steps = [math.log(shares[high] / shares[low], 3) for low, high in pairwise(found)]
    assert all(0.5 < step < 2.0 for step in steps)
