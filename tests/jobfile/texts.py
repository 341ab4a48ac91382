"""Job files for tests."""

from pathlib import Path

import pytest

from leantune.errors import JobError
from leantune.jobfile import Job, parse_job

FOLDER = Path("/project")
# PRODUCT.md's example, word for word.
PRODUCT = """\
name: fashion-cnn
train: python train.py --lr {lr} --batch {batch} --fraction {fraction} --workers {cluster.vcpus}
maximize: accuracy
subject_to: [cost <= 0.10 USD, time <= 10 min]   # of one full-data training run
space:
  lr: {log: [1e-5, 1e-1]}
  batch: [16, 64, 256]
  cluster: {provider: aws, region: us-east-1, types: [t2.small, t2.medium, t2.xlarge, t2.2xlarge], vcpus: [8, 16, 32, 48, 64, 80]}
fractions: [1/60, 1/10, 1/4, 1/2, 1]
budget: {usd: 5, trials: 44, hours: 8}
strategy: trimtuner-gp
seed: 1
snapshots: false                  # true: the program reports at each fraction inside one run
run: {on: aws, spot: true, parallel: 4, time_limit: 20 min, grace: 30 s}   # or on: local, ray
store: sqlite:///leantune.db
checkpoints: ./checkpoints
"""  # noqa: E501
_SMALLEST = {
    "name": "name: study",
    "train": "train: python train.py --lr {lr}",
    "maximize": "maximize: accuracy",
    "space": "space:\n  lr: {log: [1e-5, 1e-1]}",
    "budget": "budget: {trials: 9}",
}


def text(**lines: str) -> str:
    """The smallest job file (six lines, `space` on the fourth), with other or more keys; "" takes a key out."""
    return "\n".join(line for line in {**_SMALLEST, **lines}.values() if line) + "\n"


def parsed(**lines: str) -> Job:
    return parse_job(text(**lines), folder=FOLDER, source="job.yaml")


def refused(whole: str) -> JobError:
    """What is said about a bad file; where begins with its name."""
    with pytest.raises(JobError) as caught:
        parse_job(whole, folder=FOLDER, source="job.yaml")
    error = caught.value
    assert error.hint, error
    assert error.where.startswith("job.yaml"), error
    return error


def check_refused(whole: str, what: str, where: str, hint: str) -> None:
    """where: what follows the file's name, such as "line 4, space.lr"."""
    error = refused(whole)
    assert (error.what, error.where.removeprefix("job.yaml").removeprefix(", ")) == (what, where)
    assert hint in error.hint
