"""What a process keeps to be fast the next time, and how it is given back."""

from __future__ import annotations

from pyc import eager, eager_calls, movement, whole_calls
from pyc.backends import gpus_in_use
from pyc.cache import memory
from pyc.jit import jitted_functions
from pyc.runtime import pool


def clear_caches() -> None:
    """Forgets all compiled programs of this process, and frees the memory that is kept for calls
    and results to come. The disk cache stays (`pyc.cache.clear` empties it).

    JAX: `jax.clear_caches`.

    >>> pyc.clear_caches()
    """
    for function in jitted_functions():
        function.clear_cache()
    eager.clear()
    eager_calls.clear()
    whole_calls.clear()
    movement.clear()
    memory.clear()
    pool.clear()
    for device in gpus_in_use():
        device.trim()
