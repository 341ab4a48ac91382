"""How good `lean` is: on the papers' tables, with noise, in batches, on generated problems."""
