"""Settings of all tests."""

import os
import signal
import tempfile
import threading

from hypothesis import settings

pytest_plugins = ["pytester", "tests.skips"]

# The same examples in every run, and no deadline: a busy machine must not turn a sound change red.
settings.register_profile("leantune", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("leantune")

# In the background of a shell Ctrl-C is ignored, and so it would be by every program that a test starts and interrupts.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A developer's own refreshed catalogue and kept prices must not reach the tests.
_HOME = tempfile.TemporaryDirectory(prefix="leantune-home-")
os.environ["LEANTUNE_HOME"] = _HOME.name
