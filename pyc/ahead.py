"""What the first call on a GPU needs, begun before it is asked for.

The driver takes a quarter of a second until a device is ready, and what pyc loads for the first
call as long as a tenth of that, so each is done in a thread beside the other: `loading` loads
modules while the calling thread waits for the driver, `device` begins with the driver while the
calling thread traces. Nothing depends on either: what was not done yet is done where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from pyc import cache
from pyc.backends import cuda_binding, cuda_driver, gpus_in_use
from pyc.forks import Beside, compiling

MODULES = (
    *("pyc.compile_cuda", "pyc.purity.repeat", "pyc.purity.standins"),
    *("pyc.trace.namespace", "pyc.trace.views", "pyc.trace.libraries", "pyc.trace.shadows"),
    *("pyc.trace.rewrite", "pyc.trace.rolled", "zlib", "copy"),
    *("pyc.numpy.transcendental", "pyc.numpy.rounding"),
)
"""What a call loads that traces a function for a GPU and finds the program in the cache."""
PATIENCE_SECONDS = 0.2
"""How long a thread waits for modules that another one loads, once the driver is ready."""

_begun: list[Any] = []


@contextmanager
def loading() -> Iterator[None]:
    """Inside the block, which waits for the driver, another thread loads `MODULES`; the first time
    only, and where there is a driver's package."""
    if _begun or not _has_package():
        yield
        return
    with compiling:
        beside = Beside(_load)
    _begun.append(beside)
    try:
        yield
    finally:
        beside.result(PATIENCE_SECONDS)


def device(number: int) -> None:
    """Begins with the driver's context for a GPU in another thread, if it is the first."""
    if _begun or gpus_in_use() or not _has_package():
        return
    with compiling:
        _begun.append(Beside(lambda: _enter(number)))


def _has_package() -> bool:
    with suppress(ImportError):
        cuda_binding()
        return True
    return False


def _load() -> None:
    for name in MODULES:
        import_module(name)
    cache.source_digest()


def _enter(number: int) -> None:
    driver = cuda_driver()
    if driver.problem() is None and number < driver.count():
        driver.device(number)
