"""What is written is what is read, to the last bit."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.errors import StoreError
from leantune.history import Estimate, Observation, ObservationKind
from leantune.space import Configuration, Space
from leantune.store.encoding import (
    clean,
    clean_observation,
    configuration_text,
    definition_text,
    expected_text,
    metrics_text,
    read_definition,
    read_expected,
    read_json,
    read_metrics,
    read_share,
    read_shares,
    shares_text,
)
from leantune.testing.generators import configurations, spaces
from leantune.units import Seconds, Usd

TEXTS = st.text(max_size=8)
FLOATS = st.floats(allow_nan=False)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Space, Configuration]:
    space = draw(spaces())
    return space, draw(configurations(space))


@settings(max_examples=40)
@given(cases())
def test_configurations(case: tuple[Space, Configuration]) -> None:
    space, configuration = case
    text = configuration_text(configuration)
    assert space.configuration(read_json(text)) == configuration
    assert hashlib.sha256(text.encode()).hexdigest() == configuration.id


@given(st.dictionaries(TEXTS, FLOATS, max_size=4))
def test_metrics(metrics: dict[str, float]) -> None:
    text = metrics_text(metrics)
    text.encode("ascii")
    assert read_metrics(text) == metrics


@given(st.dictionaries(TEXTS, st.builds(Estimate, FLOATS, FLOATS), max_size=4))
def test_predictions(expected: dict[str, Estimate]) -> None:
    assert read_expected(expected_text(expected)) == expected


@given(st.lists(st.fractions(0, 1, max_denominator=1000), min_size=1, max_size=4))
def test_shares(shares: list[Fraction]) -> None:
    assert read_shares(shares_text(shares)) == tuple(shares)
    assert read_share(str(shares[0])) == shares[0]


def test_numbers_of_numpy() -> None:
    metrics: dict[str, Any] = {"a": np.float32(0.1), "b": np.int64(3)}
    assert read_metrics(metrics_text(metrics)) == {"a": float(np.float32(0.1)), "b": 3.0}
    assert math.isnan(read_metrics(metrics_text({"a": math.nan}))["a"])


@given(st.text(st.characters(), max_size=20))
def test_clean_text_fits_every_database(text: str) -> None:
    cleaned = clean(text)
    assert "\x00" not in cleaned.encode("utf-8").decode("utf-8")
    assert clean(cleaned) == cleaned
    assert len(cleaned) == len(text)


def test_plain_text_stays() -> None:
    assert clean("naïve ☃ 🦆\n") == "naïve ☃ 🦆\n"


def test_observations_that_cannot_be_stored() -> None:
    fine = Observation(Fraction(1), ObservationKind.FAILED, {}, None, None, "why")
    assert clean_observation(fine, "trial 0") is fine
    with pytest.raises(StoreError, match=r"cost is nan.*trial 0"):
        clean_observation(Observation(Fraction(1), ObservationKind.FAILED, {}, Seconds(1.0), Usd(math.nan)), "trial 0")


def test_definitions() -> None:
    definition = {"space": {"lr": [1e-5, 0.1]}, "seed": 3, "name": "☃"}
    read = read_definition(definition_text(definition))
    assert read == definition
    with pytest.raises(TypeError):
        read["seed"] = 4  # type: ignore[index]
