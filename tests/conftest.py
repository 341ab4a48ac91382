"""Settings of all tests."""

from hypothesis import settings

# The same examples in every run, and no deadline: a busy machine must not turn a sound change red.
settings.register_profile("leantune", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("leantune")
