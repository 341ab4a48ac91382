"""Strategies on measured tables: what is in a table, what they would have found in it, and for how many dollars."""
