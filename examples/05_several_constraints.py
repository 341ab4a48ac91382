"""Several limits at once: dollars, seconds, and the size of the model.

A random forest reads handwritten digits, 1,797 real images that come with scikit-learn. More and deeper trees are more
accurate, but take longer to train, cost more and need more memory where the forest is used. A larger machine is faster
and dearer: the forest is grown by as many threads as the machine has processors. (The prices are made up, large enough
that a second of training costs something.)

Each limit is about a training on all the images. "@ 0.95" asks for one limit to be that certain on its own; the others
are to hold together with the certainty that the strategy asks for.

    python 05_several_constraints.py     # about five seconds; needs scikit-learn
"""

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import leantune as lt
from leantune.study import AskedTrial

IMAGES, LABELS = load_digits(return_X_y=True)
SPLIT = train_test_split(IMAGES, LABELS, test_size=0.25, stratify=LABELS, random_state=0)
TRAIN_IMAGES, VALID_IMAGES, TRAIN_LABELS, VALID_LABELS = SPLIT
BYTES_OF_A_NODE = 64 + 8 * 10  # where it splits, and how often each of the ten digits came by

LIMITS = [
    "cost <= 0.01 USD",  # measured: seconds times the price of the machine
    "time <= 2 s",  # measured
    "model_kb <= 2000 @ 0.95",  # reported by the training
]


def train(trial: AskedTrial) -> dict[str, float]:
    """One training; it returns every metric that the goal and the limits speak of, but for cost and time."""
    count = int(len(TRAIN_IMAGES) * trial.fraction)
    forest = RandomForestClassifier(
        n_estimators=trial["trees"],
        max_depth=trial["depth"],
        n_jobs=int(trial["cluster"].vcpus),
        random_state=0,
    )
    forest.fit(TRAIN_IMAGES[:count], TRAIN_LABELS[:count])
    nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    return {
        "accuracy": forest.score(VALID_IMAGES, VALID_LABELS),
        "model_kb": nodes * BYTES_OF_A_NODE / 1024,
    }


def main() -> None:
    """Run the study, then say what it recommends and how sure each limit is."""
    machines = [
        lt.machine("one-core", vcpus=1, memory="2 GiB", usd_per_hour=20),
        lt.machine("two-cores", vcpus=2, memory="4 GiB", usd_per_hour=50),
    ]
    study = lt.Study(
        lt.Space(
            cluster=lt.clusters(machines),
            trees=lt.ordinal(10, 20, 40, 80, 160, 320, 640),
            depth=lt.ordinal(2, 4, 6, 8, 10, 12),
        ),
        lt.maximize("accuracy"),
        subject_to=LIMITS,
        fractions=["1/10", "1/4", 1],
        budget=lt.Budget(usd=0.50, trials=14),
        seed=2,
    )
    best = study.optimize(train)

    print(f"{len(study.history)} trials cost ${study.history.cost:.3f}")
    print("use", ", ".join(f"{name} {value}" for name, value in best.configuration.items()))
    for metric, estimate in best.metrics.items():
        print(f"expect {metric} {estimate}")
    for limit, probability in best.probabilities.items():
        print(f"{limit} holds with a probability of {probability:.1%}")
    print("all as certain as asked" if best.feasible else "not as certain as asked: nothing is, this comes nearest")


if __name__ == "__main__":
    main()
