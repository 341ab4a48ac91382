"""Seeds that training programs are given."""

from __future__ import annotations

from leantune.history import History, Trial
from leantune.strategies.proposals import derived_seed

SEEDS = 2**31  # every library takes a seed below it


def seed_of(trial: Trial, history: History, study_seed: int) -> int:
    """The study's own for the first trial of a configuration up to a share, and another for each repeat: a function of
    the study's seed, the configuration, the share and how many came before, so that a resumed study has the same.
    """
    repeat = history.repeat_of(trial)
    if repeat == 0:
        return study_seed
    return derived_seed("repeat", study_seed, trial.configuration.id, str(trial.fraction), repeat) % SEEDS
