"""The tables of the page."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from leantune.history import History, TrialState
from leantune.report import tables
from leantune.report.data import StudyView
from leantune.store.rows import Money
from leantune.strategies.proposals import Recommendation
from leantune.text import NBSP, exact_text, usd
from tests.report.studies import EDGES, START, anywhere, long_view, real_view


def rows(html: str) -> list[list[str]]:
    """Texts of the cells, row by row; end tags may be left out."""
    body = html.split("<tbody>")[1].split("</tbody>", maxsplit=1)[0]
    cells = [re.split(r"<td[^>]*>", row)[1:] for row in re.split(r"<tr[^>]*>", body)[1:]]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)).replace(NBSP, " ") for cell in row] for row in cells]


def headings(html: str) -> list[str]:
    return [unescape(re.sub(r"<[^>]*>", "", text)) for text in re.findall(r"<th [^>]*>(.*?)</th>", html)]


def best_of(view: StudyView) -> Recommendation:
    assert view.recommendation is not None
    return view.recommendation


def certainty(view: StudyView) -> str:
    return tables.certainty(view, best_of(view))


def test_the_recommended_values_can_be_copied() -> None:
    best = best_of(real_view())
    shown = {row[0]: row[1] for row in rows(tables.settings(real_view(), best))}
    for name, value in best.configuration.items():
        assert shown[name].startswith(exact_text(value))
    assert "vCPUs" in shown["cluster"]
    part = {row[0]: row[1] for row in rows(tables.settings(anywhere(), best_of(anywhere())))}
    assert part["share of the data"] == "1/60"


def test_certainty_has_prediction_measurement_limit_and_verdict() -> None:
    html = certainty(real_view())
    assert headings(html) == ["", "predicted (± 1 sd)", "measured", "limit", "probability", "verdict"]
    by_metric = {row[0]: row for row in rows(html)}
    assert set(by_metric) == {"accuracy", "cost", "time"}
    assert by_metric["time"][3] == "time ≤ 10 min"
    assert by_metric["time"][4].endswith("(asked: 95 %)")
    assert by_metric["cost"][5] in ("kept", "broken")
    unmeasured = certainty(real_view(verified=False))
    assert "measured" not in headings(unmeasured)
    assert {row[-1] for row in rows(unmeasured)[1:]} == {"not measured"}
    assert headings(certainty(EDGES["minimised"]())) == ["", "measured"]


def test_shares_add_up() -> None:
    view = long_view(120)
    shown = rows(tables.shares(view))
    assert sum(int(row[1]) for row in shown) == 120
    dollars = sum(float(row[3].removeprefix("$")) for row in shown)
    assert dollars == pytest.approx(view.history.cost, rel=0.02)  # of rounded numbers
    assert sum(int(row[2].replace("–", "0")) for row in shown) == sum(t.state == "failed" for t in view.history.trials)


def test_money_has_what_was_wasted_reserved_and_left() -> None:
    view = replace(real_view(), money=Money(4.0, 0.5, 0.25))
    shown = {row[0]: row[1] for row in rows(tables.spent_on(view))}
    assert shown["Left of the budget"] == "$3.25"
    assert shown["Set aside for what runs now"] == "$0.25"
    assert shown["Together"] == usd(view.history.cost)
    assert "Attempts that were lost or revoked" in shown


def test_every_trial_is_a_row_with_its_state_cause_and_note() -> None:
    view = long_view(120)
    html = tables.trials(view)
    names = headings(html)
    shown = rows(html)
    assert len(shown) == 120
    assert names[:3] == ["#", "state", "data"]
    assert all(len(row) == len(names) for row in shown)
    failed = next(trial for trial in view.history.trials if trial.state is TrialState.FAILED)
    row = dict(zip(names, shown[failed.number], strict=True))
    assert row["state"] == "failed"
    assert row["accuracy"] == "–"
    assert row["what happened"] == failed.moves[-1].cause
    assert row["why it was proposed"] == "; ".join(map(str, failed.notes))
    assert row["cluster"].startswith(str(failed.configuration["cluster"]).split()[0])
    assert view.recommendation is not None
    best = view.recommendation.configuration.id
    assert html.count("★") == sum(trial.configuration.id == best for trial in view.history.trials) >= 1


def test_lost_attempts_are_told_and_bounds_are_marked() -> None:
    view = real_view()
    lost = next(t for t in view.history.trials if any(move.state is TrialState.LOST for move in t.moves))
    names, shown = headings(tables.trials(view)), rows(tables.trials(view))
    row = dict(zip(names, shown[lost.number], strict=True))
    assert row["what happened"] == "lost: the worker host-1 vanished"
    assert row["cost"] == usd(lost.cost)
    cut = next(result.trial for result in anywhere().results if result.is_bound)
    assert rows(tables.trials(anywhere()))[cut.number][5].startswith("≥ ")


def test_rows_after_the_first_hundreds_are_hidden_until_asked_for() -> None:
    html = tables.trials(long_view(320))
    assert html.count("<tr hidden>") == 320 - tables.MOST_ROWS


def test_long_causes_are_cut() -> None:
    view = EDGES["all failed"]()
    history, trial = History().propose(view.history.trials[0].configuration, view.problem.fractions[-1], time=START)
    seen = replace(view.history.trials[0].observations[0])
    history = history.record(trial.number, [seen], time=START, state=TrialState.FAILED, cause="x" * 100_000)
    assert len(tables.trials(replace(view, history=history))) < 3000
