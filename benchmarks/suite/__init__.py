"""The CPU suite: workloads in plain NumPy code, pyc beside its peers, each in a process of its own.

python -m benchmarks.suite --python jax=/path/bin/python --json FILE --markdown FILE --html FILE
"""
