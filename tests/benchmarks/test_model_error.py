"""That errors are computed for every model, and that the slope over fractions helps where it was made for."""

from benchmarks.model_error import MODELS, measure


def test_every_model_is_measured_and_the_slope_helps() -> None:
    found = measure(tables=("rnn",), sizes=(24,), histories=3)
    assert [one.model for one in found] == list(MODELS)
    missed = {one.model: one.log_dollars for one in found}
    assert 0.0 < missed["trees"] < missed["trees without the slope"]
    assert all(one.log_error > 0.0 for one in found)
