"""Datasets, methods and runners. Not part of the package: run from a clone, `python -m benchmarks.recommend`."""
