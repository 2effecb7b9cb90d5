"""Calls that the test suites of NumPy and SciPy make, recorded and replayed on pyc.

    python -m tests.replay --record        # once: runs the installed suites, keeps their calls
    python -m tests.replay                 # replays them, outside of a trace and jitted

The suites are part of the wheels; nothing of them is kept here. `listed.txt` has the differences
that stay, each with its reason.
"""
