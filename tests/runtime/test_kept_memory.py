"""Memory that results were in stays with the process, so that later ones are not of new pages."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, resource
import numpy as np
import pyc

libc = ctypes.CDLL(None)

class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

libc.mallinfo2.restype = Info
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

double = pyc.jit(lambda x: x * 2.0)
double(np.ones(1000, np.float32))
mapped = libc.mallinfo2().hblks
libc.malloc(4 << 20)
print(libc.mallinfo2().hblks - mapped)

x = np.ones(1 << 18, np.float32)
double(x)
worst = 0
for size in (17, 1017, 5017, 70_017, 1017):  # what else is in the heap
    kept = np.empty(size, np.uint8)
    for _ in range(20):
        result = double(x)
    before = faults()
    for _ in range(50):
        result = double(x)
    worst = max(worst, (faults() - before) / 50)
print(worst)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33")
def test_results_of_a_megabyte_are_not_of_new_pages() -> None:
    """Blocks of 4 MB are of the heap after the first call, whatever ran before; and calls in turn
    take the memory of results that are gone."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    mapped, worst = done.stdout.split()
    assert int(mapped) == 0
    assert float(worst) < 30
