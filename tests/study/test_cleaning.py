"""What may go of a study that is over."""

from pathlib import Path

from leantune.study.cleaning import clean, cleaning
from leantune.study.program import StudyPlaces


def fill(folder: Path) -> None:
    (folder / "checkpoint").mkdir(parents=True)
    (folder / "checkpoint" / "model").write_text("12345")
    (folder / "attempt-1.log").write_text("123")


def test_only_what_is_a_trials_goes_and_links_are_not_followed(tmp_path: Path) -> None:
    places = StudyPlaces("mine", tmp_path / "runs", tmp_path / "copies")
    for number in (1, 2):
        fill(places.runs / f"trial-000{number}")
        fill(tmp_path / "copies" / "mine" / f"trial-000{number}")
    fill(tmp_path / "copies" / "other" / "trial-0001")
    fill(tmp_path / "outside")
    (places.runs / "trial-0003").symlink_to(tmp_path / "outside")
    (places.runs / "trial-x").write_text("mine")
    kept = places.runs / "trial-0002" / "checkpoint"
    what = cleaning(places, kept)
    assert what.kept == kept
    assert [str(path.relative_to(tmp_path)) for path in what.paths] == [
        "runs/trial-0001",
        "runs/trial-0002/attempt-1.log",
        "runs/trial-0003",
        "copies/mine/trial-0001",
    ]
    assert what.bytes == 8 + 3 + (places.runs / "trial-0003").lstat().st_size + 8
    clean(places, what)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {
        "runs/trial-0002/checkpoint/model",
        "runs/trial-x",
        "copies/mine/trial-0002/checkpoint/model",
        "copies/mine/trial-0002/attempt-1.log",
        "copies/other/trial-0001/checkpoint/model",
        "copies/other/trial-0001/attempt-1.log",
        "outside/checkpoint/model",
        "outside/attempt-1.log",
    }


def test_without_a_model_to_keep_the_studys_own_folders_go_too(tmp_path: Path) -> None:
    places = StudyPlaces("mine", tmp_path / "runs", None)
    assert cleaning(places, None).paths == (), "there is nothing yet"
    fill(places.runs / "trial-12345")
    clean(places, cleaning(places, None))
    assert not places.runs.exists()
