"""Each page is run as in a process of its own, as far as what pyc counts is concerned."""

import pytest

from pyc import cache


@pytest.fixture(autouse=True)
def counted_from_zero() -> None:
    """Hits and misses of pages before do not count."""
    cache.reset_stats()
