"""Predictors of revocations."""
