"""For researchers: replays of tables, simulated tunings, training of predictors. Only `cli` imports it."""
