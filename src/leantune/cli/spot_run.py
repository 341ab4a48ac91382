"""What `leantune spot run` does: a short form of a study by SpotTune with free machines, and what it says of it."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path

from leantune.cli.command import Answer, ExitCode, Json, picked
from leantune.cli.studies import CODE_OF_OUTCOME, worked
from leantune.cli.terminal import columned, warn
from leantune.cli.watching import Mode
from leantune.jobfile.edit import SpotTuneOptions
from leantune.run.loop import End, Outcome
from leantune.store.rows import StayRow
from leantune.strategies.spottune import Row
from leantune.study import launch
from leantune.study.launch import OpenedStudy
from leantune.text import duration, setting_words


def run(job: Path, options: SpotTuneOptions, mode: Mode) -> Answer:
    """Work on the study until it is over, and rank its settings."""
    loaded = launch.load_spottune(job, options)
    for text in loaded.warnings:
        warn(text)
    launch.check_place(loaded)
    with closing(launch.open_job(loaded)) as opened:
        end = worked(opened, mode, opened.job.run.parallel)
        ranking, stays = opened.ranking(), opened.store.stays()
        came_through = any(row.selected and row.trial.state != "failed" for row in ranking)
        bad = end.outcome is Outcome.OVER and not came_through
        code = ExitCode.BAD_NEWS if bad else CODE_OF_OUTCOME[end.outcome]
        return Answer(as_document(opened, end, ranking, stays), lines(opened, end, ranking, stays), code)


def lines(opened: OpenedStudy, end: End, ranking: tuple[Row, ...], stays: list[StayRow]) -> list[str]:
    """The result for a person."""
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


def as_document(opened: OpenedStudy, end: End, ranking: tuple[Row, ...], stays: list[StayRow]) -> Json:
    """The result for a program; numbers that nobody knows are null."""
    options = opened.job.strategy_options
    settings = [
        {
            "trial": row.trial.number,
            "setting": row.trial.configuration,
            **picked(row, "rank selected ending step value"),
            "predicted": None if row.predicted is None else row.predicted.mean,
            "predicted_sd": None if row.predicted is None else row.predicted.sd,
            "usd": row.trial.cost,
            "failure": row.trial.moves[-1].cause if row.trial.state == "failed" else None,
        }
        for row in ranking
    ]
    machines = [
        {
            **picked(stay, "machine trial=number market on_demand max_price launched"),
            "kept_steps": stay.kept_steps,
            "usd": stay.usd,
            "refund_usd": stay.refund_usd or 0.0,
            "revoked": stay.revoked,
        }
        for stay in stays
    ]
    return {
        "study": opened.job.name,
        **picked(end, "outcome reason"),
        "theta": options.get("theta", 0.7),
        "mcnt": options.get("mcnt", 3),
        "steps": opened.problem.steps,
        "settings": settings,
        "machines": machines,
        "usd": opened.store.money().spent,
        "refund_usd": math.fsum(stay.refund_usd or 0.0 for stay in stays),
        "revocations": sum(stay.revoked for stay in stays),
        **_times(opened, stays),
        "simulated": True,
    }


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
