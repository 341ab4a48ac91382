"""Tells three kinds of flowers apart by their petals: softmax regression in plain Python, twenty steps.

After each step it reports the loss on flowers that it has not learned from and saves all it needs to go on. Asked to
stop (a machine is about to be taken), it simply dies of SIGTERM: its last checkpoint is one step old at most.
"""

import argparse
import csv
import json
import math
from pathlib import Path

STEPS, PASSES = 20, 40  # passes over the flowers in each step
Flower = tuple[list[float], int]


def flowers() -> list[Flower]:
    """Measures (with a 1 for the bias) and kind of every flower."""
    with (Path(__file__).parent / "flowers.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row and row[0][0].isdigit()]
    kinds = sorted({row[-1] for row in rows})
    return [([*(float(cell) / 10 for cell in row[:-1]), 1.0], kinds.index(row[-1])) for row in rows]


def chances(weights: list[list[float]], measures: list[float]) -> list[float]:
    """Probability of each kind."""
    scores = [math.exp(min(sum(w * x for w, x in zip(row, measures, strict=True)), 500.0)) for row in weights]
    return [score / sum(scores) for score in scores]


def learn(weights: list[list[float]], known: list[Flower], rate: float, decay: float) -> None:
    """One pass of stochastic gradient descent."""
    for measures, kind in known:
        found = chances(weights, measures)
        for index, row in enumerate(weights):
            error = found[index] - (index == kind)
            row[:] = [w - rate * (error * x + decay * w) for w, x in zip(row, measures, strict=True)]


def main() -> None:
    """Train, from the checkpoint if there is one."""
    options = argparse.ArgumentParser(description="Train a softmax regression on flowers.")
    options.add_argument("--rate", type=float, default=0.1)
    options.add_argument("--decay", type=float, default=0.0)
    options.add_argument("--checkpoints", type=Path, default=Path())
    chosen = options.parse_args()
    known, held = flowers()[::2], flowers()[1::2]
    saved = chosen.checkpoints / "weights.json"
    step, weights = 0, [[0.0] * len(known[0][0]) for _ in range(3)]
    if saved.exists():
        step, weights = json.loads(saved.read_text(encoding="utf-8"))
    while step < STEPS:
        for _ in range(PASSES):
            learn(weights, known, chosen.rate, chosen.decay)
        step += 1
        loss = -sum(math.log(chances(weights, measures)[kind]) for measures, kind in held) / len(held)
        unfinished = saved.with_suffix(".new")
        unfinished.write_text(json.dumps([step, weights]), encoding="utf-8")
        unfinished.replace(saved)  # the file is whole or not there
        print(json.dumps({"step": step, "loss": loss}), flush=True)


if __name__ == "__main__":
    main()
