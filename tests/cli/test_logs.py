"""The log of our own: what a worker decides, in a file that was asked for; what all did, from the store."""

from __future__ import annotations

import logging
import re
import stat
from pathlib import Path

import pytest

from leantune.cli.logs import logging_to
from leantune.run.logs import LOGGER
from tests.cli.tiny import PRICED, invoke, make_job, told

SECRET = "s3cr3t"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z worker (\S+) trial (\d+|-) attempt (\d+|-): (.+)")
LEAKY = f'test "$1" = 0.3 && {{ echo "token {SECRET}" >&2; exit 3; }}\necho "accuracy=$1 key={SECRET}"\n'


def lines_of(text: str) -> list[tuple[str, ...]]:
    matches = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(matches), text
    return [match.groups() for match in matches if match]


def test_what_a_worker_decides_is_appended(tmp_path: Path) -> None:
    job, log = make_job(tmp_path, LEAKY, budget={"trials": 8}), tmp_path / "worker.log"
    assert invoke("run", job, "--log-file", log).exit_code == 0
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    text = log.read_text(encoding="utf-8")
    lines = lines_of(text)
    assert len({worker for worker, *_ in lines}) == 1
    for trial in range(8):
        proposed, started, ended = ((attempt, words) for _, number, attempt, words in lines if number == str(trial))
        assert (proposed[0], started[0], ended[0]) == ("0", "1", "1")
        assert proposed[1].startswith("proposed in ")
        assert started[1].startswith("started, time limit 60.000 s")
        assert ended[1].startswith(("done; ", "failed; "))
    assert sum("failed; " in words for *_, words in lines) == 1
    assert lines[-1][1:] == ("-", "-", lines[-1][3])
    assert lines[-1][3].startswith("ended, over: ")
    assert SECRET not in text
    assert invoke("verify", job, "--log-file", log).exit_code == 0
    assert log.read_text(encoding="utf-8").startswith(text)
    assert len(lines_of(log.read_text(encoding="utf-8"))) > len(lines)


def test_it_is_off_unless_asked_for(tmp_path: Path) -> None:
    assert invoke("run", make_job(tmp_path)).exit_code == 0
    assert LOGGER.handlers == []
    assert not LOGGER.isEnabledFor(logging.INFO)


def test_python_programs_ask_for_it_as_for_every_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "leantune"):
        assert invoke("run", make_job(tmp_path, **PRICED)).exit_code == 0
    started = [record for record in caplog.records if record.getMessage().startswith("started")]
    assert [(record.trial, record.attempt) for record in started] == [("0", "1"), ("1", "1")]  # type: ignore[attr-defined]
    assert "set aside" in started[0].getMessage()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    refused = invoke("run", make_job(tmp_path), "--log-file", tmp_path)
    assert refused.exit_code == 2
    assert "the log file cannot be written: Is a directory" in refused.stderr
    assert not (tmp_path / "leantune.db").exists()


def test_a_full_disk_ends_the_log_and_not_the_study(tmp_path: Path) -> None:
    result = invoke("run", make_job(tmp_path), "--log-file", "/dev/full")
    assert result.exit_code == 0
    assert result.stderr.count("the log file ends here: No space left on device") == 1


def test_no_password_and_no_second_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with logging_to(log):
        LOGGER.info("two\nlines \x1b[31m")
    assert [words for *_, words in lines_of(log.read_text(encoding="utf-8"))] == [
        "two lines \N{REPLACEMENT CHARACTER}[31m"
    ]


def test_what_workers_did_from_the_store(tmp_path: Path) -> None:
    job = make_job(tmp_path, LEAKY, budget={"trials": 8})
    assert invoke("run", job).exit_code == 0
    document = told("logs", job, "--worker")
    decisions = document["decisions"]
    assert [one["time"] for one in decisions] == sorted(one["time"] for one in decisions)
    for trial in range(8):
        *waiting, running, ended = (one for one in decisions if one["trial"] == trial)
        assert {one["worker"] for one in waiting} == {""}
        assert running["worker"] == ended["worker"] != ""
        assert (running["decision"], running["attempt"], ended["attempt"]) == ("running", 1, 1)
    assert sum(one["decision"] == "failed" for one in decisions) == 1
    shown = invoke("logs", job, "--worker").stdout
    assert len(lines_of(shown)) == len(decisions)
    assert SECRET not in shown


def test_where_the_programs_output_is(finished: Path) -> None:
    logs = told("logs", finished)["logs"]
    assert len(logs) == 4
    assert "accuracy=" in Path(logs[0]).read_text(encoding="utf-8")
    assert invoke("logs", finished).stdout.splitlines() == logs
