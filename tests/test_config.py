"""Settings: environment, process, block; bad values name themselves and the closest match."""

from __future__ import annotations

import threading
import warnings

import pytest

from pyc import config


def test_the_environment_sets_fields() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = config.from_environment(
            {
                "PYC_CACHE": "ro",
                "PYC_NUM_THREADS": "3",
                "PYC_DEBUG": "1",
                "HOME": "/x",
                "PYCACHE": "",
            }
        )
    assert (found.cache, found.num_threads, found.debug) == ("ro", 3, True)
    assert found.target == config.Settings().target


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "PYC_CACHEDIR",
            "/x",
            "unknown environment variable PYC_CACHEDIR; did you mean PYC_CACHE_DIR?",
        ),
        ("PYC_XYZZY", "1", "unknown environment variable PYC_XYZZY; known are PYC_CACHE, "),
        ("PYC_Cache", "ro", "unknown environment variable PYC_Cache; did you mean PYC_CACHE?"),
        (
            "PYC_CACHE",
            "on",
            "PYC_CACHE is left out: setting 'cache' must be one of off, ro, rw, frozen",
        ),
        ("PYC_NUM_THREADS", "-1", "'num_threads' must be a whole number, 0 or more, got '-1'"),
        (
            "PYC_TARGET",
            "z80",
            "'target' must be one of native, x86-64-v3, x86-64-v4, x86-64-v4-bf16, "
            "x86-64-v4-fp16, x86-64-v4-amx, got 'z80'",
        ),
        ("PYC_DEBUG", "perhaps", "'debug' must be 0 or 1, got 'perhaps'"),
    ],
)
def test_mistakes_in_the_environment_warn_and_change_nothing(variable, value, message) -> None:
    with pytest.warns(config.ConfigWarning) as caught:
        assert config.from_environment({variable: value}) == config.Settings()
    assert message in str(caught[0].message)


def test_blocks_nest_and_end() -> None:
    before = config.current()
    with config.using(cache="off"):
        with config.using(debug=True) as inner:
            assert (inner.cache, inner.debug) == ("off", True)
            assert config.current() == inner
        assert not config.current().debug
    assert config.current() == before


def test_a_block_ends_when_it_raises() -> None:
    before = config.current()
    with pytest.raises(RuntimeError), config.using(cache="off"):
        raise RuntimeError
    assert config.current() == before


def test_a_block_is_of_its_thread() -> None:
    seen = []
    with config.using(cache="off"):
        thread = threading.Thread(target=lambda: seen.append(config.current().cache))
        thread.start()
        thread.join()
    assert seen == [config.current().cache]


def test_update_holds_for_the_process_but_not_inside_a_block_that_says_otherwise() -> None:
    before = config.current().num_threads
    try:
        with config.using(num_threads=5):
            config.update("num_threads", 7)
            assert config.current().num_threads == 5
        assert config.current().num_threads == 7
    finally:
        config.update("num_threads", before)


def change_in_block(name: str, value: object) -> None:
    with config.using(**{name: value}):
        pass


@pytest.mark.parametrize("change", [config.update, change_in_block])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cahce", "ro", r"there is no setting 'cahce'; did you mean cache\?"),
        ("cache", "on", "setting 'cache' must be one of off, ro, rw, frozen, got 'on'"),
        ("num_threads", 1.5, "must be a whole number"),
        ("cache_dir", 3, "must be a text or a path"),
    ],
)
def test_bad_settings_are_refused(change, name, value, message) -> None:
    before = config.current()
    with pytest.raises(ValueError, match=message):
        change(name, value)
    assert config.current() == before


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        config.current().cache = "off"


def test_what_enters_the_key_is_a_setting() -> None:
    with config.using(target="x86-64-v3", cache="off"):
        assert config.key_fields() == {"device_linalg": "library", "target": "x86-64-v3"}


def test_the_table_shows_every_setting_and_marks_changes(golden) -> None:
    with config.using(cache="ro", cache_dir="/some/where"):
        golden(config.show())
