"""Strategies on measured tables: the contents of a table, the results of strategies on it, and their dollars."""
