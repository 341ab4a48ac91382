"""What `leantune spot run` does: train every setting of a job on simulated spot machines, the best ones to the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leantune.cli.completion import job_files
from leantune.cli.exit_codes import ExitCode
from leantune.cli.failures import print_json, say, told_errors, warn

if TYPE_CHECKING:
    from leantune.cloud.marketplace import Marketplace
    from leantune.jobfile import Job
    from leantune.run.fleet import FleetEvent
    from leantune.run.local_tuning import Asked, Tuned, Workshop

SHOWN_REPORTS = 5  # of each setting, on its way to the last step
SAVES = 30.0  # seconds of the market between two looks at a checkpoint, as on real machines

JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="The job file.", autocompletion=job_files)]
Theta = Annotated[float, typer.Option(help="Share of the steps after which a setting is judged; 1: train all.")]
Count = Annotated[int, typer.Option("--mcnt", min=1, help="How many settings are trained to the end.")]
Steps = Annotated[float | None, typer.Option(help="The last step of a training [default: the job's steps].")]
Risk = Annotated[str, typer.Option("--predictor", metavar="NAME|FILE", help="Who predicts revocations.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def run(
    job: JobFile,
    *,
    theta: Theta = 0.7,
    mcnt: Count = 3,
    steps: Steps = None,
    predictor: Risk = "online-hazard",
    as_json: AsJson = False,
) -> None:
    """Tune a list of settings on spot machines (SpotTune).

    Every setting of the job, its `settings:` or all of its space, is trained up to theta of its steps; where each would
    end is predicted, and the best are trained to the end. Machines are simulated ones of the job's `cluster`, with a
    market that runs faster (docs/job-file.md); the programs are real and run here. They report `step` and the metric,
    and go on from what they left in {checkpoint_dir}.

    \b
    Examples:
      $ leantune spot run job.yaml --steps 100
      $ leantune spot run job.yaml --theta 0.5 --mcnt 2 --json
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)
    with told_errors(as_json=as_json):
        from leantune.jobfile import load_job
        from leantune.revocation.predictors import named_or_saved
        from leantune.run.local_tuning import tune

        loaded = load_job(job)
        for text in loaded.warnings:
            warn(text)
        asked, workshop, market = _prepared(loaded, theta, mcnt, steps)
        observer = _told(asked, as_json)
        try:
            tuned = tune(asked, workshop, market, named_or_saved(predictor), observer)
        except KeyboardInterrupt:
            say("interrupted; all machines are given back, and the tuning would start over", err=True)
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        if as_json:
            print_json(as_document(loaded.name, tuned))
        else:
            say("\n".join(lines(loaded.name, tuned)))
    ended_well = any(state.selected for state in tuned.outcome.jobs) and len(tuned.failures) < len(asked.settings)
    raise typer.Exit(ExitCode.WELL if ended_well else ExitCode.BAD_NEWS)


def _prepared(job: Job, theta: float, mcnt: int, steps: float | None) -> tuple[Asked, Workshop, Marketplace]:
    """What is to be tuned, how programs run, and the market; JobError where the job does not allow it."""
    from leantune.cloud.marketplace import MarketSettings, marketplace
    from leantune.errors import InvalidInput
    from leantune.executors.registry import executor_module
    from leantune.run.local_tuning import Asked, Workshop, machines_of, settings_of

    executor_module(job.run.on)  # or it is not available
    last = steps if steps is not None else job.steps
    if last is None:
        hint = "Add steps: 100 to the job file, or --steps 100"
        raise InvalidInput("how many steps a training has is not said", where="steps", hint=hint)
    settings, space = job.run.market or MarketSettings(), job.problem.space
    machines = machines_of(space)
    market = marketplace(machines, settings)
    asked = Asked(job.settings or settings_of(space), last, theta, mcnt, settings.speed)
    workshop = Workshop(
        job.problem,
        job.command.arguments,
        job.folder,
        job.logs,
        job.checkpoints,
        f"{job.name}-spottune",
        job.run.parallel,
        job.run.grace,
        max(SAVES / settings.speed, 0.1),
    )
    return asked, workshop, market


# -- on the way


def _told(asked: Asked, as_json: bool) -> Callable[[FleetEvent], None]:
    """Lines about what happens; of the reports, some."""
    from leantune.run.fleet import Ready, Reported, Revoked, Saved, Warned
    from leantune.run.local_tuning import setting_words

    names = [setting_words(setting) for setting in asked.settings]
    shown: dict[int, float] = {}

    def tell(event: FleetEvent) -> None:
        what = ""
        match event:
            case Ready():
                what = f"trains on {event.machine}" + (f" from step {event.step:g}" if event.step else "")
            case Reported() if not math.isfinite(event.value):
                what = "it failed, or its metric is not a number"
            case Reported() if event.step >= shown.get(event.job, 0.0):
                shown[event.job] = event.step + asked.steps / SHOWN_REPORTS
                what = f"step {event.step:g}: {event.value:.5g}"
            case Warned():
                what = f"{event.machine} will be taken in {event.gone_at - event.time:.0f} s"
            case Saved():
                what = f"saved at step {event.step:g}"
            case Revoked():
                what = f"{event.machine} was taken"
        if what:
            say(f"{names[event.job]}: {what}", err=as_json)

    return tell


# -- at the end


def lines(name: str, tuned: Tuned) -> list[str]:
    """The result for a person."""
    from leantune.cli.columns import columned
    from leantune.run.local_tuning import setting_words
    from leantune.text import duration

    outcome, asked = tuned.outcome, tuned.asked
    order = [*outcome.ranking, *(job for job in range(len(outcome.jobs)) if job not in outcome.ranking)]
    rows = []
    for place, job in enumerate(order, start=1):
        state = outcome.jobs[job]
        mean, sd = (math.nan, math.nan) if state.prediction is None else (state.prediction.mean, state.prediction.sd)
        value = "?" if math.isnan(mean) else f"{mean:.5g}" if sd == 0 else f"{mean:.5g} ± {sd:.2g}"
        step = f"{max((step for step, value in state.reports if math.isfinite(value)), default=0):g}"
        ending = "failed" if job in tuned.failures else (state.ending or "")
        rows.append((f"{place}", setting_words(asked.settings[job]), value, step, ending))
    free = sum(machine.usd == 0 for machine in tuned.machines)
    finished = duration(outcome.finished_at - outcome.began)
    return [
        f"{name}: {len(rows)} settings, the best {len(outcome.selected)} trained to step {asked.steps:g}",
        *columned(("", "setting", "at the end", "trained to", "how it ended"), rows, left=2),
        f"dollars   ${tuned.usd:.4g} for {len(tuned.machines)} machines ({free} of them free, ${tuned.refund_usd:.4g})",
        f"taken     {tuned.revocations} machines were taken by the provider",
        f"time      the best were known after {duration(outcome.selected_at - outcome.began)} of the market, "
        f"and trained after {finished}",
        *(f"failed    {setting_words(asked.settings[job])}: {why}" for job, why in tuned.failures.items()),
        *(f"note      {text}" for text in tuned.notes),
    ]


def as_document(name: str, tuned: Tuned) -> dict[str, object]:
    """The result for a program; numbers that nobody knows are null."""
    outcome, asked = tuned.outcome, tuned.asked
    jobs = []
    for index, state in enumerate(outcome.jobs):
        told = state.prediction
        known = [(step, value) for step, value in state.reports if math.isfinite(value)]
        jobs.append(
            {
                "setting": dict(asked.settings[index]),
                "rank": outcome.ranking.index(index) + 1 if index in outcome.ranking else None,
                "selected": state.selected,
                "ending": None if state.ending is None else state.ending.value,
                "step": known[-1][0] if known else 0.0,
                "value": known[-1][1] if known else None,
                "predicted": None if told is None else _finite(told.mean),
                "predicted_sd": None if told is None else _finite(told.sd),
                "failure": tuned.failures.get(index),
            }
        )
    machines = [
        {
            "machine": machine.stay.machine,
            "setting": machine.stay.job,
            "market": str(machine.offer.market),
            "on_demand": machine.offer.on_demand,
            "max_price": machine.stay.max_price,
            "launched": machine.stay.launched,
            "kept_steps": machine.stay.kept - machine.stay.step_from,
            "usd": machine.usd,
            "refund_usd": machine.refund_usd,
            "revoked": machine.revoked,
        }
        for machine in tuned.machines
    ]
    return {
        "study": name,
        "theta": asked.theta,
        "mcnt": asked.mcnt,
        "steps": asked.steps,
        "settings": jobs,
        "machines": machines,
        "usd": tuned.usd,
        "refund_usd": tuned.refund_usd,
        "revocations": tuned.revocations,
        "selected_seconds": outcome.selected_at - outcome.began,
        "finished_seconds": outcome.finished_at - outcome.began,
        "notes": list(tuned.notes),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
