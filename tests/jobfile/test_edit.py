"""Raising the budget in place."""

import stat
from pathlib import Path

import pytest

from leantune.errors import InvalidInput, JobError
from leantune.jobfile import load_job, parse_job
from leantune.jobfile.edit import SpotTuneOptions, as_spottune, with_budget
from leantune.problem import Budget
from tests.jobfile.texts import PRODUCT, text


def edited(
    path: Path, whole: str, usd: float | None = None, trials: int | None = None, hours: float | None = None
) -> str:
    path.write_bytes(whole.encode())
    with_budget(path, Budget(usd, trials, hours))
    return path.read_bytes().decode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "job.yaml"


def test_only_the_numbers_change(path: Path) -> None:
    assert edited(path, PRODUCT, usd=7.5, trials=60) == PRODUCT.replace("usd: 5, trials: 44", "usd: 7.5, trials: 60")
    assert load_job(path).problem.budget == Budget(7.5, 60, 8.0)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        ("budget: {trials: 9}  # keep", "budget: {trials: 20, hours: 2}  # keep"),
        ("budget: { trials: 9 , }", "budget: { trials: 20, hours: 2 , }"),
        ("budget:\n  trials: 9  # nine\n# after", "budget:\n  trials: 20  # nine\n  hours: 2\n# after"),
        ("budget:\n    trials:   9", "budget:\n    trials:   20\n    hours: 2"),
        ("budget:\n  trials: 9\n  hours: '1.5 '", None),
        ("budget: {\n  trials: 9,\n  hours: 1 }", "budget: {\n  trials: 20,\n  hours: 2 }"),
    ],
)
def test_new_limits_are_added_in_the_style_of_the_file(path: Path, budget: str, expected: str | None) -> None:
    if expected is None:  # the file itself is wrong
        with pytest.raises(JobError, match=r"budget\.hours"):
            edited(path, text(budget=budget), trials=20, hours=2)
    else:
        assert edited(path, text(budget=budget), trials=20, hours=2) == text(budget=expected)


def test_a_file_with_a_mark_and_other_line_ends(path: Path) -> None:
    whole = "\ufeff" + text(budget="budget:\n  trials: 9 # é\nseed: 1").replace("\n", "\r\n")
    expected = whole.replace("trials: 9 # é\r\n", "trials: 10 # é\r\n  hours: 0.5\r\n")
    assert edited(path, whole, trials=10, hours=0.5) == expected


def test_a_file_without_a_last_line_end(path: Path) -> None:
    whole = text(budget="budget:\n  trials: 9").rstrip("\n")
    assert edited(path, whole, hours=1) == whole + "\n  hours: 1"


def test_lowering_is_refused_and_nothing_is_written(path: Path) -> None:
    for wanted in ({"usd": 4.0}, {"usd": 9.0, "trials": 3}):
        with pytest.raises(JobError, match=r"(usd is 5 and would be lowered to 4|trials is 44 .* to 3)"):
            edited(path, PRODUCT, **wanted)  # type: ignore[arg-type]
        assert path.read_text() == PRODUCT


@pytest.mark.parametrize("usd", [float("nan"), float("inf")])
def test_what_is_no_budget_is_refused(path: Path, usd: float) -> None:
    with pytest.raises(InvalidInput):
        edited(path, PRODUCT, usd=usd)
    assert path.read_text() == PRODUCT


def test_the_same_or_nothing_leaves_the_file_as_it_is(path: Path) -> None:
    assert edited(path, PRODUCT) == PRODUCT
    assert edited(path, PRODUCT, usd=5) == PRODUCT


def test_permissions_and_links_stay(path: Path, tmp_path: Path) -> None:
    path.write_text(PRODUCT)
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to("job.yaml")
    with_budget(link, Budget(usd=6))
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert load_job(path).problem.budget.usd == 6
    assert sorted(one.name for one in tmp_path.iterdir()) == ["job.yaml", "link.yaml"]


def test_a_file_that_cannot_be_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(PRODUCT)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(JobError, match="cannot be written: No space left on device"):
        with_budget(path, Budget(usd=6))
    assert [one.read_text() for one in path.parent.iterdir()] == [PRODUCT]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="there is no such job file"):
        with_budget(tmp_path / "none.yaml", Budget(usd=6))


def test_the_short_form_of_spottune_leaves_the_machine_out_of_the_present_setting() -> None:
    """The machine is free there."""
    space = "space: {lr: [0.1, 0.2], cluster: {machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}}}"
    whole = text(space=space, baseline="baseline: {lr: 0.1, cluster: 1 x small}", steps="steps: 9")
    made = as_spottune(whole, SpotTuneOptions(), "job.yaml")
    job = parse_job(made, folder=Path("/project"))
    assert job.problem.baseline is not None and dict(job.problem.baseline) == {"lr": 0.1}
