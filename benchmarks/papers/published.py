"""What the papers print, each with its place. TrimTuner: the published paper; thesis: "Leveraging Subsampling ..."."""

from __future__ import annotations

from collections.abc import Mapping

TRIMTUNER_TABLE_2: Mapping[str, tuple[int, int]] = {"cnn": (111, 39), "rnn": (178, 28), "multilayer": (161, 29)}
TRIMTUNER_TABLE_3: Mapping[str, float] = {  # minutes to recommend a configuration, mean of three tables
    "trimtuner-gp": 18.65,
    "trimtuner": 1.36,
    "fabolas": 13.96,
    "eic": 1.17,
    "eic-usd": 1.17,
}
TRIMTUNER_TABLE_4: Mapping[str, tuple[float, float]] = {  # minutes with Gaussian processes, with trees; rnn
    "no filter": (125.76, 3.69),
    "CEA 1 %": (5.94, 1.07),
    "CEA 10 %": (16.85, 1.72),
    "CEA 20 %": (28.65, 2.05),
    "DIRECT 10 %": (36.18, 2.63),
    "CMA-ES 10 %": (30.87, 2.26),
    "random 10 %": (16.53, 1.62),
}
THESIS_TABLE_1: Mapping[str, tuple[int, int]] = {"cnn": (208, 61), "rnn": (264, 104), "multilayer": (110, 58)}
THESIS_TABLE_2: Mapping[str, tuple[int, int]] = {"cnn": (111, 69), "rnn": (178, 42), "multilayer": (161, 25)}
PRODUCTION_SAVINGS = {"cnn": 0.755, "rnn": 0.523}  # thesis, VII-C
PRODUCTION_BEST_SHARE = {"cnn": "1/10", "rnn": "1/4", "multilayer": "1"}  # thesis, VII-C

STEP_COST = {"eic": 10.0, "eic-usd": 2.4}  # TrimTuner, IV-A: a step of TrimTuner is so many times cheaper
MEAN_SHARE = 0.25  # TrimTuner, IV-A
CHEAPER = {"eic": 50.0, "eic-usd": 10.0}  # TrimTuner, IV-A and Fig. 2b: "up to"
FASTER = {"eic": 65.0, "eic-usd": 15.0}  # TrimTuner, IV-A and Fig. 2a: "up to"
FILTER_SAVINGS = {"CMA-ES 10 %": 3.62, "DIRECT 10 %": 7.0}  # TrimTuner, IV-B
RECOMMENDATION_FASTER = 117.0  # TrimTuner, V: no filter with Gaussian processes over CEA 1 % with trees (Table IV)
TREES_FASTER = 13.0  # TrimTuner, IV-A
FABULINUS_SAVINGS = {  # thesis, VIII-C: of the optimisation's dollars
    "cnn": {"fabolas": 0.3552, "eic": 0.5834, "ei": 0.8824},
    "rnn": {"fabolas": 0.40, "eic": 0.80, "ei": 0.797},
}
FABULINUS_SLOWER = {  # thesis, VIII-C: with the time of recommendations
    "cnn": {"eic": 1.06},
    "rnn": {"fabolas": 4.71, "eic": 6.46, "ei": 12.4},
}
TREES = {"nephele": 5, "trimtuner": 10}  # thesis, VII-B; TrimTuner's authors' program
NEPHELE_CNO = {"cnn": 10.0, "rnn": 2.0}  # thesis, VII-D: the quality at which dollars are compared
NEPHELE_SAVINGS = {"cnn": {"lynceus": 1.75, "cherrypick": 2.13}, "rnn": {"lynceus": 1.2, "cherrypick": 3.67}}
