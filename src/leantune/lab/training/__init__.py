"""Predictors of revocations, trained and scored."""
