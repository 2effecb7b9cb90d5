"""`statistics`: what the runtime of this process measured, in one record."""

from __future__ import annotations

from pyc.frozen import frozen
from pyc.runtime import native, pool, threads
from pyc.runtime.pool import PoolStatistics
from pyc.runtime.threads import ThreadStatistics


@frozen()
class RuntimeStatistics:
    """code_bytes: mapped for the runtime's own code, 0 if it is not loaded; threads, memory: what
    the worker pool did, and what the memory pool holds."""

    code_bytes: int
    threads: ThreadStatistics
    memory: PoolStatistics


def statistics() -> RuntimeStatistics:
    """What is in use now and was done so far; loads nothing."""
    code = sum(part.image().nbytes for part in native.PARTS if part.loaded())
    return RuntimeStatistics(code, threads.statistics(), pool.statistics())
