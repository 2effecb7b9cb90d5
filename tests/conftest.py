"""Fixtures of all tests: golden files, a cache directory of the test run's own.

`golden(text)` compares a text with `tests/golden/<path of the test file>/<test>.txt`; run pytest
with `--update-golden` to write the files anew, and read the diff.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Before anything imports pyc, and for child processes too: tests never touch the user's cache.
for _variable in [v for v in os.environ if v.startswith("PYC_")]:
    del os.environ[_variable]
_CACHE = tempfile.mkdtemp(prefix="pyc-tests-")
os.environ["PYC_CACHE_DIR"] = _CACHE

# Shells start background jobs with Ctrl-C ignored, and child processes would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from pyc import cache, config, reasons  # noqa: E402

TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


def pytest_collection_finish() -> None:
    """What is there for the whole run is not looked through at each collection of garbage, which
    took a second otherwise."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    shutil.rmtree(_CACHE, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_device_left() -> Iterator[None]:
    """Programs of a device that a test has installed end with the test."""
    yield
    if (
        used := sys.modules.get("tests.backends.interpreted_device")
    ) is not None and used.installed:
        used.forget()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """golden(text, name=""): the text must be that of the test's golden file."""
    folder = TESTS / "golden" / request.path.relative_to(TESTS).with_suffix("")
    test = request.node.name.replace("/", "_")

    def check(text: str, name: str = "") -> None:
        file = folder / f"{test}{'-' + name if name else ''}.txt"
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        assert file.exists(), f"{file} is missing: run pytest with --update-golden"
        assert text == file.read_text()

    return check


@pytest.fixture
def cache_dir(tmp_path: Path) -> Iterator[Path]:
    """A cache directory of this test alone, with the counts set to zero."""
    folder = tmp_path / "cache"
    cache.reset_stats()
    cache.memory.clear()
    reasons.clear()
    with config.using(cache="rw", cache_dir=str(folder)):
        yield folder
    cache.reset_stats()
    cache.memory.clear()


@pytest.fixture
def unprivileged():
    """The test runs as a user whom permissions stop, also if root runs the tests."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)
