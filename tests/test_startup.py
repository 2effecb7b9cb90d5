"""What a process loads: the compiler only for a program that is not in the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyc
from pyc.store.sources import SETTLED_NS

PACKAGE = Path(pyc.__file__).parent

PROGRAM = """
import sys
import numpy as np
import pyc

def loaded():
    heavy = ("llvmlite", "pyc.pipeline", "pyc.passes", "pyc.kernels", "pyc.backends.llvm",
             "pyc.store.write", "pyc.store.lease", "pyc.cache.report", "pyc.cache.audit", "fcntl")
    with open("/proc/self/maps") as maps:
        libraries = ["libllvmlite"] if "libllvmlite" in maps.read() else []
    return libraries + sorted(m for m in heavy if m in sys.modules)

assert loaded() == [], f"import pyc loads {loaded()}"
f = pyc.jit(lambda x: np.tanh(x) * 2 + x.sum())
x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
result = f(x)
assert np.allclose(result, np.tanh(x) * 2 + x.sum(), atol=1e-6)
assert f(x).tobytes() == result.tobytes()
print(" ".join(loaded()))
"""


def run(
    directory: Path, program: str = PROGRAM, more: Mapping[str, str] = MappingProxyType({})
) -> str:
    environment = {**os.environ, "PYC_CACHE": "rw", "PYC_CACHE_DIR": str(directory), **more}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_process_that_finds_its_code_loads_no_compiler(tmp_path: Path) -> None:
    """10 ms of passes and emitters and 8 ms of LLVM stay out of a warm start."""
    tmp_path.chmod(0o700)
    assert run(tmp_path).startswith("libllvmlite fcntl pyc.")
    assert run(tmp_path) == ""


LOADED = """
import sys
import msgpack, numpy as np
before = set(sys.modules)
import pyc
x = np.ones(3, np.float32)
assert pyc.jit(lambda x: x * 2)(x)[0] == 2
print(*sorted(set(sys.modules) - before))
"""


def test_a_start_loads_nothing_that_few_programs_need(tmp_path: Path) -> None:
    """Each of these costs 0.3 to 10 ms."""
    tmp_path.chmod(0o700)
    run(tmp_path, LOADED)
    found = run(tmp_path, LOADED).split()
    assert "pyc.jit" in found
    heavy = {"ml_dtypes", "json", "pathlib", "string", "sysconfig", "importlib.util", "ast"}
    heavy |= {"hashlib", "_hashlib", "dataclasses", "signal", "optree", "typing_extensions"}
    heavy |= {
        "pyc.lax",
        "pyc.random",
        "pyc.trace.branches",
        "pyc.trace.control",
        "pyc.verification",
        "pyc.stages",
    }
    heavy |= {"pyc.backends.cuda", "pyc.backends.llvm_library", "pyc.ir.ops.scalar_math"}
    assert heavy & set(found) == set()
    packages = ("pyc.passes", "pyc.kernels", "pyc.ir.simulate", "pyc.explanation", "pyc.report")
    assert not [m for m in found if m.startswith(packages)]
    assert {"pyc.trace.rewrite", "pyc.trace.rolled", "pyc.trace.carry"} & set(found) == set()


MODULES = 128
"""Modules of pyc that a warm start may load, some 0.2 ms each."""

FILES = """
import builtins, msgpack, numpy as np, os, sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
import pyc
x = np.ones(3, np.float32)
assert pyc.jit(lambda x: x * 2)(x)[0] == 2
sources = [file for file in opened if file.endswith(".py") and "pyc" in file]
print(len([m for m in sys.modules if m.partition(".")[0] == "pyc"]), len(sources))
"""


def test_a_warm_start_loads_no_more_modules_and_reads_no_sources(tmp_path: Path) -> None:
    """A module more is a choice: raise the number if it pays. The sources are read once, for their
    digest, and not again while nothing in them has changed."""
    (tmp_path / "cache").mkdir(mode=0o700)
    shutil.copytree(PACKAGE, tmp_path / "pyc", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    run(tmp_path / "cache", FILES, environment)
    time.sleep(SETTLED_NS / 1e9 + 0.1)
    run(tmp_path / "cache", FILES, environment)
    modules, sources = map(int, run(tmp_path / "cache", FILES, environment).split())
    assert modules <= MODULES
    assert sources <= 1, "the user's file, for its loops"


COMPILED = """
seen = []
import msgpack, numpy as np, sys
sys.addaudithook(lambda event, args: event == "compile" and seen.append(str(args)[:80]))
import pyc
x = np.ones(3, np.float32)
assert pyc.jit(lambda x: x * 2)(x)[0] == 2
print(seen)
"""


def test_a_warm_start_compiles_no_source(tmp_path: Path) -> None:
    """Another size of record? `pyc/initialisers.py` has the code of theirs."""
    (tmp_path / "cache").mkdir(mode=0o700)
    run(tmp_path / "cache", COMPILED)
    assert run(tmp_path / "cache", COMPILED).strip() == "[]"


EXTENSIONS = """
import sys
import numpy as np
import pyc
import pyc.numpy as pnp
made = pyc.jit(lambda x: x.astype("bfloat16") + 1)(np.ones(3, np.float32))
assert made.dtype == pnp.bfloat16 and made[0] == 2
import ml_dtypes
from ml_dtypes import bfloat16
assert pnp.bfloat16 is ml_dtypes.bfloat16
x = np.ones(3, ml_dtypes.float8_e5m2)
again = pyc.jit(lambda x: x.astype(np.float32) * 2)(x)
assert again.dtype == np.float32 and again[0] == 2
called = pyc.jit(lambda x: bfloat16(x) * 2)(np.ones(3, np.float32))
assert called.dtype == pnp.bfloat16 and called[0] == 2
"""


def test_types_that_numpy_lacks_come_when_they_are_needed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    run(tmp_path, EXTENSIONS)


ON_A_GPU = """
import sys
import numpy as np
import pyc
import pyc.ahead
from tests.backends.silent_driver import install

install()
pyc.ahead.PATIENCE_SECONDS = 60
before = set(sys.modules)
pyc.device_put(np.ones(1))
ready = set(sys.modules)

@pyc.jit(device="cuda")
def f(x, w):
    for _ in range(3):
        x = np.tanh(x @ w)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)

f(np.ones((64, 64), np.float32), np.ones((64, 64), np.float32))
print(*sorted(ready - before), "|", *sorted(set(sys.modules) - ready))
"""


def test_a_call_on_a_gpu_finds_what_it_needs_loaded(tmp_path: Path) -> None:
    """While the driver begins, which takes longer, another thread loads it: 25 to 50 ms of a call
    that takes 15. The compiler, its passes and LLVM are needed in the first process alone."""
    tmp_path.chmod(0o700)
    compiled = run(tmp_path, ON_A_GPU).split("|")[1].split()
    assert {"pyc.pipeline", "pyc.backends.nvptx"} <= set(compiled)
    ready, after = run(tmp_path, ON_A_GPU).split("|")
    assert "pyc.compile_cuda" in ready.split() and after.split() == []
    assert not [m for m in ready.split() if m.startswith(("pyc.passes", "pyc.kernels", "llvm"))]


BY_A_CALL = """
import time
import numpy as np
import pyc
from pyc.backends import gpus_in_use
from pyc.programs import Programs
from tests.backends.silent_driver import install

driver, usual, seen = install(), Programs.traced, []
type(driver).waits = 0.5

def traced(self, *arguments):
    deadline = time.monotonic() + 5
    while not driver.begun and time.monotonic() < deadline:
        time.sleep(0.01)
    seen.append((driver.begun, len(gpus_in_use())))
    return usual(self, *arguments)

Programs.traced = traced
pyc.jit(lambda x: x * 2, device="cuda")(np.ones(3))
print(*seen, driver.begun, len(gpus_in_use()))
"""


def test_the_driver_begins_while_a_function_is_traced(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert run(tmp_path, BY_A_CALL) == "(1, 0) 1 1"
