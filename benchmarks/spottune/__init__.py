"""SpotTune's workloads, trained for real, and its figures, recomputed."""
