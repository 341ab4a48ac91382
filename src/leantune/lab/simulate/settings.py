"""The file of `leantune spot simulate --settings`: YAML, read like a job file, so that errors name line and key.

hours: 4                  # of the median job on 4 vCPUs; recorded jobs are stretched
theta: 0.7
instances: types.csv      # files are looked for in the folder of the settings
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

from leantune.cloud.billing import POLICIES
from leantune.cloud.feeds import Mode
from leantune.jobfile.job import read_text
from leantune.jobfile.tree import Entry, read_tree, readers_of
from leantune.lab.simulate.setup import Revoking
from leantune.rent.step_times import EXPONENT

_HINT = "Write one setting and its value a line, such as hours: 4"


def _positive(entry: Entry, hint: str, most: float = math.inf) -> float:
    number = entry.real(hint, above_0="is not above 0")
    if number > most:
        raise entry.error(f"{entry.written} is more than {most:g}", hint)
    return number


def _not_negative(entry: Entry, hint: str) -> float:
    number = entry.real(hint)
    if number < 0:
        raise entry.error(f"{entry.written} is less than 0", hint)
    return number


def _choice(entry: Entry, names: Iterable[str]) -> str:
    name = entry.text(f"Write one of {', '.join(names)}")
    if name not in names:
        raise entry.unknown(f"{name!r} is unknown", name, names)
    return name


def _file(entry: Entry) -> Path:
    hint = "Name a file; it is looked for in the folder of the settings"
    path = Path(entry.where.source).parent / entry.text(hint)
    if not path.is_file():
        raise entry.error(f"there is no file {path}", hint)
    return path


@dataclass(frozen=True)
class SimulationSettings:
    """Settings that rarely differ between simulations; see docs/spot-simulate.md.

    days: of prices, None: 30 of generated prices, or all of a file. traces: see `cloud.traces`. revocations: what takes
    machines away, None: prices, and traces where they are given. hour_value: USD that an hour of one job's time is
    worth. exponent: b in C0 / vCPUs^b seconds a step. speeds: measured ones, Scout's runtimes. instances: a CSV of
    machine types.
    """

    hours: Annotated[float, partial(_positive, hint="Write hours of the median job, such as hours: 4")] = 4.0
    days: Annotated[float | None, partial(_positive, hint="Write days of prices, such as days: 30", most=400)] = None
    theta: Annotated[float, partial(_positive, hint="Write a share of the steps, such as theta: 0.7", most=1)] = 0.7
    mcnt: Annotated[int, partial(Entry.whole, hint="Write how many jobs go on, such as mcnt: 3", least=1)] = 3
    traces: Annotated[Path | None, _file] = None
    revocations: Annotated[Mode | None, partial(_choice, names=get_args(Mode))] = None
    provider: Annotated[str, partial(_choice, names=tuple(POLICIES))] = "aws"
    hour_value: Annotated[float, partial(_not_negative, hint="Write USD, such as hour_value: 0.5")] = 0.0
    exponent: Annotated[float, partial(_not_negative, hint="Write a number, such as exponent: 0.6")] = EXPONENT
    speeds: Annotated[Path | None, _file] = None
    instances: Annotated[Path | None, _file] = None

    def revoking(self, seed: int) -> Revoking:
        mode: Mode = self.revocations or ("price" if self.traces is None else "both")
        return Revoking(mode, self.traces, POLICIES[self.provider], seed)


def read_settings(path: Path) -> SimulationSettings:
    root = read_tree(read_text(path, "settings file"), str(path), called="settings file", begin="hours: 4")
    settings = SimulationSettings(**root.read(readers_of(SimulationSettings), _HINT))
    with root.blamed():
        settings.revoking(seed=0)
    return settings
