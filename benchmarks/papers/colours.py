"""One colour and one mark a method, in every figure. Okabe and Ito's palette: told apart by colour-blind eyes too."""

from __future__ import annotations

BLUE, SKY, GREEN, YELLOW = "#0072B2", "#56B4E9", "#009E73", "#B8A000"
ORANGE, RED, PINK, GREY, BLACK = "#E69F00", "#D55E00", "#CC79A7", "#8A8A8A", "#222222"
OTHER = ("#444444", "P")

LOOKS: dict[str, tuple[str, str]] = {  # method: (colour, matplotlib's mark)
    "trimtuner-gp": (BLUE, "o"),
    "trimtuner": (GREEN, "s"),
    "fabolas": (PINK, "v"),
    "eic": (RED, "^"),
    "eic-usd": (ORANGE, "D"),
    "ei": (YELLOW, "P"),
    "random": (GREY, "x"),
    "random (all s)": (BLACK, "+"),
    "fabulinus": (BLUE, "o"),
    "nephele": (BLUE, "o"),
    "lynceus": (ORANGE, "D"),
    "cherrypick": (RED, "^"),
    "cherrypick-trees": (PINK, "v"),
    "optuna-tpe": (BLACK, "X"),
    "optuna-gp": (SKY, "d"),
    "no filter": (BLACK, "x"),
    "CEA 1 %": (PINK, "v"),
    "CEA 5 %": (ORANGE, "D"),
    "CEA 10 %": (BLUE, "o"),
    "CEA 20 %": (GREEN, "s"),
    "DIRECT 10 %": (RED, "^"),
    "CMA-ES 10 %": (ORANGE, "D"),
    "random 10 %": (GREY, "+"),
}


def look(method: str) -> tuple[str, str]:
    """Colour and mark of a method."""
    return LOOKS.get(method, OTHER)
