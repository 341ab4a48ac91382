"""Learning curves: predictions of a training run's end, with their uncertainty."""
