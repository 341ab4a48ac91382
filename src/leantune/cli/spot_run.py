"""What `leantune spot run` does: a short form of a study by SpotTune with free machines, and its summary."""

from __future__ import annotations

import math
from pathlib import Path

from leantune.cli.command import Answer, ExitCode, Json, picked
from leantune.cli.studies import CODE_OF_OUTCOME, warned, worked
from leantune.cli.terminal import Mode, columned
from leantune.executors.rental import Purpose
from leantune.jobfile.edit import SpotTuneOptions, load_spottune
from leantune.run.loop import End, Outcome
from leantune.store.rows import StayRow
from leantune.strategies.spottune import RankedTrial
from leantune.study import Study
from leantune.text import duration, setting_words


def run(path: Path, options: SpotTuneOptions, mode: Mode) -> Answer:
    """Work on the study until it is over, and rank its settings."""
    job = warned(load_spottune(path, options))
    with Study.from_job(job) as study:
        end = worked(study, mode)
        return _answer(study, end, study.ranking(), study.store.stays())


def _answer(study: Study, end: End, ranking: tuple[RankedTrial, ...], stays: list[StayRow]) -> Answer:
    options, steps, spent = study.job.strategy_options, study.problem.steps, study.store.money().spent
    refund, revocations = math.fsum(stay.refund_usd or 0.0 for stay in stays), sum(stay.revoked for stay in stays)
    selected, finished = _times(study, stays)
    document = {
        "study": study.name,
        **picked(end, "outcome reason"),
        "theta": options.get("theta", 0.7),
        "mcnt": options.get("mcnt", 3),
        "steps": steps,
        "settings": [_setting_json(row) for row in ranking],
        "machines": [_machine_json(stay) for stay in stays],
        "usd": spent,
        "refund_usd": refund,
        "revocations": revocations,
        "selected_seconds": selected,
        "finished_seconds": finished,
        "simulated": True,
    }
    free = sum(stay.usd == 0 for stay in stays)
    failed = [trial for trial in study.history.trials if trial.state == "failed"]
    headings = ("", "setting", "at the end", "trained to", "how it ended")
    lines = [
        f"{study.name}: {end.outcome.value}, {end.reason}",
        f"{len(ranking)} settings, the best {sum(row.selected for row in ranking)} trained to step {steps or 0:g}",
        *columned(headings, map(_setting_cells, ranking), left=2),
        f"dollars   ${spent:.4g} for {len(stays)} machines ({free} of them free, ${refund:.4g})",
        f"taken     {revocations} machines were taken by the provider",
        f"time      the best were known after {duration(selected)} of the market, "
        f"and trained after {duration(finished)}",
        *(f"failed    {setting_words(trial.configuration)}: {trial.moves[-1].cause}" for trial in failed),
        *_notes(ranking, steps or 0.0),
        "note      the machines, and so the dollars, are simulated; the programs ran here",
    ]
    came_through = any(row.selected and row.trial.state != "failed" for row in ranking)
    bad = end.outcome is Outcome.OVER and not came_through
    return Answer(document, lines, ExitCode.BAD_NEWS if bad else CODE_OF_OUTCOME[end.outcome])


def _setting_cells(row: RankedTrial) -> tuple[str, ...]:
    end = row.predicted
    value = "?" if end is None or math.isnan(end.mean) else f"{end.mean:.5g}"
    value += f" ± {end.sd:.2g}" if end is not None and 0 < end.sd < math.inf else ""
    return f"{row.rank}", setting_words(row.trial.configuration), value, f"{row.step:g}", row.ending or ""


def _setting_json(row: RankedTrial) -> Json:
    return {
        **picked(row, "trial=trial.number setting=trial.configuration rank selected ending step value"),
        "predicted": None if row.predicted is None else row.predicted.mean,
        "predicted_sd": None if row.predicted is None else row.predicted.sd,
        "usd": row.trial.cost,
        "failure": row.trial.moves[-1].cause if row.trial.state == "failed" else None,
    }


def _machine_json(stay: StayRow) -> Json:
    return {
        **picked(stay, "machine trial=number market on_demand max_price launched kept_steps usd"),
        "refund_usd": stay.refund_usd or 0.0,
        "revoked": stay.revoked,
    }


def _notes(ranking: tuple[RankedTrial, ...], steps: float) -> list[str]:
    """Notes about programs that report too little."""
    ended = [row for row in ranking if row.trial.state == "done"]
    notes = []
    if any(row.step == 0 for row in ended):
        notes.append("no program reported a step, so nothing was judged: print JSON lines with step and the metric")
    if any(0 < row.step < steps for row in ended):
        notes.append(f"a program ended by itself before step {steps:g}: its last value counts")
    return [f"note      {text}" for text in notes]


def _times(study: Study, stays: list[StayRow]) -> tuple[float, float]:
    """Seconds of the market until the best were known, and until they were trained."""
    if not stays:
        return 0.0, 0.0
    began = min(stay.launched for stay in stays)
    ends = {stay.number: max(stay.left or stay.launched, began) for stay in stays}
    chosen = [trial.number for trial in study.history.trials if trial.runs.paused]
    paused = [_paused_at(stays, number) for number in chosen]
    finished = max(ends.values()) - began
    return max(paused, default=finished + began) - began, finished


def _paused_at(stays: list[StayRow], number: int) -> float:
    """When a setting left its machine at theta."""
    asked = [
        stay.left for stay in stays if stay.number == number and stay.why == Purpose.ASKED and stay.left is not None
    ]
    return min(asked, default=0.0)
