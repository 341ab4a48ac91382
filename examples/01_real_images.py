"""Tune a neural network on real images, in memory, within limits in dollars and seconds.

The images are 1,797 handwritten digits that come with scikit-learn (a quarter is kept for judging, the others are also
shown shifted by a pixel), and the network is really trained, on this machine.
LeanTune proposes what to train next, on how much of the data and on which of two machines.

The two machines are shares of one core, and the share is enforced as a CPU quota does it: after each epoch the training
pauses until it has used only its share of the time. Their prices are made up (those of large rented machines), so that
seconds of training cost cents. Seconds are measured; dollars are seconds times the price.

`make demo` runs it. It takes about a minute and writes demo-out/recommendation.md.
"""

import argparse
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import leantune as lt

LIMITS = ["cost <= 0.01 USD", "time <= 2 s"]  # of one training on all the data
IMAGES, LABELS = load_digits(return_X_y=True)
SPLIT = train_test_split(IMAGES / 16, LABELS, test_size=0.25, stratify=LABELS, random_state=0)
TRAIN_IMAGES, TEST_IMAGES, TRAIN_LABELS, TEST_LABELS = SPLIT


def space() -> lt.Space:
    """Five hyper-parameters and the machine."""
    machines = [
        lt.machine("half-a-core", vcpus=0.5, memory="2 GiB", usd_per_hour=16),
        lt.machine("one-core", vcpus=1, memory="2 GiB", usd_per_hour=40),
    ]
    return lt.Space(
        cluster=lt.clusters(machines),
        lr=lt.log(1e-4, 1e-1),
        hidden=lt.ordinal(16, 32, 64, 128, 256),
        batch=lt.ordinal(32, 64, 128, 256),
        l2=lt.log(1e-6, 1e-1),
        epochs=lt.ordinal(5, 10, 20, 40),
    )


def with_shifts(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """The images [n, 64] and the same shifted by a pixel up, down, left and right: [5 n, 64]."""
    framed = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    corners = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
    return np.concatenate([framed[:, top : top + 8, left : left + 8].reshape(-1, 64) for top, left in corners])


def train(settings: Mapping[str, Any], fraction: Fraction) -> tuple[dict[str, float], float]:
    """Train on a share of the images, on a share of a core; return the metrics and the seconds it took."""
    count = int(len(TRAIN_IMAGES) * fraction)
    images, labels = with_shifts(TRAIN_IMAGES[:count]), np.tile(TRAIN_LABELS[:count], 5)
    network = MLPClassifier(
        hidden_layer_sizes=(settings["hidden"],),
        learning_rate_init=settings["lr"],
        alpha=settings["l2"],
        batch_size=min(settings["batch"], len(images)),
        random_state=0,
    )
    share = settings["cluster"].vcpus
    began = time.monotonic()
    for _ in range(settings["epochs"]):
        epoch_began = time.monotonic()
        network.partial_fit(images, labels, classes=np.arange(10))
        time.sleep((time.monotonic() - epoch_began) * (1 / share - 1))
    seconds = time.monotonic() - began
    return {"accuracy": float(network.score(TEST_IMAGES, TEST_LABELS))}, seconds


def described(settings: Mapping[str, Any]) -> str:
    """The settings on one line."""
    shown = {name: f"{value:.2g}" if isinstance(value, float) else str(value) for name, value in settings.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def run_study(study: lt.Study, budget_usd: float, console: Console) -> None:
    """Train what the study proposes until its budget is used, with one line for each trial."""
    console.print("trial  accuracy  data  seconds   spent    left  settings", style="bold")
    while study.stop_reason is None:
        trial = study.ask()
        metrics, seconds = train(trial.configuration, trial.fraction)
        study.tell(trial, metrics, seconds=seconds)
        spent = study.history.cost
        console.print(
            f"{trial.number + 1:>5}  {metrics['accuracy']:>8.3f}  {trial.fraction!s:>4}  {seconds:>7.2f}"
            f"  [green]${spent:.3f}  ${max(0.0, budget_usd - spent):.3f}[/]  [dim]{described(trial.configuration)}[/]",
            overflow="ellipsis",
            no_wrap=True,
        )
    console.print(f"The study is over: {study.stop_reason}.\n")


def report(study: lt.Study) -> str:
    """The recommendation, what was predicted for it and what one full training of it shows, as Markdown."""
    trials, spent = len(study.history), study.history.cost
    best = study.recommendation()
    predicted = ", ".join(f"{name} {estimate}" for name, estimate in best.metrics.items())
    sure = ", ".join(f"{limit}: {probability:.0%}" for limit, probability in best.probabilities.items())
    metrics, seconds = train(best.configuration, Fraction(1))
    study.tell(study.enqueue(best.configuration), metrics, seconds=seconds)
    measured = study.history.trials[-1].observations[-1]
    values = {"cost": measured.cost or 0.0, "time": seconds}
    kept = [(limit.text, limit.holds(values[limit.metric])) for limit in study.problem.constraints]
    return "\n".join(
        [
            f"# Recommendation after {trials} trials and ${spent:.3f}",
            "",
            f"- **use** {described(best.configuration)}",
            f"- **why** {best.why}",
            f"- **predicted** {predicted}",
            f"- **probability of each limit** {sure}",
            f"- **one full training of it gave** accuracy {metrics['accuracy']:.4g}, cost {values['cost']:.4g}, "
            f"time {seconds:.4g}",
            *(f"- **{'kept' if holds else 'BROKEN'}** {text}" for text, holds in kept),
            "",
        ]
    )


def main() -> None:
    """Run the study, then recommend, verify and write the recommendation down."""
    options = argparse.ArgumentParser(description="Tune a neural network on real images within limits.")
    options.add_argument("--trials", type=int, default=24, help="how many trainings at most (24)")
    options.add_argument("--budget", type=float, default=0.1, help="dollars after which no training is started (0.1)")
    options.add_argument("--out", type=Path, default=Path("demo-out"), help="where the recommendation goes (demo-out)")
    chosen = options.parse_args()
    console = Console(highlight=False)
    console.print(
        f"Best accuracy on {len(IMAGES)} images of digits, if one full training keeps {' and '.join(LIMITS)}.\n"
    )
    study = lt.Study(
        space(),
        lt.maximize("accuracy"),
        subject_to=LIMITS,
        fractions=["1/20", "1/10", "1/4", "1/2", 1],
        budget=lt.Budget(usd=chosen.budget, trials=chosen.trials),
        strategy="trimtuner-gp",
        seed=1,
    )
    run_study(study, chosen.budget, console)
    text = report(study)
    console.print(text, markup=False, soft_wrap=True)
    chosen.out.mkdir(parents=True, exist_ok=True)
    written = chosen.out / "recommendation.md"
    written.write_text(text, encoding="utf-8")
    console.print(f"Written to {written}.")


if __name__ == "__main__":
    main()
