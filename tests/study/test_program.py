"""Where a study's files lie."""

from pathlib import Path

import leantune as lt
from leantune.problem import Budget
from leantune.study import Study
from leantune.study.trials import AskedTrial


def train(trial: AskedTrial) -> dict[str, float]:
    (trial.checkpoint_dir / "model").write_text(str(trial["rate"]))
    return {"accuracy": float(str(trial["rate"]))}


def study(**more: object) -> Study:
    return Study(
        lt.Space(rate=lt.choice(0.1, 0.2, 0.3)),
        lt.maximize("accuracy"),
        budget=Budget(trials=3),
        strategy="random",
        **more,  # type: ignore[arg-type]
    )


def test_the_model_of_a_function_is_where_its_checkpoints_are_kept(tmp_path: Path) -> None:
    with study(checkpoints=tmp_path) as kept:
        advice = kept.optimize(train)
        place = kept.checkpoint(advice)
        assert place is not None and (place / "model").read_text() == "0.3"
        assert place == kept.checkpoint()
        assert place.is_relative_to(tmp_path)


def test_without_a_place_no_model_is_kept() -> None:
    with study() as passing:
        assert passing.checkpoint(passing.optimize(train)) is None
