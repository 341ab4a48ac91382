"""Machines that may be taken away: markets, who predicts revocations, and which machine to rent."""
