"""Which tests skipped and why, at the end of every run; a reason that tests/skips.toml does not list can fail the run.

pytest --strict-skips                    fail on a skip for another reason than those listed
pytest --strict-skips --expect data      what these tests need is here: `data` is not listed either
pytest --skipped-to FOLDER               write the tests that skipped to FOLDER/<name in the list>.txt, so that
pytest @FOLDER/data.txt                  runs them again
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("skips.toml")
UNLISTED = "unlisted"


@dataclass(frozen=True)
class Skip:
    """A test (or a module, skipped as a whole) and the reason it gave."""

    test: str
    reason: str


def listed() -> dict[str, re.Pattern[str]]:
    """The reasons of the list by name."""
    return {name: re.compile(entry["reason"]) for name, entry in tomllib.loads(LIST.read_text("utf-8")).items()}


def by_name(skips: Iterable[Skip], reasons: Mapping[str, re.Pattern[str]]) -> dict[str, list[Skip]]:
    """Skips under the name of the reason that they match, or UNLISTED."""
    found = defaultdict(list)
    for skip in skips:
        names = (name for name, reason in reasons.items() if reason.fullmatch(skip.reason))
        found[next(names, UNLISTED)].append(skip)
    return dict(found)


def lines(named: Mapping[str, list[Skip]]) -> list[str]:
    """A line for each name, with how often and for which reasons; one for each reason that is not listed."""
    shown = []
    for name, skips in sorted(named.items(), key=lambda item: (item[0] == UNLISTED, -len(item[1]), item[0])):
        reasons = Counter(skip.reason for skip in skips)
        if name == UNLISTED:
            shown += [f"{count:5} skipped, {UNLISTED}: {reason}" for reason, count in reasons.most_common()]
        else:
            more = f", and {len(reasons) - 1} like it" if len(reasons) > 1 else ""
            shown.append(f"{len(skips):5} skipped, {name}: {reasons.most_common(1)[0][0]}{more}")
    return shown


def reported(config: pytest.Config) -> list[Skip]:
    """What the reports of a run say, those of other processes included; an expected failure is no skip."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skips = []
    for report in reporter.stats.get("skipped", []) if reporter else []:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        skips.append(Skip(report.nodeid, reason.removeprefix("Skipped: ")))
    return skips


def allowed(config: pytest.Config) -> dict[str, re.Pattern[str]]:
    """The reasons of the list but for those that are not expected now."""
    return {name: reason for name, reason in listed().items() if name not in config.getoption("--expect")}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("skips", "which tests may skip (tests/skips.toml)")
    group.addoption("--strict-skips", action="store_true", help="fail on a skip for a reason that is not listed")
    group.addoption("--expect", action="append", default=[], choices=list(listed()), help="take this off the list")
    group.addoption("--skipped-to", type=Path, metavar="FOLDER", help="write the tests that skipped, a file for a name")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that passed with a skip for another reason, and note what skipped."""
    config = session.config
    if hasattr(config, "workerinput"):  # a process of xdist: the first process sees all reports
        return
    named = by_name(reported(config), allowed(config))
    if UNLISTED in named and config.getoption("--strict-skips") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    folder: Path | None = config.getoption("--skipped-to")
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for name, skips in named.items():
            tests = "".join(f"{skip.test}\n" for skip in skips)
            (folder / f"{name}.txt").write_text(tests, encoding="utf-8")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Skips by reason, above pytest's closing line."""
    named = by_name(reported(config), allowed(config))
    if not named:
        return
    terminalreporter.section("skips by reason (tests/skips.toml)")
    for line in lines(named):
        terminalreporter.line(line)
    if UNLISTED in named and config.getoption("--strict-skips"):
        terminalreporter.line("A skip that is not listed fails this run: make the test run, or list why it may skip.")
