"""What the machine allows: the rates of a copy and a triad, and the peak of products.

No contest: the best rate that any peer reaches here is the limit that other figures are measured
against. `out` is memory that is there, so that no page is new; a peer that cannot write into it
does not take part.
"""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.entry import SAME, f32, normal, prange, torch, workload


@workload(medium=(1 << 18,), large=(1 << 24,))
class copy:
    """A copy of float32 into memory that is there."""

    def arguments(n):
        return normal(n), np.zeros(n, np.float32)

    def program(x, out):
        np.copyto(out, x)
        return out

    def bytes(n):
        return 8 * n

    def torch(x, out):
        return out.copy_(x)

    def numba(x, out):
        for i in prange(x.size):
            out[i] = x[i]
        return out


@workload(medium=(1 << 18,), large=(1 << 24,))
class triad:
    """x + 3 y of float32 into memory that is there."""

    def arguments(n):
        return normal(n), normal(n, seed=1), np.zeros(n, np.float32)

    def program(x, y, out):
        np.multiply(y, np.float32(3), out=out)
        return np.add(x, out, out=out)

    def bytes(n):
        return 12 * n

    def torch(x, y, out):
        return torch.add(x, y, alpha=3.0, out=out)

    def numba(x, y, out):
        for i in prange(x.size):
            out[i] = x[i] + f32(3) * y[i]
        return out


@workload(medium=(384,), large=(2048,))
class peak_single:
    """A product of square float32 matrices."""

    def arguments(n):
        return normal(n, n), normal(n, n, seed=1)

    def program(a, b):
        return a @ b

    def flops(n):
        return 2 * n**3

    torch = SAME


@workload(medium=(384,), large=(1536,))
class peak_double:
    """A product of square float64 matrices."""

    double = True

    def arguments(n):
        return normal(n, n, dtype=np.float64), normal(n, n, seed=1, dtype=np.float64)

    def program(a, b):
        return a @ b

    def flops(n):
        return 2 * n**3

    torch = SAME
