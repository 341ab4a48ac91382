"""What the shipped recording holds, as the table of docs/spot-workloads.md.

python -m benchmarks.spottune.recorded [--check]        rewrites the table there; --check only compares
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from leantune.lab.simulate.workloads import RecordedJob, families, recorded_jobs

PAGE = Path(__file__).parents[2] / "docs" / "spot-workloads.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
HEADER = (
    "Family",
    "Reports",
    "Steps",
    "CPU seconds: median (least to most)",
    "Final metric: best to worst",
    "Variation of seconds per step",
    "Checkpoint, kB",
    "Save / restore, ms",
)


def step_variation(job: RecordedJob) -> float:
    """Standard deviation over mean of the seconds per step of the report intervals; the first one warms up caches."""
    pace = job.seconds / np.diff(job.steps, prepend=0.0)
    return float(pace[1:].std() / pace[1:].mean())


def table() -> str:
    """One row for each family, over its settings."""
    rows = [HEADER, ("---",) * len(HEADER), *(_row(name, recorded_jobs(name)) for name in families())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def updated(page: str) -> str:
    """The page with today's table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def _row(name: str, jobs: Sequence[RecordedJob]) -> tuple[str, ...]:
    seconds = [job.total_seconds for job in jobs]
    final = [job.final_value for job in jobs]
    diverged = int(np.isnan(final).sum())
    save, restore = (1e3 * float(np.median(times)) for times in zip(*map(_checkpoint, jobs), strict=True))
    return (
        name,
        _span([len(job.steps) for job in jobs], ".0f"),
        _span([job.total_steps for job in jobs], ",.0f"),
        f"{np.median(seconds):.3g} ({min(seconds):.3g} to {max(seconds):.3g})",
        _span(final, ".4f") + (f", {diverged} diverged" if diverged else ""),
        f"{np.median([step_variation(job) for job in jobs]):.2f}",
        _span([job.model_bytes / 1e3 for job in jobs], ",.0f"),
        f"{save:.0f} / {restore:.0f}",
    )


def _checkpoint(job: RecordedJob) -> tuple[float, float]:
    return job.save_seconds, job.restore_seconds


def _span(values: Sequence[float], form: str) -> str:
    least, most = format(np.nanmin(values), form), format(np.nanmax(values), form)
    return least if least == most else f"{least} to {most}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spottune.recorded", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the page's table is not the recording's")
    given = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    if not given.check:
        PAGE.write_text(updated(page), encoding="utf-8")
    elif updated(page) != page:
        sys.exit(f"{PAGE.name}: its table is not the recording's. Run python -m benchmarks.spottune.recorded")


if __name__ == "__main__":
    main()
