"""What will be taken away: predictors of revocations."""
