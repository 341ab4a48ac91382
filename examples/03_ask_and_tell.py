"""Run the trials yourself: `study.ask()` and `study.tell(...)`.

For programs that have a loop, a queue or a cluster of their own: LeanTune says what to test, you run it. Here two
trainings run at a time. Some fail, because their learning rate is too large; told as failed, they teach as well, and
LeanTune stays away from their neighbourhood.

The training fits a linear model to real data that comes with scikit-learn: how a disease went on in 442 patients.

    python 03_ask_and_tell.py     # about five seconds; needs scikit-learn
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sklearn.datasets import load_diabetes
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import leantune as lt
from leantune.study import AskedTrial

PATIENTS, PROGRESS = load_diabetes(return_X_y=True)
TRAIN_PATIENTS, VALID_PATIENTS, TRAIN_PROGRESS, VALID_PROGRESS = train_test_split(PATIENTS, PROGRESS, random_state=0)


@dataclass(frozen=True)
class Result:
    """How a training went; failed: why there are no metrics. A training that failed took time as well."""

    metrics: dict[str, float]
    seconds: float
    failed: str = ""


def train(trial: AskedTrial) -> float:
    """The error on patients that the model has not seen; ValueError when training diverges."""
    lr, l2 = trial["lr"], trial["l2"]
    linear = SGDRegressor(eta0=lr, learning_rate="constant", alpha=l2, max_iter=50, tol=None, random_state=0)
    model = make_pipeline(PolynomialFeatures(include_bias=False), StandardScaler(), linear)
    model.fit(TRAIN_PATIENTS, TRAIN_PROGRESS)
    error = float(root_mean_squared_error(VALID_PROGRESS, model.predict(VALID_PATIENTS)))
    if error > 1000:  # guessing the mean gives 70
        raise ValueError(f"diverged: the error is {error:.2g}")
    return error


def run(trial: AskedTrial) -> Result:
    """Train, and note how long it took and what went wrong."""
    began = time.monotonic()
    try:
        error = train(trial)
    except ValueError as cause:
        return Result({}, time.monotonic() - began, failed=str(cause))
    return Result({"error": error}, time.monotonic() - began)


def settings(configuration: Mapping[str, Any]) -> str:
    """On one line, as in "lr 0.0037, l2 0.017"."""
    return ", ".join(f"{name} {value:.2g}" for name, value in configuration.items())


def main() -> None:
    """Ask for two trials, run both at once, tell both, until the budget is used."""
    study = lt.Study(
        lt.Space(lr=lt.log(1e-5, 1e1), l2=lt.log(1e-5, 1e1)),
        lt.minimize("error"),
        budget=lt.Budget(trials=12),
        strategy="eic",
        seed=1,
    )
    with ThreadPoolExecutor(2) as pool:
        while study.stop_reason is None:
            batch = study.ask(2)  # the second takes into account that the first is running
            for trial, result in zip(batch, pool.map(run, batch), strict=True):
                study.tell(trial, result.metrics, seconds=result.seconds, failed=result.failed)
                outcome = result.failed or f"error {result.metrics['error']:.1f}"
                print(f"trial {trial.number}, {settings(trial.configuration)}: {outcome}")
    best = study.recommendation()
    print(f"the study is over: {study.stop_reason}")
    print(f"use {settings(best.configuration)}; expect an error of {best.metrics['error']}")


if __name__ == "__main__":
    main()
