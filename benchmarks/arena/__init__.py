"""`lean` against everybody, on many problems and under many budgets; writes docs/arena.md."""
