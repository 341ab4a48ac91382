"""Every command of `leantune`, run in a folder of its own; what each answers, masked, is one kept file."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

from tests.cli.tiny import PRICED, invoke, make_job
from tests.golden.kept import HERE, Json
from tests.golden.masks import DATE, MOMENT, SHARE, TIME, USD, Varying, masked, masked_lines
from tests.lab.replay.small import write as write_table

OUTPUTS = HERE / "outputs"
NOTHING = Varying()
REAL = Varying(
    keys=frozenset({"seconds", "time", "cost", "spent", "left", "seen_seconds_ago", "bytes"}), words=(TIME, USD)
)
REPORT = Varying(words=(TIME, USD, MOMENT, SHARE, (r"\d+ of \d+ (?=measurements? )", "<some> of ")))


@dataclass(frozen=True)
class Step:
    """One call. page: an HTML file that it writes, whose words are kept too."""

    name: str
    arguments: tuple[str, ...]
    varying: Varying = NOTHING
    page: str = ""


@dataclass(frozen=True)
class Scenario:
    """Steps in one folder, which `prepare` fills."""

    prepare: Callable[[Path], object]
    steps: tuple[Step, ...]
    slow: bool = False


def answers(name: str, folder: Path) -> dict[Path, Json]:
    """What the steps of a scenario answer, by the file where that is kept."""
    scenario, found = SCENARIOS[name], {}
    scenario.prepare(folder)
    with _inside(folder):
        for step in scenario.steps:
            found[OUTPUTS / name / f"{step.name}.json"] = _answer(step, folder)
    return found


def _answer(step: Step, folder: Path) -> Json:
    varying = replace(step.varying, folder=str(folder))
    result = invoke(*step.arguments)
    as_json = "--json" in step.arguments
    answer: dict[str, Json] = {
        "command": " ".join(("leantune", *step.arguments)),
        "exit_code": int(result.exit_code),
        "stdout": masked(json.loads(result.stdout), varying) if as_json else masked_lines(result.stdout, varying),
        "stderr": masked_lines(result.stderr, varying),
    }
    if step.page:
        page = _Page()
        page.feed((folder / step.page).read_text(encoding="utf-8"))
        answer["page"] = masked_lines("\n".join(page.lines), varying)
        answer["figures"] = _drawn(json.loads(page.data), exact=not varying.words)
    return answer


def _drawn(data: Json, *, exact: bool) -> Json:
    """What a page draws: a hash where nothing of it varies, else every figure's traces by type and length."""
    if exact:
        return hashlib.sha256(json.dumps(_rounded(data)).encode()).hexdigest()
    traces = {name: figure["data"] for name, figure in data["figures"].items()}
    return {name: [f"{one.get('type')} of {len(one.get('x', ()))}" for one in of] for name, of in traces.items()}


def _rounded(data: Json) -> Json:
    """Numbers to nine digits, which every machine computes alike."""
    if isinstance(data, dict):
        return {key: _rounded(one) for key, one in data.items()}
    if isinstance(data, list):
        return [_rounded(one) for one in data]
    return f"{data:.9g}" if isinstance(data, float) else data


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In that folder, on a page of 80 columns, with nothing of the user's own, and with locks of its own on the cores:
    beside another study on this machine it would say that it waits for room.
    """
    own = {"LEANTUNE_HOME": str(folder / "home"), "COLUMNS": "80", "LEANTUNE_DATA": str(folder / "no-data")}
    with chdir(folder), patch.dict(os.environ, own), patch.object(tempfile, "tempdir", str(folder)):
        yield


class _Page(HTMLParser):
    """lines: the words of a page and the places that have a name. data: the JSON that it draws."""

    SILENT = ("script", "style", "svg")

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.data = ""
        self._silent, self._is_data = 0, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("id")
        if name and not self._silent:
            self.lines.append(f"<{tag} id={name}>")
        self._silent += tag in self.SILENT
        self._is_data = tag == "script" and name == "data"

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in self.SILENT

    def handle_data(self, data: str) -> None:
        if self._is_data:
            self.data += data
        elif not self._silent and data.strip():
            self.lines.append(data.strip())


def _both(name: str, *arguments: str, varying: Varying = NOTHING) -> tuple[Step, Step]:
    """The same for people and as JSON."""
    return Step(name, arguments, varying), Step(f"{name}-json", (*arguments, "--json"), varying)


# -- studies of real programs


def _tiny_study(folder: Path) -> None:
    make_job(folder, subject_to=["latency <= 3"])


def _modelled_study(folder: Path) -> None:
    make_job(folder, strategy="eic", subject_to=["latency <= 3"], budget={"trials": 6})


def _priced_study(folder: Path) -> None:
    make_job(folder, **PRICED)


def _rented_study(folder: Path) -> None:
    market = {"regime": "smooth", "speed": 60}
    make_job(folder, **PRICED, run={"spot": True, "time_limit": "60 s", "grace": "1 s", "market": market})


def _failing_study(folder: Path) -> None:
    make_job(folder, budget={"trials": 20}, space={"lr": [rate / 20 for rate in range(20)]})
    (folder / "broken").touch()


def _wrong_jobs(folder: Path) -> None:
    make_job(folder)
    (folder / "wrong.yaml").write_text("name: wrong\nmaximise: accuracy\n", encoding="utf-8")


STUDY = (
    *_both("dry-run", "run", "job.yaml", "--dry-run"),
    Step("run", ("run", "job.yaml"), REAL),
    Step("run-again-json", ("run", "job.yaml", "--json"), REAL),
    *_both("status", "status", "job.yaml", varying=REAL),
    *_both("recommend", "recommend", "job.yaml"),
    *_both("verify", "verify", "job.yaml", varying=REAL),
    *_both("dry-run-after", "run", "job.yaml", "--dry-run"),
    Step("extend", ("extend", "job.yaml", "--trials", "5")),
    Step("extend-json", ("extend", "job.yaml", "--trials", "6", "--json")),
    Step("worker", ("worker", "--store", "sqlite:///leantune.db", "--study", "digits", "--parallel", "1"), REAL),
    Step("worker-json", ("worker", "job.yaml", "--json"), REAL),
    Step("logs-json", ("logs", "job.yaml", "--json"), REAL),
    Step("report", ("report", "job.yaml"), REPORT, page="digits-report.html"),
    Step("report-json", ("report", "job.yaml", "-o", "other.html", "--json"), REAL),
    *_both("clean-dry-run", "clean", "job.yaml", "--dry-run", varying=REAL),
    Step("clean-json", ("clean", "job.yaml", "--json"), REAL),
    Step("clean", ("clean", "job.yaml")),
)
PRICED_STUDY = (
    *_both("dry-run", "run", "job.yaml", "--dry-run"),
    Step("run-json", ("run", "job.yaml", "--json"), REAL),
    *_both("status", "status", "job.yaml", varying=REAL),
    Step("verify-json", ("verify", "job.yaml", "--json"), REAL),
    Step("report", ("report", "job.yaml"), REPORT, page="digits-report.html"),
)
MODELLED_STUDY = (
    Step("run-json", ("run", "job.yaml", "--json"), REAL),
    *_both("recommend", "recommend", "job.yaml", varying=REAL),
    Step("report", ("report", "job.yaml"), REPORT, page="digits-report.html"),
)
RENTED_STUDY = (
    *_both("dry-run", "run", "job.yaml", "--dry-run"),
    Step("run", ("run", "job.yaml"), REAL),
    Step("run-again-json", ("run", "job.yaml", "--json"), REAL),
    *_both("status", "status", "job.yaml", varying=REAL),
)
FAILING_STUDY = (
    Step("run", ("run", "job.yaml"), REAL),
    Step("run-again-json", ("run", "job.yaml", "--json"), REAL),
    *_both("status", "status", "job.yaml", varying=REAL),
    *_both("recommend", "recommend", "job.yaml"),
    *_both("verify", "verify", "job.yaml"),
    Step("retry", ("retry", "job.yaml", "1", "0")),
    *_both("retry-again", "retry", "job.yaml", "1"),
    Step("retry-json", ("retry", "job.yaml", "--failed", "--json")),
    Step("retry-none", ("retry", "job.yaml", "--failed")),
)
ERRORS = (
    *_both("no-job-file", "run", "none.yaml"),
    *_both("wrong-job-file", "run", "wrong.yaml"),
    *_both("never-run", "status", "job.yaml"),
    *_both("no-study", "status"),
    *_both("no-extension", "extend", "job.yaml", "--trials", "6"),
    *_both("no-table", "replay", "none.yaml", "--facts"),
    *_both("no-machines", "spot", "run", "job.yaml", "--steps", "10"),
    *_both("no-predictor", "spot", "simulate", "--predictor", "revpred"),
    *_both("no-prices", "spot", "prices"),
    *_both("no-type", "catalog", "show", "--types", "m5.lage"),
)


# -- tables

CHOSEN = Varying(
    # What models believe is kept in proposals.json, once for every recipe.
    keys=frozenset({"ask_seconds", "thinking", "predicted", "probabilities", "modelled"}),
    words=((rf"chosen in {TIME[0]}", "chosen in <time>"),),
    lines=r"replay: .* left$",  # on the way, told every ten seconds
)
QUICK = ("--seeds", "2", "--iterations", "2", "--processes", "0")
FULL_DATA = "lean,trimtuner,trimtuner-gp,fabulinus,fabolas,lynceus,cherrypick,eic,eic-usd,ei,random"
ANYWHERE = ("--problem", "cheapest", "--strategies", "nephele,lynceus,lean,random")
REPLAY = (
    *_both("list", "replay"),
    *_both("facts", "replay", "measured.yaml", "--facts"),
    *_both("facts-cheapest", "replay", "measured.yaml", "--facts", "--problem", "cheapest"),
    *_both("compare", "replay", "measured.yaml", "--strategies", FULL_DATA, *QUICK, varying=CHOSEN),
    *_both("cheapest", "replay", "measured.yaml", *ANYWHERE, *QUICK, "--budget-usd", "0.2", varying=CHOSEN),
)


# -- spot machines and the catalogue

TRAIN = """
import json, pathlib, signal, sys, time
floor, file, stop = float(sys.argv[1]), pathlib.Path(sys.argv[2]) / "step", []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
step = int(file.read_text()) if file.exists() else 0
fresh = step == 0
while step < 10 and not stop:
    time.sleep(0.02); step += 1
    file.write_text(str(step))
    print(json.dumps({"step": step, "loss": floor + 1 / step}), flush=True)
    while fresh and step == 7 and not stop: time.sleep(0.01)  # until it is judged
"""
SPOT_JOB = {
    "name": "floors",
    "train": [sys.executable, "-I", "-S", "-u", "train.py", "{floor}", "{checkpoint_dir}"],
    "minimize": "loss",
    "space": {
        "floor": [0.1, 0.2, 0.3],
        "cluster": {"machines": {"tiny": {"vcpus": 0.5, "memory": "200 MB", "usd_per_hour": 3.6}}},
    },
    "budget": {"trials": 3},
    "steps": 10,
    "run": {"spot": True, "grace": "5 s", "market": {"regime": "smooth", "speed": 120}},
}


def _spot_job(folder: Path) -> None:
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    (folder / "job.yaml").write_text(json.dumps(SPOT_JOB), encoding="utf-8")


SIMULATION_SETTINGS = {
    "short": "hours: 1\ndays: 3\n",
    "half": "hours: 1\ntheta: 0.5\nmcnt: 2\n",
    "wrong": "hours: 1\nteta: 0.5\n",
}


def _prices(folder: Path) -> None:
    """Two markets, hour by hour for 20 days: one steady, one that is dear every seventh hour; and settings."""
    for name, settings in SIMULATION_SETTINGS.items():
        (folder / f"{name}.yaml").write_text(settings, encoding="utf-8")
    with (folder / "history.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["timestamp", "instance_type", "availability_zone", "product", "price"])
        for hour in range(480):
            stamp = f"2026-03-{1 + hour // 24:02d}T{hour % 24:02d}:00:00Z"
            rows.writerow([stamp, "m5.large", "us-east-1a", "Linux/UNIX", 0.03 + 0.01 * (hour % 5 == 0)])
            rows.writerow([stamp, "r5.large", "us-east-1a", "Linux/UNIX", 0.2 if hour % 7 == 0 else 0.04])


def _machines(folder: Path) -> None:
    header = "instance_type,vcpus,memory_gib,accelerator,accelerators,usd_per_hour,spot_usd_per_hour,availability_zone"
    rows = (
        "m5.large,2,8,,,0.2,0.05,us-east-1a",
        "own.gpu,8,64,A100,2,3.5,,us-east-1a",
        "half.gpu,8,64,A100,0.5,3.5,,a",
    )
    (folder / "machines.csv").write_text("\n".join((header, *rows, "")), encoding="utf-8")


RENTED = Varying(
    keys=frozenset({"usd", "refund_usd", "max_price", "launched", "selected_seconds", "finished_seconds"}),
    words=(TIME, USD),
    lines=r"trial \d+ reports after",  # of which some are shown, by time
)
TRAINED = Varying(keys=frozenset({"seconds"}), words=((r"(?<=\.\d{4}) +\d+$", " <seconds>"),))
SIMULATED = ("--workload", "LoR", "--types", "r4.large,m4.2xlarge", "--settings", "short.yaml")
FROM_FILE = ("--workload", "SVM", "--types", "m5.large,r5.large", "--prices", "history.csv")
POLICIES = "ours,paper,random,oracle,on-demand,single-cheapest,single-fastest"
SPOT_RUN = (
    Step("run", ("spot", "run", "job.yaml", "--mcnt", "1"), RENTED),
    Step("run-json", ("spot", "run", "job.yaml", "--mcnt", "1", "--json"), RENTED),
)
SLOW = Varying(lines=r"simulating: ")  # what is told of work that takes longer than a moment
SPOT = (
    *_both("prices", "spot", "prices", "history.csv"),
    *_both("prices-of-a-type", "spot", "prices", "--types", "m5.large"),
    *_both("simulate", "spot", "simulate", *SIMULATED, "--policy", POLICIES, "--no-html", varying=SLOW),
    *_both("simulate-file", "spot", "simulate", *FROM_FILE, "--settings", "half.yaml", "--no-html", varying=SLOW),
    *_both("simulate-wrong-settings", "spot", "simulate", "--settings", "wrong.yaml"),
    Step("simulate-page", ("spot", "simulate", *SIMULATED, "--regime", "smooth"), SLOW, page="leantune-spot.html"),
    *_both(
        "train",
        *("spot", "train", "--prices", "history.csv", "--predictors", "hazard,logistic", "--tries", "1"),
        *("--processes", "1", "--questions", "600", "--out", "trained"),
        varying=TRAINED,
    ),
)
TODAY = Varying(keys=frozenset({"date"}), words=(DATE,))
CATALOG = (
    *_both("show", "catalog", "show", "--types", "m5.*,p4d.24xlarge"),
    *_both("refresh", "catalog", "refresh", "--csv", "machines.csv", varying=TODAY),
    *_both("show-refreshed", "catalog", "show", varying=TODAY),
    Step("undo-json", ("catalog", "refresh", "--undo", "--json")),
)

DOCTOR = (
    Step(
        "doctor-json",
        ("doctor", "--json"),
        Varying(keys=frozenset({"leantune", "detail", "version", "status", "hint"})),
    ),
)
COMMANDS = (
    "", "run", "status", "recommend", "verify", "extend", "retry", "report", "clean", "worker", "logs", "replay",
    "doctor", "schema", "spot", "spot prices", "spot train", "spot simulate", "spot run", "catalog", "catalog show",
    "catalog refresh",
)  # fmt: skip
HELP = (
    Step("version", ("--version",)),
    *(Step("-".join(["help", *name.split()]), (*name.split(), "--help")) for name in COMMANDS),
)


def _nothing(folder: Path) -> None:
    del folder


SCENARIOS = {
    "study": Scenario(_tiny_study, STUDY),
    "priced-study": Scenario(_priced_study, PRICED_STUDY),
    "modelled-study": Scenario(_modelled_study, MODELLED_STUDY),
    "rented-study": Scenario(_rented_study, RENTED_STUDY),
    "failing-study": Scenario(_failing_study, FAILING_STUDY),
    "errors": Scenario(_wrong_jobs, ERRORS),
    "replay": Scenario(write_table, REPLAY),
    "spot": Scenario(_prices, SPOT),
    "spot-run": Scenario(_spot_job, SPOT_RUN, slow=True),
    "catalog": Scenario(_machines, CATALOG),
    "doctor": Scenario(_nothing, DOCTOR),
    "schema": Scenario(_nothing, (Step("schema", ("schema",)),)),
    "help": Scenario(_nothing, HELP),
}
