"""Where the cache lies: any path that a user may give, and what may become of a directory.

A directory that is removed, replaced, or filled with other things while programs run is at worst
not used, with a reason; none of it is an exception, and no directory is made that the user did not
mean.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pyc
from pyc import cache, config, reasons
from pyc.__main__ import main
from pyc.errors import CacheError
from pyc.jit import jit
from pyc.reasons import Reason
from pyc.store import FORMAT, MAGIC, Entry, LocalStore, Miss, msgpack, size, write

DOCUMENT = {"graph": "graph() {\n  return\n}\n", "k": 0}


def obtain(k: int = 0) -> str:
    """Whether a program was "made" or "found"; it is right in any case."""
    made = []
    found = cache.obtain({**DOCUMENT, "k": k}, {}, lambda: made.append(1) or {"k": k}, "f")
    assert found == {"k": k}
    return "made" if made else "found"


def last() -> Reason:
    return reasons.events("cache")[-1].reason


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- paths ----------------------------------------------------------------------------------------

PROGRAM = """
import numpy as np, os, sys
import pyc
f = pyc.jit(lambda x: x + 1, name="f")
assert f(np.ones(3))[0] == 2
os.chdir("/")
g = pyc.jit(lambda x: x + 2, name="g")
assert g(np.ones(3))[0] == 3
print(pyc.cache.stats().total.stored)
"""


STRICT = {
    "PYTHONPATH": str(Path(pyc.__file__).parents[1]),
    "PYTHONIOENCODING": "ascii:strict",
    "PYC_CACHE": "rw",
}
"""As on a terminal that cannot show everything."""


def run(code: str, directory: Path, **environment: str) -> str:
    """What a program prints that runs in `directory`."""
    settings = {**os.environ, "PYTHONPATH": STRICT["PYTHONPATH"], **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=directory, env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "given",
    [
        "relative/cache",
        "./with spaces and 'quotes'",
        "grüße/日本語/✓",
        "~/in home",
        "/".join(["long" * 50] * 15),
        "\udcff\udcfe not UTF-8",
        "trailing/",
        "up/../and/down",
    ],
    ids=["relative", "spaces", "unicode", "home", "long", "bytes", "slash", "dots"],
)
def test_every_path_is_one_place(tmp_path, given) -> None:
    """A relative one is so to the directory in which the program began, also after `os.chdir`."""
    environment = {"PYC_CACHE_DIR": given, "HOME": str(tmp_path)}
    assert run(PROGRAM, tmp_path, **environment) == "2\n", "both functions"
    expected = os.path.normpath(os.path.join(tmp_path, given.replace("~/", "")))
    assert len(list(Path(expected).glob("??/*.msgpack"))) == 2
    assert mode(Path(expected)) == 0o700
    assert run(PROGRAM, tmp_path, **environment) == "0\n"
    assert len(list(tmp_path.rglob("*.msgpack"))) == 2
    printed = subprocess.run(
        [sys.executable, "-m", "pyc", "cache", "path"],
        cwd=tmp_path,
        env={**os.environ, **environment, **STRICT},
        capture_output=True,
    )
    assert printed.stdout == os.fsencode(expected) + b"\n", printed.stderr
    for action in ("stats", "ls", "clear"):
        subprocess.run(
            [sys.executable, "-m", "pyc", "cache", action],
            cwd=tmp_path,
            env={**os.environ, **environment, **STRICT},
            check=True,
            capture_output=True,
        )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a\0b", r"must be a path"),
        ("~nobody-of-this-name/cache", r"names a home directory that there is not"),
        (3, r"must be a text or a path"),
    ],
)
def test_what_is_no_path_is_refused(value, said) -> None:
    with pytest.raises(ValueError, match=rf"setting 'cache_dir' {said}, got"):
        config.update("cache_dir", value)


def test_a_relative_path_in_a_directory_that_is_gone(tmp_path) -> None:
    (tmp_path / "gone").mkdir()
    code = """
import os, warnings
os.rmdir(os.getcwd())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from pyc import config
print(caught[0].message)
"""
    said = run(code, tmp_path / "gone", PYC_CACHE_DIR="relative")
    assert said == (
        "PYC_CACHE_DIR is left out: setting 'cache_dir' is relative to a directory that is gone, "
        "got 'relative'\n"
    )


def test_a_user_without_a_home_directory_has_no_cache(tmp_path, monkeypatch) -> None:
    """As in containers that run under any number; "~" is no name for a directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with config.using(cache="rw", cache_dir=""):
        assert obtain() == "made"
        event = reasons.events("cache")[-1]
        assert event.reason is Reason.CACHE_DIRECTORY_UNAVAILABLE
        assert event.details["error"] == "the user has no home directory"
        assert "no home directory" in str(cache.stats())
        with pytest.raises(CacheError, match="the user has no home directory"):
            cache.clear()
    assert list(tmp_path.iterdir()) == []


# --- modes and the umask --------------------------------------------------------------------------


@pytest.fixture(params=[0o000, 0o002, 0o077, 0o177, 0o777], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_what_is_made_is_of_this_user_alone(tmp_path) -> None:
    """Whatever the umask, also of directories above that are missing, and made anew."""
    place = tmp_path / "above" / "cache"
    with config.using(cache="rw", cache_dir=str(place)):
        for _ in range(2):
            assert obtain() == "made"
            assert obtain() == "found"
            assert mode(place) == mode(place.parent) == 0o700
            assert {mode(p) for p in place.iterdir() if p.is_dir()} == {0o700}
            shutil.rmtree(place.parent)
        assert obtain(1) == "made"
        assert LocalStore(str(place)).problem is None


# --- directories that change ----------------------------------------------------------------------


def test_a_directory_that_is_removed_is_made_again(cache_dir) -> None:
    for k in range(3):
        assert obtain(k) == "made"
        shutil.rmtree(cache_dir)
    assert obtain(3) == "made"
    assert obtain(3) == "found"
    assert cache.stats().entries == 1
    assert Reason.CACHE_NOT_STORED not in reasons.counts()


def test_a_directory_that_is_removed_at_any_call_of_the_system(cache_dir, monkeypatch) -> None:
    """At each of them once: what was being stored is stored in the new one, or nowhere."""
    names = ("mkdir", "open", "replace", "write", "listdir")
    reals = {name: getattr(os, name) for name in names}
    for moment in range(40):
        calls = [0]

        def removing(name: str, calls=calls, moment=moment) -> Callable[..., object]:
            def call(*args: object, **kwargs: object) -> object:
                calls[0] += 1
                if calls[0] == moment:
                    for each, real in reals.items():
                        monkeypatch.setattr(os, each, real)
                    shutil.rmtree(cache_dir, ignore_errors=True)
                return reals[name](*args, **kwargs)

            return call

        for name in names:
            monkeypatch.setattr(os, name, removing(name))
        assert obtain(moment) == "made"
        for each, real in reals.items():
            monkeypatch.setattr(os, each, real)
        assert not cache_dir.exists() or mode(cache_dir) == 0o700
    assert obtain(99) == "made"
    assert obtain(99) == "found"
    assert {r for r in reasons.counts() if r.name.startswith("CACHE")} <= {
        *(Reason.CACHE_EMPTY, Reason.CACHE_KEY_DIFFERS, Reason.CACHE_LEASE_UNAVAILABLE),
    }


def test_what_the_remedy_says_helps_at_once(cache_dir) -> None:
    """A program that runs on does not have to be started again."""
    cache_dir.mkdir(mode=0o700)
    cache_dir.chmod(0o777)
    assert obtain() == "made"
    assert last() is Reason.CACHE_DIRECTORY_UNSAFE
    assert "chmod 700" in str(cache.stats())
    cache_dir.chmod(0o700)
    assert obtain() == "made"
    assert obtain() == "found"
    assert "chmod" not in str(cache.stats())


@pytest.mark.parametrize("code", [errno.EACCES, errno.EMFILE, errno.EIO, errno.ESTALE])
def test_a_folder_that_cannot_be_listed_is_no_empty_one(cache_dir, monkeypatch, code) -> None:
    assert obtain() == "made"

    def fail(path):
        raise OSError(code, os.strerror(code), path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", fail)
        assert obtain() == "made"
    event = reasons.events("cache")[-1]
    assert event.reason is Reason.CACHE_UNREADABLE
    assert event.details["error"] == os.strerror(code)
    assert obtain() == "found"


def test_a_file_replaced_on_another_machine_is_read_again(cache_dir, monkeypatch) -> None:
    """A network file system says ESTALE of a file that was opened before it was replaced there."""
    assert obtain() == "made"
    real, stale = os.fstat, [True]

    def fstat(descriptor):
        if stale.pop() if stale else False:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", fstat)
    assert obtain() == "found"
    assert stale == []


# --- other things in the place of files -----------------------------------------------------------

THINGS = {
    "folder": lambda path: path.mkdir(),
    "full folder": lambda path: (path / "x").mkdir(parents=True),
    "pipe": lambda path: os.mkfifo(path, 0o600),
    "link to nothing": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "rubbish": lambda path: path.write_bytes(b"\xff\xfe\0" * 20),
    "nothing in it": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("name", ["size", "leases", "quarantine", "shard", "entry", "lease"])
def test_something_else_has_the_name_of_a_file(cache_dir, name, thing) -> None:
    """Programs run, reports and upkeep go on, and other programs are stored as before."""
    store = cache.disk(writable=True)
    key = cache.key_of(DOCUMENT)
    path = {
        "shard": cache_dir / key[:2],
        "entry": Path(store.path(key, {})),
        "lease": Path(write.lease_path(store, DOCUMENT, {})),
    }.get(name, cache_dir / name)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    THINGS[thing](path)
    start = time.monotonic()
    assert obtain() == "made"
    obtain()
    assert [obtain(k) for k in (1, 2, 1, 2)] == ["made", "made", "found", "found"]
    broken = store.path(cache.key_of({**DOCUMENT, "k": 2}), {})
    Path(broken).write_bytes(b"short")
    assert obtain(2) == "made"
    with config.using(cache_max_bytes=500):
        assert obtain(3) == "made"
        assert cache.stats().bytes <= 500
    cache.ls()
    cache.verify()
    cache.prune()
    cache.clear()
    assert time.monotonic() - start < 5.0
    assert not [p for p in store.paths() if os.path.isfile(p) and not os.path.islink(p)]


def test_a_right_checksum_over_something_else_is_a_miss(cache_dir) -> None:
    """Whoever can write the file can make one."""
    obtain()
    (file,) = cache_dir.glob("??/*.msgpack")
    for parts in (
        (msgpack.packb([1]), msgpack.packb({}), msgpack.packb({})),
        (b"", b"", b""),
        (msgpack.packb(["f", [], [], 1.0, {}]), msgpack.packb({}), msgpack.packb({})),
        (msgpack.packb(["f", [], [], 1.0, {}]), msgpack.packb([1]), b"\xc1"),
    ):
        checksum = pyc.store._checksum(parts)
        file.write_bytes(msgpack.packb([MAGIC, FORMAT, checksum, *parts]))
        file.chmod(0o600)
        assert obtain() == "made"
        assert Reason.CACHE_CORRUPT in reasons.counts()
        cache.ls()
        reasons.clear()


# --- versions -------------------------------------------------------------------------------------


def test_entries_of_another_format_are_left_to_their_version(cache_dir, capsys) -> None:
    """They count for the bound, and leave by it; nothing else touches them."""
    f = jit(lambda x: x * 3.0, name="f")
    f(np.ones(4))
    (entry,) = cache.ls("f")
    content = Path(entry.path).read_bytes()
    other = Path(entry.path[: entry.path.rindex("-")] + f"-{'0' * 16}.msgpack")
    other.write_bytes(content.replace(b"\xa9pyc-cache" + bytes([FORMAT]), b"\xa9pyc-cache\x09", 1))
    other.chmod(0o600)
    for repair in (False, True):
        found = cache.verify(repair=repair)
        assert found.ok
        assert [p.reason for p in found.unchecked] == [Reason.CACHE_NOT_VERIFIABLE]
        assert "another version of the file format" in found.unchecked[0].detail
    store = cache.disk(writable=True)
    refused: list[Miss] = []
    assert isinstance(store.lookup({"other": 1}, {}, refused), Miss)
    assert isinstance(store.read(str(other)), Miss)
    assert other.exists()
    before = cache.stats().entries
    assert before >= 2, "`f` and its other; how calls are run, if it was not known"
    assert size.recorded(store) is not None
    stats = cache.stats()
    of_functions = sum(counts.entries for counts in stats.per_function.values())
    assert (stats.unread, of_functions) == (1, before - 1)
    assert stats.unread_bytes == other.stat().st_size
    assert "in no function, for this version cannot read them: 1 entry, " in str(stats)
    assert stats.as_dict()["unread"] == {"entries": 1, "bytes": stats.unread_bytes}
    assert main(["cache", "stats"]) == 0
    assert "in no function, for this version cannot read them: 1 entry, " in capsys.readouterr().out
    assert cache.clear() == before
    assert cache.stats().unread == 0
    assert "in no function" not in str(cache.stats())


# --- what may be done in each mode ----------------------------------------------------------------


def everything(change: bool) -> None:
    """Calls every function of the cache; those that change it raise CacheError if they may not."""
    cache.stats()
    cache.ls()
    cache.inspect(cache.key_of(DOCUMENT))
    cache.explain_document({**DOCUMENT, "k": 77}, {})
    cache.verify()
    str(cache.problem()), cache.write_problem(), cache.directory()
    for work in (cache.prune, lambda: cache.verify(repair=True), cache.clear):
        if change:
            work()
        else:
            with pytest.raises(CacheError, match="the cache may not be changed: PYC_CACHE is"):
                work()


def states(cache_dir: Path) -> list[tuple[str, int, int, int]]:
    found = [(p, p.lstat()) for p in sorted(cache_dir.rglob("*"))]
    return [(str(p), s.st_size, s.st_mtime_ns, s.st_atime_ns) for p, s in found if p.is_file()]


@pytest.mark.parametrize("setting", ["ro", "frozen"])
def test_read_only_modes_change_nothing_by_any_function(cache_dir, setting) -> None:
    obtain()
    Path(write.lease_path(cache.disk(writable=True), {"x": 1}, {})).write_bytes(b"1 2 3")
    before = states(cache_dir)
    cache.memory.put("k", "v", 1)
    with config.using(cache=setting):
        assert obtain() == "found"
        everything(change=False)
        assert cache.memory.get("k") == "v", "nothing was dropped either"
        if setting == "ro":
            assert obtain(5) == "made"
        else:
            with pytest.raises(cache.CacheMissError):
                obtain(5)
    assert states(cache_dir) == before


def test_off_uses_nothing_and_says_so(cache_dir) -> None:
    """What looks at the directory, and what the user asks to remove, goes on."""
    obtain()
    before = states(cache_dir)
    with config.using(cache="off"):
        assert obtain() == "made"
        assert obtain(5) == "made"
        assert states(cache_dir) == before
        report = cache.explain_document(DOCUMENT, {})
        assert report.reason is Reason.CACHE_DISABLED
        assert "PYC_CACHE=off" in str(report)
        everything(change=True)
    assert cache.stats().entries == 0


def test_a_directory_that_may_not_be_written_is_not_changed_and_says_so(
    cache_dir, monkeypatch
) -> None:
    """`clear` of a read-only file system does not say that it removed 0 entries."""
    obtain()

    def fail(path, flags, *args, **kwargs):
        if flags & os.O_WRONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real(path, flags, *args, **kwargs)

    real = os.open
    monkeypatch.setattr(os, "open", fail)
    cache.memory.put("k", "v", 1)
    for work in (cache.prune, lambda: cache.verify(repair=True), cache.clear):
        with pytest.raises(CacheError, match=r"may not be written .* Read-only"):
            work()
    assert cache.memory.get("k") == "v"
    assert isinstance(cache.disk(writable=False).lookup(DOCUMENT, {}), Entry)
