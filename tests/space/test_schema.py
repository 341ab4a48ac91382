"""Parameters as columns: names, conditions, activity, checked rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.catalog import clusters
from leantune.errors import SpaceError
from leantune.space import Parameter, Space, boolean, choice, integer, linear, log, machine, when
from leantune.space.schema import Schema
from leantune.testing.generators import configurations, spaces

SGD = Schema(
    {
        "momentum": when(linear(0, 1), optimizer=("sgd", "rmsprop")),
        "damping": when(linear(0, 1), nesterov=True),
        "optimizer": choice("sgd", "adam", "rmsprop"),
        "nesterov": when(boolean(), optimizer="sgd"),
    }
)


def refused(parameters: dict[str, Parameter], says: str) -> SpaceError:
    with pytest.raises(SpaceError, match=says) as caught:
        Schema(parameters)
    assert caught.value.where
    assert caught.value.hint
    return caught.value


def test_a_child_of_an_inactive_parent_is_inactive() -> None:
    nan = np.nan
    codes = np.array([[0.5, 0.5, 0, 1], [0.5, 0.5, 0, 0], [0.5, 0.5, 1, 1], [0.5, 0.5, 2, 1], [nan, nan, 1, nan]])
    active = SGD.activity(codes)
    assert active.tolist() == [
        [True, True, True, True],
        [True, False, True, True],
        [False, False, True, False],
        [True, False, True, False],
        [False, False, True, False],
    ]


def test_rows_need_no_order_of_parents_and_children() -> None:
    row = SGD.row({"damping": 0.1, "momentum": 0.9, "optimizer": "sgd", "nesterov": True})
    assert row.tolist() == [0.9, 0.1, 0.0, 1.0]
    assert SGD.values(row) == {"momentum": 0.9, "damping": 0.1, "optimizer": "sgd", "nesterov": True}
    assert SGD.values(SGD.row({"optimizer": "adam"})) == {"optimizer": "adam"}


@pytest.mark.parametrize(
    ("values", "says", "right"),
    [
        ({"optimiser": "adam"}, "unknown parameter 'optimiser'", "Did you mean 'optimizer'?"),
        ({"optimizer": "sgd", "momentum": 0.5}, "'nesterov' is missing", "Give a value"),
        ({}, "'optimizer' is missing", "Give a value"),
        ({"optimizer": "adam", "momentum": 0.5}, "'momentum' does not exist", "optimizer is 'sgd' or 'rmsprop'"),
        ({"optimizer": "rmsprop", "momentum": 2}, "2 is out of bounds|2.0 is out of bounds", "0.0 to 1.0"),
        ({"optimizer": "adm"}, "'adm' is not an option", "'sgd', 'adam', 'rmsprop'"),
    ],
)
def test_wrong_rows(values: dict[str, object], says: str, right: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        SGD.row(values)
    assert caught.value.where
    assert right in caught.value.hint


@given(st.data())
def test_values_and_rows_are_one_to_one(data: st.DataObject) -> None:
    space = data.draw(spaces())
    configuration = data.draw(configurations(space))
    row = space.schema.row(configuration)
    assert space.schema.values(row) == dict(configuration)
    np.testing.assert_array_equal(space.schema.row(space.schema.values(row)), row)


@given(spaces(), st.integers(0, 2**32))
def test_features_lie_between_0_and_1_and_are_a_half_where_inactive(space: Space, seed: int) -> None:
    configurations_ = space.pool(16, seed=seed)
    features = space.schema.features(configurations_.codes)
    assert features.shape == (len(configurations_), space.dimensions)
    assert np.all((features >= 0) & (features <= 1))
    for name, column in zip(space.feature_names, features.T, strict=True):
        owner = name.split(".")[0].split("=")[0]
        if owner in space.parameters:
            inactive = [owner not in configuration for configuration in configurations_]
            assert np.all(column[inactive] == 0.5)


def test_feature_names_tell_the_columns() -> None:
    names = Schema({"lr": log(1, 2), "b": choice(1, 2, 3), "flag": boolean(), "one": choice("x")}).feature_names
    assert names == ("lr", "b=1", "b=2", "b=3", "flag")


def test_a_space_in_which_nothing_varies_has_one_constant_feature() -> None:
    schema = Schema({"one": choice("x")})
    assert schema.feature_names == ("constant",)
    assert schema.features(np.zeros((2, 1))).tolist() == [[0.5], [0.5]]


def test_size_is_the_product_or_nothing() -> None:
    assert Schema({"a": integer(1, 10), "b": boolean(), "c": when(choice(1, 2, 3), b=True)}).size == 60
    assert Schema({"a": integer(1, 10), "b": linear(0, 1)}).size is None


def test_names() -> None:
    refused({}, "no parameter")
    for name in ("fraction", "checkpoint_dir", "valid"):
        assert name in refused({name: boolean()}, "is reserved: ").where
    refused({"learning rate": boolean()}, "'learning rate' is not a name")
    refused({"1st": boolean()}, "is not a name")
    refused({"lr": [1, 2]}, r"\[1, 2\] is not a parameter")  # type: ignore[dict-item]


def test_conditions_name_what_exists() -> None:
    optimizer = choice("sgd", "adam")
    error = refused({"optimizer": optimizer, "m": when(linear(0, 1), optimiser="sgd")}, "unknown parameter 'optimiser'")
    assert "Did you mean 'optimizer'?" in error.hint
    error = refused({"optimizer": optimizer, "m": when(linear(0, 1), optimizer="sdg")}, "'sdg' is not an option")
    assert "'m' on 'optimizer'" in error.where
    refused({"n": integer(1, 3), "m": when(linear(0, 1), n=4)}, "4 is out of bounds")
    refused({"x": linear(0, 1), "m": when(linear(0, 1), x=0.5)}, "no choice, ordinal, boolean or integer")


def test_conditions_do_not_go_round() -> None:
    circle: dict[str, Parameter] = {"a": when(boolean(), b=True), "b": when(boolean(), a=True)}
    refused(circle, "round in a circle: a -> b -> a|round in a circle: b -> a -> b")
    refused({"a": when(boolean(), a=True)}, "round in a circle")


def test_integers_can_be_conditions() -> None:
    schema = Schema({"layers": integer(1, 3), "second": when(integer(8, 16), layers=(2, 3))})
    assert schema.values(schema.row({"layers": 1})) == {"layers": 1}
    assert schema.values(schema.row({"layers": 2, "second": 9})) == {"layers": 2, "second": 9}


def test_one_cluster_at_most() -> None:
    own = clusters([machine("m", vcpus=1, memory=1)], nodes=[1, 2])
    refused({"a": own, "b": own}, "two cluster parameters, 'a' and 'b'")


def test_prices_are_known_only_if_every_configuration_has_one() -> None:
    priced = clusters([machine("m", vcpus=1, memory=1, usd_per_hour=2)], nodes=[1, 2])
    assert Schema({"c": priced}).option_rates is not None
    assert Schema({"c": when(priced, cloud=True), "cloud": boolean()}).option_rates is None
    assert Schema({"c": clusters([machine("m", vcpus=1, memory=1)])}).option_rates is None
    assert Schema({"x": boolean()}).option_rates is None
