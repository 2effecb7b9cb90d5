"""What a process loads: the compiler only for a program that is not in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import numpy as np
import pyc

def loaded():
    heavy = ("llvmlite", "pyc.pipeline", "pyc.passes", "pyc.kernels", "pyc.backends.llvm")
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


def run(directory: Path) -> str:
    environment = {**os.environ, "PYC_CACHE": "rw", "PYC_CACHE_DIR": str(directory)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_process_that_finds_its_code_loads_no_compiler(tmp_path: Path) -> None:
    """10 ms of passes and emitters and 8 ms of LLVM stay out of a warm start."""
    tmp_path.chmod(0o700)
    assert run(tmp_path).startswith("libllvmlite pyc.")
    assert run(tmp_path) == ""
