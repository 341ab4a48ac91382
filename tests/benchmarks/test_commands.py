"""The bench of commands about long studies runs in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.commands import filled, measured


@pytest.mark.slow
def test_a_command_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    job = filled(tmp_path, "random", 12)
    result = measured(job, "random", 12, "status")
    assert (result.command, result.trials, result.code) == ("status", 12, 0)
    assert 0.0 < result.seconds < 60.0
    assert 50.0 < result.peak_mb < 2000.0
