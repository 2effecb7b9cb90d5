"""Programs that ask what nothing looks after between two calls."""

from __future__ import annotations

import functools

import numpy as np

from tests.errors.case import LINE, given


@given(LINE)
def memory_that_is_shared(x):
    return x if np.may_share_memory(x, x) else -x


class Family:
    pass


@given(LINE)
def subclasses_that_are_asked_for(x):
    return x * len(Family.__subclasses__())


@functools.lru_cache
def kept():
    return 2.0


@given(LINE)
def counts_of_a_cache(x):
    return x * kept() * kept.cache_info().hits
