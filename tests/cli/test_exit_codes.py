"""Every error of the house has its exit code, and every help page speaks of the same codes."""

import pytest

from leantune import errors
from leantune.cli.exit_codes import MEANINGS, ExitCode, exit_code_of, explained


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.JobError("x"), 2),
        (errors.SpaceError("x"), 2),
        (errors.InvalidInput("x"), 2),
        (errors.StudyChanged("x"), 2),
        (errors.StudyOver("x"), 3),
        (errors.StoreError("x"), 4),
        (errors.UnknownStudy("x"), 4),
        (errors.IncompatibleStore("x"), 4),
        (errors.CheckpointError("x"), 4),
        (errors.MissingExtra("x"), 4),
        (errors.LaunchRefused("x"), 1),
        (errors.MachineGone("x"), 1),
        (errors.IllegalMove("x"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_code_of_each_error(error: errors.LeanTuneError, code: int) -> None:
    assert exit_code_of(error) == code


def test_every_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 4, 130]


def test_a_command_may_say_in_its_own_words_what_a_code_means() -> None:
    page = explained(ExitCode.BAD_NEWS, ExitCode.WELL, bad_news="a limit broke")
    assert page.splitlines() == ["\b", "Exit codes:", "  0    all is well", "  1    a limit broke"]
