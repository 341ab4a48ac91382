"""The cheapest training that is good enough, on as little data as that takes: Nephele's problem.

The other examples look for the best model within limits on dollars. This one turns it round: accuracy has a limit, and
dollars are the goal. `at="anywhere"` lets a training on part of the data be the answer, so that the recommendation
names the machine, the settings and the share of the data to learn from, and it is one that was measured.

A forest of random trees reads handwritten digits, 1,797 real images that come with scikit-learn, each shown also
shifted by a pixel. It is grown by as many threads as the machine has processors. (The prices are made up, large enough
that a second of training costs something.)

    python 06_cheapest_anywhere.py     # about five seconds; needs scikit-learn
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

import leantune as lt
from leantune.study import AskedTrial

IMAGES, LABELS = load_digits(return_X_y=True)
SPLIT = train_test_split(IMAGES, LABELS, test_size=0.25, stratify=LABELS, random_state=0)
TRAIN_IMAGES, VALID_IMAGES, TRAIN_LABELS, VALID_LABELS = SPLIT


def shifted(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """The images [n, 64] and the same shifted by a pixel up, down, left and right: [5 n, 64]."""
    framed = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    corners = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
    return np.concatenate([framed[:, top : top + 8, left : left + 8].reshape(-1, 64) for top, left in corners])


def train(trial: AskedTrial) -> dict[str, float]:
    """One training on a share of the images."""
    count = int(len(TRAIN_IMAGES) * trial.fraction)
    forest = ExtraTreesClassifier(
        n_estimators=trial["trees"],
        max_depth=trial["depth"],
        n_jobs=int(trial["cluster"].vcpus),
        random_state=0,
    )
    forest.fit(shifted(TRAIN_IMAGES[:count]), np.tile(TRAIN_LABELS[:count], 5))
    return {"accuracy": forest.score(VALID_IMAGES, VALID_LABELS)}


def main() -> None:
    """Run the study, then say what is cheapest."""
    machines = [
        lt.machine("one-core", vcpus=1, memory="2 GiB", usd_per_hour=20),
        lt.machine("two-cores", vcpus=2, memory="4 GiB", usd_per_hour=50),
    ]
    study = lt.Study(
        lt.Space(
            cluster=lt.clusters(machines),
            trees=lt.ordinal(5, 10, 20, 40, 80),
            depth=lt.ordinal(4, 6, 8, 10, 12, 14),
        ),
        lt.minimize("cost", at="anywhere"),
        subject_to=["accuracy >= 0.95"],
        fractions=["1/10", "1/4", "1/2", 1],
        budget=lt.Budget(usd=0.05, trials=24),  # Nephele spends a sixth of the dollars on looking round
        strategy="nephele",
        seed=1,
    )
    best = study.optimize(train)

    for trial in study.history.trials:
        (result,) = trial.observations
        accuracy, cost, share = result.value("accuracy"), result.value("cost"), float(trial.fraction)
        print(f"trial {trial.number}: accuracy {accuracy:.3f} for ${cost:.5f} with {share:.0%} of the images")
    settings = ", ".join(f"{name} {value}" for name, value in best.configuration.items())
    print(f"use {settings}, and {float(best.fraction):.0%} of the images")
    print(f"it gave accuracy {best.metrics['accuracy'].mean:.3f} for ${best.metrics['cost'].mean:.5f}")
    print(best.why)


if __name__ == "__main__":
    main()
