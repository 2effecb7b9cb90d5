"""The runtime's own code: ready bytes need no LLVM, and what is unknown stays slow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyc.backends.image import Image
from pyc.errors import CompileError
from pyc.runtime import native, stats


def run_child(body: str, *arguments: str, cache: str = "", **variables: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(native.__file__).parents[2])}
    environment |= ({"PYC_CACHE": cache} if cache else {}) | variables
    command = [sys.executable, "-c", body, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_ready_bytes_are_loaded_without_llvm(tmp_path: Path) -> None:
    for part in native.PARTS:
        (tmp_path / part.name).write_bytes(part.object_code())
    run_child(
        """
import sys
from pathlib import Path
from pyc.runtime import native, pool, stats, threads
assert stats.statistics().code_bytes == 0
for part in native.PARTS:
    assert not part.loaded()
    part.load((Path(sys.argv[1]) / part.name).read_bytes())
assert threads.addresses()[0] and pool.context_fields(0, 0, True)[1]
assert stats.statistics().code_bytes > 0
assert "libllvmlite" not in Path("/proc/self/maps").read_text()
""",
        str(tmp_path),
    )


def test_the_same_code_serves_all_calls_of_load() -> None:
    images = [part.image() for part in native.PARTS]
    assert [part.load(part.object_code()) for part in native.PARTS] == images
    assert stats.statistics().code_bytes == sum(image.nbytes for image in images)


@pytest.mark.parametrize("part", native.PARTS, ids=lambda part: part.name)
def test_every_external_function_has_its_address(part: native.Part) -> None:
    image = part.image()
    names = [name for name in image.symbols if name.startswith("f_")]
    assert len(names) == len(set(part.externals))
    assert all(native.pointer(image, name).value for name in names)


@pytest.mark.parametrize("part", native.PARTS, ids=lambda part: part.name)
def test_the_code_is_a_function_of_the_text(part: native.Part) -> None:
    """It must not name anything of this process or machine: it is kept in the cache."""
    code = part.object_code()
    assert code == part.object_code()
    assert Image(code).symbols == part.image().symbols


def test_the_worker_pool_is_loaded_by_the_first_program_that_shares_work() -> None:
    run_child("""
import numpy as np
import pyc
from pyc.runtime import native
few, many = (np.ones(n, np.float32) for n in (100, 1 << 20))
f = pyc.jit(lambda x: x + 1)
for _ in range(3):
    assert f(few)[0] == 2
assert native.CALLS.loaded() and not native.THREADS.loaded()
for _ in range(3):
    assert f(many)[-1] == 2
assert native.THREADS.loaded()
""")


def test_bytes_that_are_no_object_are_refused() -> None:
    run_child("""
from pyc.errors import CompileError
from pyc.runtime import native
try:
    native.CALLS.load(b"not an object")
except CompileError:
    assert not native.CALLS.loaded()
else:
    raise SystemExit("loaded")
""")
    with pytest.raises(CompileError):
        Image(b"")


def test_an_unknown_python_calls_the_slow_way() -> None:
    """As newer and free-threaded versions will: everything works, nothing is native."""
    run_child("""
import sys
import numpy, ml_dtypes
sys.version_info = (3, 99, 0, "final", 0)
from pyc import reasons
from pyc.runtime import dispatch
from pyc.runtime.specialisation import Specialisation
assert dispatch.available()[0] is reasons.Reason.DISPATCH_SLOW_PYTHON
class Function(dispatch.Dispatcher):
    pass
function = Function(lambda *args, **kwargs: (args, kwargs))
assert not dispatch.add(function, Specialisation((), (), 0, print))
assert function(1, self=2) == ((1,), {"self": 2})
assert reasons.counts()[reasons.Reason.DISPATCH_SLOW_PYTHON] == 1
""")
