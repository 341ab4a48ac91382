"""What `leantune spot run` does: a short form of a study by SpotTune with free machines, and what it says of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leantune.cli.completion import job_files
from leantune.cli.exit_codes import ExitCode
from leantune.cli.failures import print_result, told_errors, warn

if TYPE_CHECKING:
    from leantune.run.loop import End
    from leantune.store.rows import StayRow
    from leantune.strategies.spottune import Row
    from leantune.study.launch import OpenedStudy

JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="The job file.", autocompletion=job_files)]
Theta = Annotated[
    float | None, typer.Option(help="Share of the steps after which a setting is judged; 1: train all. [default: 0.7]")
]
Count = Annotated[int | None, typer.Option("--mcnt", min=1, help="How many are trained to the end. [default: 3]")]
Steps = Annotated[float | None, typer.Option(help="The last step of a training [default: the job's steps].")]
Risk = Annotated[
    str | None,
    typer.Option("--predictor", metavar="NAME|FILE", help="Who predicts revocations. [default: online-hazard]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print lines instead of a live view.")]


def run(
    job: JobFile,
    *,
    theta: Theta = None,
    mcnt: Count = None,
    steps: Steps = None,
    predictor: Risk = None,
    as_json: AsJson = False,
    plain: Plain = False,
) -> None:
    """Tune a list of settings on spot machines (SpotTune).

    A short form of `leantune run` with `strategy: spottune` and `run: {machine: free}`. Every setting of the job, its
    `settings:` or all of its space, is trained up to theta of its steps; where each would end is predicted, and the
    best are trained to the end. Machines are simulated ones of the job's `cluster`, with a market that runs faster
    (docs/job-file.md); the programs are real and run here. They report `step` and the metric, and go on from what they
    left in {checkpoint_dir}. Budget and limits hold, and it goes on when it is run again.

    \b
    Examples:
      $ leantune spot run job.yaml --steps 100
      $ leantune spot run job.yaml --theta 0.5 --mcnt 2 --json
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)
    with told_errors(as_json=as_json):
        from leantune.cli.watching import mode_of
        from leantune.jobfile.edit import SpotTuneOptions
        from leantune.study import launch

        loaded = launch.load_spottune(job, SpotTuneOptions(theta, mcnt, steps, predictor))
        for text in loaded.warnings:
            warn(text)
        launch.check_place(loaded)
        opened = launch.open_job(loaded)
        try:
            code = _work(opened, mode_of(plain=plain, as_json=as_json), as_json=as_json)
        finally:
            opened.close()
    raise typer.Exit(code)


def _work(opened: OpenedStudy, mode: Any, *, as_json: bool) -> ExitCode:
    from leantune.cli.studies import CODE_OF_OUTCOME, worked
    from leantune.run.loop import Outcome

    end = worked(opened, mode, opened.job.run.parallel)
    ranking, stays = opened.ranking(), opened.store.stays()
    print_result(as_document(opened, end, ranking, stays), lines(opened, end, ranking, stays), as_json=as_json)
    came_through = any(row.selected and row.trial.state != "failed" for row in ranking)
    if end.outcome is Outcome.OVER and not came_through:
        return ExitCode.BAD_NEWS
    return CODE_OF_OUTCOME[end.outcome]


def lines(opened: OpenedStudy, end: End, ranking: tuple[Row, ...], stays: list[StayRow]) -> list[str]:
    """The result for a person."""
    from leantune.cli.columns import columned
    from leantune.text import duration, setting_words

    rows = []
    for row in ranking:
        told = row.predicted
        value = "?" if told is None or math.isnan(told.mean) else f"{told.mean:.5g}"
        value += f" ± {told.sd:.2g}" if told is not None and 0 < told.sd < math.inf else ""
        rows.append((f"{row.rank}", setting_words(row.trial.configuration), value, f"{row.step:g}", row.ending or ""))
    times = _times(opened, stays)
    free = sum(stay.usd == 0 for stay in stays)
    refund = math.fsum(stay.refund_usd or 0.0 for stay in stays)
    chosen, steps = sum(row.selected for row in ranking), opened.problem.steps or 0.0
    failed = [trial for trial in opened.history.trials if trial.state == "failed"]
    return [
        f"{opened.job.name}: {end.outcome.value}, {end.reason}",
        f"{len(rows)} settings, the best {chosen} trained to step {steps:g}",
        *columned(("", "setting", "at the end", "trained to", "how it ended"), rows, left=2),
        f"dollars   ${opened.store.money().spent:.4g} for {len(stays)} machines ({free} of them free, ${refund:.4g})",
        f"taken     {sum(stay.revoked for stay in stays)} machines were taken by the provider",
        f"time      the best were known after {duration(times['selected_seconds'])} of the market, "
        f"and trained after {duration(times['finished_seconds'])}",
        *(f"failed    {setting_words(one.configuration)}: {one.moves[-1].cause}" for one in failed),
        *_notes(ranking, steps),
        "note      the machines, and so the dollars, are simulated; the programs ran here",
    ]


def _notes(ranking: tuple[Row, ...], steps: float) -> list[str]:
    """What a user would want to know about programs that tell too little."""
    ended = [row for row in ranking if row.trial.state == "done"]
    notes = []
    if any(row.step == 0 for row in ended):
        notes.append("no step was reported, so that nothing could be judged: print JSON lines with step and the metric")
    if any(0 < row.step < steps for row in ended):
        notes.append(f"a program ended by itself before step {steps:g}: its last value counts")
    return [f"note      {text}" for text in notes]


def as_document(opened: OpenedStudy, end: End, ranking: tuple[Row, ...], stays: list[StayRow]) -> dict[str, object]:
    """The result for a program; numbers that nobody knows are null."""
    from leantune.cli.show import number

    options = opened.job.strategy_options
    settings = [
        {
            "trial": row.trial.number,
            "setting": dict(row.trial.configuration),
            "rank": row.rank,
            "selected": row.selected,
            "ending": None if row.ending is None else row.ending.value,
            "step": row.step,
            "value": number(row.value),
            "predicted": None if row.predicted is None else number(row.predicted.mean),
            "predicted_sd": None if row.predicted is None else number(row.predicted.sd),
            "usd": row.trial.cost,
            "failure": row.trial.moves[-1].cause if row.trial.state == "failed" else None,
        }
        for row in ranking
    ]
    return {
        "study": opened.job.name,
        "outcome": end.outcome.value,
        "reason": end.reason,
        "theta": options.get("theta", 0.7),
        "mcnt": options.get("mcnt", 3),
        "steps": opened.problem.steps,
        "settings": settings,
        "machines": _machines(stays),
        "usd": opened.store.money().spent,
        "refund_usd": math.fsum(stay.refund_usd or 0.0 for stay in stays),
        "revocations": sum(stay.revoked for stay in stays),
        **_times(opened, stays),
        "simulated": True,
    }


def _machines(stays: list[StayRow]) -> list[dict[str, object]]:
    """What was rented, and what became of it."""
    return [
        {
            "machine": stay.machine,
            "trial": stay.number,
            "market": stay.market,
            "on_demand": stay.on_demand,
            "max_price": stay.max_price,
            "launched": stay.launched,
            "kept_steps": stay.kept_steps,
            "usd": stay.usd,
            "refund_usd": stay.refund_usd or 0.0,
            "revoked": stay.revoked,
        }
        for stay in stays
    ]


def _times(opened: OpenedStudy, stays: list[StayRow]) -> dict[str, float]:
    """Seconds of the market until the best were known, and until they were trained."""
    if not stays:
        return {"selected_seconds": 0.0, "finished_seconds": 0.0}
    began = min(stay.launched for stay in stays)
    ends = {stay.number: max(stay.left or stay.launched, began) for stay in stays}
    chosen = [trial.number for trial in opened.history.trials if trial.runs.paused]
    paused = [_paused_at(stays, number) for number in chosen]
    finished = max(ends.values()) - began
    return {"selected_seconds": max(paused, default=finished + began) - began, "finished_seconds": finished}


def _paused_at(stays: list[StayRow], number: int) -> float:
    """When a setting left its machine because theta was reached."""
    asked = [stay.left for stay in stays if stay.number == number and stay.why == "asked" and stay.left is not None]
    return min(asked, default=0.0)
