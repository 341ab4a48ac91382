"""Tuning on revocable machines, simulated: jobs, markets and months of prices, event by event."""
