"""The public conformance suite of the array API standard, run on `pyc.numpy`.

    python -m tests.conformance.install           # once: fetches the suite, and checks it
    python -m tests.conformance                   # outside of a trace
    python -m tests.conformance --jitted          # each function through `pyc.jit`

The suite is data-apis/array-api-tests, at one commit; nothing of it is kept here.
"""
