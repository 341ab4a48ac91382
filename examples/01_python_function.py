"""Tune a Python function: `study.optimize(train)`.

A neural network learns to read handwritten digits, 1,797 real images that come with scikit-learn. LeanTune chooses its
settings and the share of the images to learn from, calls `train`, measures the seconds, and in the end recommends the
settings with the best accuracy among those whose training on all the images keeps the limit.

    python 01_python_function.py     # about six seconds; needs scikit-learn
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import leantune as lt
from leantune.study import AskedTrial

IMAGES, LABELS = load_digits(return_X_y=True)
SPLIT = train_test_split(IMAGES / 16, LABELS, test_size=0.25, stratify=LABELS, random_state=0)
TRAIN_IMAGES, VALID_IMAGES, TRAIN_LABELS, VALID_LABELS = SPLIT


def train(trial: AskedTrial) -> None:
    """One training: settings are trial["..."], and the last accuracy that is reported is the result."""
    count = int(len(TRAIN_IMAGES) * trial.fraction)
    network = MLPClassifier((trial["hidden"],), learning_rate_init=trial["lr"], alpha=trial["l2"], random_state=0)
    for epoch in range(10):
        network.partial_fit(TRAIN_IMAGES[:count], TRAIN_LABELS[:count], classes=range(10))
        trial.report(step=epoch + 1, accuracy=network.score(VALID_IMAGES, VALID_LABELS))


def main() -> None:
    """Run the study, then say what it tested and what it recommends."""
    study = lt.Study(
        lt.Space(
            lr=lt.log(1e-4, 1e-1),
            hidden=lt.ordinal(16, 32, 64, 128, 256),
            l2=lt.log(1e-6, 1e-1),
        ),
        lt.maximize("accuracy"),
        subject_to=["time <= 5 s"],  # of one training on all the images
        fractions=["1/10", "1/4", 1],
        budget=lt.Budget(trials=8),
        seed=1,
    )
    best = study.optimize(train)

    for trial in study.history.trials:
        (result,) = trial.observations
        accuracy, seconds, share = result.value("accuracy"), result.value("time"), float(trial.fraction)
        print(f"trial {trial.number}: accuracy {accuracy:.3f} in {seconds:.2f} s with {share:.0%} of the images")
    print("use", ", ".join(f"{name} {value:.3g}" for name, value in best.configuration.items()))
    print(f"expect accuracy {best.metrics['accuracy']}")
    for limit, probability in best.probabilities.items():
        print(f"{limit} holds with a probability of {probability:.0%}")
    print(best.why)


if __name__ == "__main__":
    main()
