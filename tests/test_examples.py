"""The numbered examples run, each in a copy of its own, and print what they could not print if they did not work."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
NUMBERED = sorted(path for path in EXAMPLES.iterdir() if re.match(r"\d", path.name))
LEFTOVERS = shutil.ignore_patterns("data", "*.db*", "leantune-runs", "leantune-replay", "checkpoints", "__pycache__")
ENOUGH_TRIALS_FOR_A_TEST = 5  # of the demo's 20: its start of 4, and one that the models propose


def run(command: list[str], folder: Path) -> str:
    """What a command prints, as a user would run it; `python` and `leantune` are those of the tests."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    finished = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | one_thread | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def run_program(name: str, folder: Path) -> str:
    """What a Python example prints; it warns of nothing and leaves nothing behind."""
    shutil.copy(EXAMPLES / name, folder)
    shown = run([sys.executable, "-W", "error", name], folder)
    assert [path.name for path in folder.iterdir()] == [name]
    return shown


def copied(name: str, folder: Path) -> Path:
    """An example that is a folder, as in a fresh clone."""
    return shutil.copytree(EXAMPLES / name, folder / name, ignore=LEFTOVERS)


def leantune(command: str, folder: Path) -> str:
    return run([sys.executable, "-m", "leantune", *command.split()], folder)


def number_after(words: str, shown: str) -> float:
    """The number that follows the last occurrence of some words."""
    found = re.findall(rf"{words}\s*\$?(-?[\d.]+(?:e[+-]?\d+)?)", shown)
    assert found, f"{words!r} is not in:\n{shown}"
    return float(found[-1])


def python_function(folder: Path) -> None:
    shown = run_program("01_python_function.py", folder)
    accuracies = [float(text) for text in re.findall(r"^trial \d: accuracy ([\d.]+) in", shown, re.MULTILINE)]
    assert len(accuracies) == 8
    assert max(accuracies) > 0.85  # on parts of the images; ten digits: guessing gives 0.1
    assert re.search(r"^use lr [\d.e-]+, hidden \d+, l2 [\d.e-]+$", shown, re.MULTILINE)
    assert number_after("expect accuracy", shown) > 0.85
    assert "time <= 5 s holds with a probability of" in shown


def job_file(folder: Path) -> None:
    job = copied("02_job_file", folder)
    text, count = re.subn(r"trials: \d+", f"trials: {ENOUGH_TRIALS_FOR_A_TEST}", (job / "job.yaml").read_text("utf-8"))
    assert count == 1
    (job / "job.yaml").write_text(text, encoding="utf-8")
    run([sys.executable, "images.py", "data"], job)
    shown = leantune("run job.yaml --plain", job)
    assert f"all {ENOUGH_TRIALS_FOR_A_TEST} trials of the budget are used" in shown
    assert number_after("best so far: accuracy", shown) > 0.5  # ten kinds of images: guessing gives 0.1
    assert 0 < number_after("spent", shown) < 0.6
    assert re.search(r"^  cluster +1 × (quarter|half|one)-core$", shown, re.MULTILINE)


def ask_and_tell(folder: Path) -> None:
    shown = run_program("03_ask_and_tell.py", folder)
    assert len(re.findall(r"^trial \d+, lr", shown, re.MULTILINE)) == 12
    assert "diverged: the error is" in shown
    assert "the study is over: all 12 trials of the budget are used" in shown
    assert number_after("expect an error of", shown) < 65  # guessing the mean gives 70


def any_language(folder: Path) -> None:
    """Also that the commands of example 07 do with a job file what it does in Python."""
    job = copied("04_any_language", folder)
    docstring = (EXAMPLES / "07_resume_and_extend.py").read_text(encoding="utf-8").split('"""')[1]
    start, again, extend, at_last = re.findall(r"^    leantune ([^#\n]+)", docstring, re.MULTILINE)
    shown = leantune(f"{start} --plain", job)
    assert "all 8 trials of the budget are used" in shown
    assert number_after(r"\n  loss", shown.rpartition("on all data:")[2]) < 0.5  # guessing gives log 3 = 1.1
    assert "going on after trials: 8 of 8" in leantune(f"{again} --plain", job)
    leantune(extend, job)
    assert "all 9 trials of the budget are used" in leantune(f"{at_last} --plain", job)
    logs = sorted((job / "leantune-runs").rglob("*.log"))
    assert len(logs) == 9
    assert all(re.search(r"^loss=[\d.]+ accuracy=[\d.]+$", log.read_text("utf-8"), re.MULTILINE) for log in logs)


def several_constraints(folder: Path) -> None:
    shown = run_program("05_several_constraints.py", folder)
    sure = dict(re.findall(r"^(.+) holds with a probability of ([\d.]+)%$", shown, re.MULTILINE))
    assert list(sure) == ["cost <= 0.01 USD", "time <= 2 s", "model_kb <= 2000 @ 0.95"]
    assert number_after("expect accuracy", shown) > 0.8
    assert float(sure["model_kb <= 2000 @ 0.95"]) >= 95
    assert number_after("expect model_kb", shown) < 2000
    assert "all as certain as asked" in shown.splitlines()


def cheapest_anywhere(folder: Path) -> None:
    shown = run_program("06_cheapest_anywhere.py", folder)
    trials = re.findall(r"^trial \d+: accuracy ([\d.]+) for \$([\d.]+) with (\S+) of", shown, re.MULTILINE)
    good_enough = [(float(cost), share) for accuracy, cost, share in trials if float(accuracy) >= 0.95]
    cheapest, _ = min(good_enough)
    assert f"for ${cheapest:.5f}\n" in shown.partition("it gave")[2]
    assert len({share for _, _, share in trials}) == 4
    assert "that meet the limits" in shown


def resume_and_extend(folder: Path) -> None:
    shown = run_program("07_resume_and_extend.py", folder)
    first, second, third = re.split(r"^(?:second|third) run", shown, flags=re.MULTILINE)
    assert "trial 3: the lights go out" in first
    assert [re.findall(r"trial (\d): accuracy", part) for part in (first, second, third)] == [
        ["0", "1", "2"],
        ["3", "4", "5"],
        ["6", "7", "8"],
    ]
    assert "after 3 trials" in second
    assert "all 6 trials of the budget are used" in second
    assert "after 6 trials" in third
    assert "all 9 trials of the budget are used" in third


def replay_a_table(folder: Path) -> None:
    """The commands of its first lines; and that measure.py makes what the description reads."""
    table = copied("08_replay_a_table", folder)
    comment = (table / "digits.yaml").read_text("utf-8")
    facts, comparison = re.findall(r"^#     leantune ([^#\n]+)", comment, re.MULTILINE)
    assert "configurations          45" in leantune(facts, table)
    shown = leantune(comparison, table)
    assert re.findall(r"^(\S+): 4 seeds, (\d+) tests each", shown, re.MULTILINE) == [
        ("lean", "15"),
        ("random", "16"),
    ]
    assert len(re.findall(r"% of the best +4 of 4 seeds; median \$", shown)) >= 2
    assert len(list((table / "leantune-replay").glob("*.json"))) == 8
    assert leantune(comparison, table) == shown
    header = re.search(r'print\("(lr,.*)"\)', (table / "measure.py").read_text("utf-8"))
    assert header is not None
    assert (table / "digits.csv").read_text("utf-8").startswith(f"{header[1]}\n")


def spot_machines(folder: Path) -> None:
    """The commands of its first lines."""
    job = copied("09_spot_machines", folder)
    run_it, spot, status = re.findall(
        r"^#     leantune ([^#\n]+?) +#", (job / "job.yaml").read_text("utf-8"), re.MULTILINE
    )
    shown = leantune(f"{run_it} --plain", job)
    assert "all 8 trials of the budget are used" in shown
    assert number_after("best so far: loss", shown) < 0.5  # guessing gives log 3 = 1.1
    assert 0 < number_after("spent", shown) < 1.0
    tuned = leantune(f"{spot} --plain", job)
    assert re.search(r"^  1  rate=1 decay=0 +0\.0\d+ +20 +finished$", tuned, re.MULTILINE)
    assert len(re.findall(r"not selected$", tuned, re.MULTILINE)) == 5
    assert "Study flowers-spot: over" in leantune(status, job)


def epochs(folder: Path) -> None:
    job = copied("10_epochs", folder)
    shown = leantune("run job.yaml --plain", job)
    assert "trial 2 started: no time limit, goes on from trial 1" in shown
    begun = {path.parent.name: path.read_text("utf-8").split("\n")[0] for path in job.rglob("attempt-1.log")}
    assert [begun[f"trial-{number:04d}"] for number in (0, 1, 2)] == [
        "epochs 1 to 40",
        "epochs 1 to 5",
        "epochs 6 to 20",
    ]
    assert re.search(r"^Compared: Better than your setting by 0\.\d+, ", shown, re.MULTILINE)
    assert number_after("best so far: accuracy", shown) > 0.9
    assert len(list((job / "leantune-runs").rglob("network.npz"))) == 1, "the best is kept"


Check = Callable[[Path], None]
SLOW: tuple[Check, ...] = (
    python_function,
    job_file,
    any_language,
    several_constraints,
    cheapest_anywhere,
    replay_a_table,
    spot_machines,
    epochs,
)
QUICK: tuple[Check, ...] = (ask_and_tell, resume_and_extend)
CHECKS = [*(pytest.param(check, marks=pytest.mark.slow, id=check.__name__) for check in SLOW), *QUICK]


@pytest.mark.parametrize("check", CHECKS)
def test_it_runs(check: Check, tmp_path: Path) -> None:
    check(tmp_path)


def test_examples_are_numbered_from_one_and_each_is_run() -> None:
    names = [f"{number:02d}_{path.stem[3:]}" for number, path in enumerate(NUMBERED, start=1)]
    assert [path.stem for path in NUMBERED] == names
    assert sorted(check.__name__ for check in SLOW + QUICK) == sorted(name[3:] for name in names)


@pytest.mark.parametrize("example", NUMBERED, ids=lambda path: path.name)
def test_it_begins_by_saying_how_to_run_it(example: Path) -> None:
    file, command = example, f"python {example.name}"
    if example.is_dir():
        (file,) = example.glob("*.yaml")
        command = "leantune run job.yaml" if file.name == "job.yaml" else f"leantune replay {file.name}"
    comment = re.match(r'"""(.*?)"""|(?:#.*\n)+', file.read_text(encoding="utf-8"), re.DOTALL)
    assert comment is not None
    assert command in comment[0]


def test_the_index_names_every_example() -> None:
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"^\| \[(\S+)\]\((\S+)\)", index, re.MULTILINE)
    assert [name for name, _ in links] == [path.name for path in NUMBERED]
    assert all((EXAMPLES / link).is_file() for _, link in links)
