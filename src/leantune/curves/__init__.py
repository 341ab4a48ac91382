"""Learning curves: what a training run will have reached when it is over, and how sure that is."""
