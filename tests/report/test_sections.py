"""What is on the page, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leantune.problem import Budget
from leantune.report.data import StudyView
from leantune.report.sections import Section, sections_of
from tests.report.studies import EDGES, long_view, real_view


def anchors(view: StudyView) -> list[str]:
    return [section.anchor for section in sections_of(view)]


def section(view: StudyView, anchor: str) -> Section:
    return next(section for section in sections_of(view) if section.anchor == anchor)


def test_a_study_with_everything_has_every_section_in_order() -> None:
    assert anchors(real_view()) == [
        "recommendation", "progress", "limits", "shares", "predictions", "parameters", "curves", "money", "trials",
        "making",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("nothing", {"recommendation", "progress", "limits", "shares", "predictions", "parameters", "money", "trials"}),
        ("only pending", {"recommendation", "progress", "parameters", "money"}),
        ("all failed", {"recommendation", "progress", "limits", "shares", "money"}),
        ("without prices", {"money", "predictions"}),
        ("minimised", {"limits", "shares", "money"}),
        ("anywhere", {"predictions", "curves"}),
    ],
)
def test_sections_without_content_are_left_out(name: str, missing: set[str]) -> None:
    present = set(anchors(EDGES[name]()))
    assert present & missing == set()
    assert "making" in present


def test_how_it_was_made_counts_fallbacks_and_caps() -> None:
    html = section(long_view(120), "making").html
    assert "fallback: none of 1881 pairs promises anything; the largest expected accuracy" in html
    assert "cap: the optimum is sought among 500 of 2000 configurations" in html
    assert "the models (108), the strategy&#x27;s start (9) and a fallback (3)" in html
    assert "trimtuner-gp, seed 3" in html
    assert "No fallback was needed" in section(EDGES["minimised"](), "making").html


def test_the_problem_is_written_out() -> None:
    view = real_view()
    view = replace(view, problem=view.problem.with_budget(Budget(usd=4.0, hours=2.0)), stop_reason=None)
    html = section(view, "making").html.replace("\u00a0", " ")
    for text in ("maximize accuracy", "cost ≤ $0.10 and time ≤ 10 min @ 0.95", "$4.00 and 2 h of training"):
        assert text in html
    assert "it can go on" in html


def test_states_of_all_trials_are_counted() -> None:
    assert section(EDGES["only pending"](), "trials").intro.startswith("1 trial: 1 queued.")
