"""Stop at any time and go on; raise the budget of a finished study.

A study with a store and a name outlives the program: every trial is in the store as soon as it has ended. Whoever opens
the same study again goes on with it, and a larger budget extends it. This example opens one three times, as three runs
of your program would:

1. the power fails in the middle of trial 3,
2. the study goes on with that trial, up to its budget of 6 trials,
3. the budget is raised to 9 trials.

What is proposed does not depend on the interruption. The same with a job file (which knows its store by itself):

    leantune run job.yaml                   # Ctrl-C, kill, power cut: nothing is lost
    leantune run job.yaml                   # goes on where it stopped
    leantune extend job.yaml --trials 9     # nine in all
    leantune run job.yaml                   # goes on up to them

    python 07_resume_and_extend.py     # about five seconds; needs scikit-learn
"""

import tempfile
from contextlib import closing
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

import leantune as lt
from leantune.study import AskedTrial

IMAGES, LABELS = load_digits(return_X_y=True)
SPLIT = train_test_split(IMAGES / 16, LABELS, test_size=0.25, stratify=LABELS, random_state=0)
TRAIN_IMAGES, VALID_IMAGES, TRAIN_LABELS, VALID_LABELS = SPLIT


class PowerCutError(Exception):
    """Stands for whatever ends a program in the middle of its work."""


def opened(store: str, trials: int) -> lt.Study:
    """The study, new or as it was left. All of it but the budget must be what it was; if not, an error says so."""
    return lt.Study(
        lt.Space(lr=lt.log(1e-4, 1e1), l2=lt.log(1e-7, 1e-1)),
        lt.maximize("accuracy"),
        budget=lt.Budget(trials=trials),
        strategy="eic",
        seed=1,
        store=store,
        name="digits",
    )


def train(trial: AskedTrial) -> dict[str, float]:
    """A linear classifier of real images of handwritten digits."""
    model = SGDClassifier(
        loss="log_loss",
        learning_rate="constant",
        eta0=trial["lr"],
        alpha=trial["l2"],
        max_iter=20,
        tol=None,
        random_state=0,
    )
    model.fit(TRAIN_IMAGES, TRAIN_LABELS)
    accuracy = model.score(VALID_IMAGES, VALID_LABELS)
    print(f"  trial {trial.number}: accuracy {accuracy:.3f}")
    return {"accuracy": accuracy}


def train_until_the_power_fails(trial: AskedTrial) -> dict[str, float]:
    """The same, up to trial 3."""
    if trial.number == 3:
        raise PowerCutError("the lights go out")
    return train(trial)


def main() -> None:
    """Three runs of a program in one."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'leantune.db'}"  # yours: "sqlite:///leantune.db" or "postgresql://..."

        with closing(opened(store, trials=6)) as study:
            print("first run")
            try:
                study.optimize(train_until_the_power_fails)
            except PowerCutError as cut:
                print(f"  trial 3: {cut}")

        with closing(opened(store, trials=6)) as study:
            print(f"second run, after {len(study.history.finished)} trials")
            study.optimize(train)
            print(f"  {study.stop_reason}")

        with closing(opened(store, trials=9)) as study:
            print(f"third run, after {len(study.history.finished)} trials")
            best = study.optimize(train)
            print(f"  {study.stop_reason}")

    print("use", ", ".join(f"{name} {value:.3g}" for name, value in best.configuration.items()))
    print(best.why)


if __name__ == "__main__":
    main()
