"""Train every setting of SpotTune's six families and record the metric and the seconds of each report.

    python -m benchmarks.spottune.recording [--only FAMILY] [--quick] [--out FOLDER] [--shipped FOLDER]

One file for each setting in the output folder: what is there is not trained again, and a killed recording goes on
where it was (a file is whole or not there). When all settings of the chosen families are recorded, they are packed
into one file for each family, which `leantune.lab.simulate.workloads` reads.

Seconds of a report are CPU seconds of this process, which has one thread: another program on the machine does not
stretch them as it would stretch seconds of the clock. They include the validation, as a job's would.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.spottune.families import FAMILIES, Family, Setting, Trainer
from leantune.checkpoints.store import CheckpointStore
from leantune.clock import Clock, RealClock

OUT = Path("leantune-recording")
SHIPPED = Path(__file__).parents[2] / "src" / "leantune" / "lab" / "simulate" / "recorded"
FORMAT = 1
QUICK_REPORTS = 2
SAVES = 5  # checkpoints timed, of which the median counts
DIGITS = 6  # of the metric; seconds have four
LIBRARIES = ("numpy", "torch")


def record(family: Family, setting: Setting, clock: Clock, reports: int) -> dict[str, Any]:
    """Train a setting for that many reports; what is recorded is plain JSON, NaN and infinity being null."""
    begun = clock.now()
    trainer = family.build(setting)
    steps, values, seconds = [], [], []
    for _ in range(reports):
        before = time.process_time()
        trainer.advance()
        value = trainer.validate()
        seconds.append(_rounded(time.process_time() - before, 4))
        steps.append(trainer.steps)
        values.append(_rounded(value, DIGITS))
    size, save, restore = checkpoint_seconds(trainer, family.build(setting))
    return {
        "name": family.name_of(setting),
        "setting": dict(setting),
        "steps": steps,
        "values": values,
        "seconds": seconds,
        "wall_seconds": _rounded(clock.now() - begun, 4),
        "drops": [drop for drop in family.drops(setting) if drop < steps[-1]],
        "model_bytes": size,
        "save_seconds": _rounded(save, 4),
        "restore_seconds": _rounded(restore, 4),
        "source": family.source(),
        "recorded": datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
    }


def checkpoint_seconds(trainer: Trainer, fresh: Trainer) -> tuple[int, float, float]:
    """Bytes of a checkpoint, and median seconds of the clock to save it and to have another process's worth of it back.

    Saving is writing the arrays and keeping them in the store; restoring is fetching them into an empty folder,
    reading them and giving them to a fresh trainer.
    """
    saves, restores, size = [], [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = CheckpointStore(folder / "store", "recording")
        for number in range(SAVES):
            begun = time.perf_counter()
            (folder / "here").mkdir(exist_ok=True)
            with (folder / "here" / "state.npz").open("wb") as file:
                np.savez(file, **trainer.state())  # type: ignore[arg-type]  # names are the trainer's
            store.save("job", folder / "here")
            saves.append(time.perf_counter() - begun)
            size = (folder / "here" / "state.npz").stat().st_size
            begun = time.perf_counter()
            store.restore("job", folder / f"there-{number}")
            with np.load(folder / f"there-{number}" / "state.npz", allow_pickle=False) as stored:
                fresh.load(dict(stored))
            restores.append(time.perf_counter() - begun)
    return size, statistics.median(saves), statistics.median(restores)


def record_all(families: Sequence[Family], out: Path, clock: Clock) -> int:
    """Record every setting that is not in the folder yet; the number of those that were trained."""
    _prepare(out)
    work = [(family, setting) for family in families for setting in family.settings()]
    missing = [(family, setting) for family, setting in work if recorded(family, setting, out) is None]
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[settings]}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), speed_estimate_period=300) as progress:
        task = progress.add_task("recording", total=sum(family.weight for family, _ in missing), settings="")
        for number, (family, setting) in enumerate(missing, 1):
            name = family.name_of(setting)
            progress.update(task, description=name, settings=f"{number}/{len(missing)} settings")
            result = record(family, setting, clock, family.reports(setting))
            _write(out / f"{name}.json", result)
            progress.advance(task, family.weight)
            cpu = sum(result["seconds"])
            progress.console.print(f"{name}: {result['values'][-1]} after {result['steps'][-1]} steps, {cpu:.1f} s")
    return len(missing)


def recorded(family: Family, setting: Setting, out: Path) -> dict[str, Any] | None:
    """What the folder holds of a setting; None when it is absent or of another length or setting than today's."""
    file = out / f"{family.name_of(setting)}.json"
    if not file.exists():
        return None
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    same = found["setting"] == dict(setting) and len(found["steps"]) == family.reports(setting)
    return found if same else None


def pack(families: Sequence[Family], out: Path, shipped: Path) -> list[Path]:
    """One file for each family whose settings are all recorded; what all its jobs share is written once."""
    shipped.mkdir(parents=True, exist_ok=True)
    written = []
    for family in families:
        jobs = [recorded(family, setting, out) for setting in family.settings()]
        whole = [job for job in jobs if job is not None]
        if len(whole) == len(jobs):
            written.append(shipped / f"{family.name.lower()}.json")
            _write(written[-1], _packed(family, whole))
    return written


def _packed(family: Family, jobs: list[dict[str, Any]]) -> dict[str, Any]:
    shared = ("source", "recorded", "versions")
    last = max(jobs, key=lambda job: str(job["recorded"]))
    return {
        "format": FORMAT,
        "family": family.name,
        "metric": family.metric,
        "maximize": False,
        **{key: last[key] for key in shared},
        "jobs": [{key: value for key, value in job.items() if key not in shared} for job in jobs],
    }


def _prepare(out: Path) -> None:
    """A folder that git does not look into, wherever it lies."""
    out.mkdir(parents=True, exist_ok=True)
    (out / ".gitignore").write_text("*\n", encoding="utf-8")


def _write(file: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all; one line for each job and each key, so that people and diffs can read it."""
    lines = []
    for key, value in content.items():
        if key == "jobs":
            jobs = ",\n".join(f"  {json.dumps(job, allow_nan=False)}" for job in value)
            lines.append(f'"jobs": [\n{jobs}\n]')
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}")
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    unfinished.replace(file)


def _rounded(value: float, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "absent"
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spottune.recording", description=__doc__)
    parser.add_argument("--only", choices=list(FAMILIES), help="one family")
    parser.add_argument("--quick", action="store_true", help="one setting for two epochs, packed nowhere")
    parser.add_argument("--out", type=Path, default=OUT, help="where settings are recorded, one file each")
    parser.add_argument("--shipped", type=Path, default=SHIPPED, help="where families are packed to")
    given = parser.parse_args(arguments)
    families = [FAMILIES[given.only]] if given.only else list(FAMILIES.values())
    if given.quick:
        family = families[-1]
        setting = family.settings()[0]
        _prepare(given.out / "quick")
        result = record(family, setting, RealClock(), QUICK_REPORTS)
        _write(given.out / "quick" / f"{result['name']}.json", result)
        print(f"{result['name']}: {result['values']} in {sum(result['seconds']):.1f} CPU seconds")
        return
    trained = record_all(families, given.out, RealClock())
    for file in pack(families, given.out, given.shipped):
        print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB")
    print(f"{trained} settings trained")


if __name__ == "__main__":
    main()
