"""Every claim of the issue is there, with or without runs."""

from benchmarks.papers.claims import claims, counted
from benchmarks.papers.results import Results
from benchmarks.papers.verdicts import Verdict
from tests.benchmarks.papers.made import inventory, results


def test_every_claim_has_its_place_and_numbers() -> None:
    found = claims(results(), inventory())
    assert len(found) == 31
    for claim in found:
        assert claim.where.startswith(("TrimTuner, ", "Thesis, "))
        assert claim.paper
        assert claim.ours
        assert not claim.why or claim.verdict in (Verdict.IN_PART, Verdict.NOT)
        assert not any(mark.isdigit() for mark in claim.why)
    assert {claim.verdict for claim in found if "cnn" in claim.text} == {Verdict.NO_DATA}
    assert all(claim.verdict is not Verdict.NO_DATA for claim in found if claim.where.startswith("TrimTuner"))


def test_without_runs_only_the_tables_speak() -> None:
    found = claims(Results(), inventory())
    known = [claim.text for claim in found if claim.verdict is not Verdict.NO_DATA]
    assert [text for text in known if "production cost of rnn" not in text] == []
    assert counted(found).startswith("Of 31 claims ")


def test_claims_are_plain_json() -> None:
    told = claims(Results(), inventory())[0].as_json()
    assert told["verdict"] == "no data"
    assert told["text"] == "A step of TrimTuner costs 10x less than one of eic"
