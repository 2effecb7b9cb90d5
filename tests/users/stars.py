"""A program of a module that imports all names of NumPy."""

# ruff: noqa: F403, F405
from numpy import *

from tests.errors.case import LINE, given


@given(LINE + 0.5)
def star_import(x):
    return sin(x) + zeros(4) + pi + sum(x) + abs(-x) + where(x > 1, x, 0) + linspace(0, 1, 4)


@given(LINE + 0.5)
def star_import_shadows_builtins(x):
    return max(x), min(x, 0), round(x, 1), any(x > 1), all(x > 1), sum([1, 2]) * x
