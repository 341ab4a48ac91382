"""Commands about a long study: seconds of the processor, and memory, each a process of its own, once all is warm.

python -m benchmarks.commands --trials 10000 --json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from leantune.history import TrialState, observe
from leantune.study import Study

JOB = """\
name: large
train: "true {{lr}} {{batch}} {{layers}}"
maximize: accuracy
subject_to: [time <= 10 min]
space: {{lr: {{log: [1e-5, 1e-1]}}, batch: [16, 32, 64, 128], layers: {{int: [1, 12]}}}}
fractions: [1/10, 1/2, 1]
budget: {{trials: {budget}}}
strategy: {strategy}
"""
CHILD = """
import sys, time
from benchmarks.timing import peak_mb
from leantune.cli.app import main
began = time.process_time()
sys.argv = ["leantune", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    print(f"\\n{time.process_time() - began} {peak_mb()} {end.code or 0}", file=sys.stderr)
"""


@dataclass(frozen=True)
class Measured:
    """seconds: of the processor, without the start of Python; peak_mb: the largest resident memory in 10^6 bytes."""

    command: str
    strategy: str
    trials: int
    seconds: float
    peak_mb: float
    code: int


def filled(folder: Path, strategy: str, trials: int) -> Path:
    """The job file of a study with so many finished trials, which may make more."""
    job = folder / "job.yaml"
    job.write_text(JOB.format(budget=trials + 1000, strategy=strategy), encoding="utf-8")
    with Study.from_job(job) as study:
        problem = study.problem
        pool = problem.space.pool(max(1, trials), seed=1)
        for number in range(trials):
            configuration, share = pool[number % len(pool)], problem.fractions[number % 3]
            trial = study.store.propose(configuration, share, time=0.0)
            lr, layers = float(str(configuration["lr"])), float(str(configuration["layers"]))
            accuracy = (1.0 - abs(lr - 0.01) - layers / 100) * float(share) ** 0.1
            seen = observe(problem, trial, {"accuracy": accuracy}, seconds=float(share) * (60 + 20 * layers))
            study.store.record(number, [seen], time=0.0, state=TrialState.DONE)
    return job


def measured(job: Path, strategy: str, trials: int, *arguments: str) -> Measured:
    """The second of two runs of a command."""
    command = [sys.executable, "-c", CHILD, *arguments[:1], str(job), *arguments[1:]]
    for _ in range(2):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds, peak, code = ended.stderr.strip().splitlines()[-1].split()
    return Measured(" ".join(arguments), strategy, trials, float(seconds), float(peak), int(code))


def all_measured(trials: int) -> list[Measured]:
    """What users do with a long study of lean, and the dry run of trimtuner's."""
    results = []
    with tempfile.TemporaryDirectory() as name:
        lean, trimtuner = (Path(name, strategy) for strategy in ("lean", "trimtuner"))
        lean.mkdir()
        trimtuner.mkdir()
        job = filled(lean, "lean", trials)
        for arguments in (["status"], ["recommend"], ["report", "-o", str(lean / "report.html")]):
            results.append(measured(job, "lean", trials, *arguments))
        results.append(measured(filled(trimtuner, "trimtuner", trials), "trimtuner", trials, "run", "--dry-run"))
    return results


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trials", type=int, default=10_000)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    given = options.parse_args()
    results = all_measured(given.trials)
    if given.json:
        print(json.dumps({"commands": [asdict(result) for result in results]}, indent=2))
    else:
        for result in results:
            print(f"{result.strategy:10} {result.command[:16]:16} {result.seconds:8.2f} s {result.peak_mb:8.0f} MB")


if __name__ == "__main__":
    main()
