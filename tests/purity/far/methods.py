"""Functions that change objects by methods, and by what Python calls itself.

As `impure.py`.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import multiprocessing
import re
import threading

import numpy as np

W = np.array([1.0, 2.0, 3.0])
MATRIX = np.eye(3)


def generated():
    k = 0
    while True:
        k += 1
        yield k


RUNNING = generated()


class Worker:
    """An object with one of each kind."""

    count = 0
    items = []  # noqa: RUF012

    def __init__(self):
        self.lock = threading.Lock()
        self.iterator = iter([1, 2, 3])
        self.generator = (k for k in [1, 2])
        self.known = {}

    def counted(self, x):
        type(self).count += 1
        return x

    def counted_by_class(self, x):
        self.__class__.count += 1
        return x

    def locked(self, x):
        with self.lock:
            return x

    def taken(self, x):
        return x * next(self.iterator)

    def generated(self, x):
        return x * next(self.generator)

    def cached(self, x):
        if x.shape not in self.known:
            self.known[x.shape] = 2.0
        return x * self.known[x.shape]

    @property
    def lazy(self):
        try:
            return self._lazy
        except AttributeError:
            self._lazy = 3.0
            return self._lazy


WORKER = Worker()
SHARED = multiprocessing.Value("d", 1.0)


@contextlib.contextmanager
def noting():
    Worker.items.append(1)
    yield 2.0


ENTERED = noting()


def object_counted(x):
    return WORKER.counted(x)


def object_counted_by_class(x):
    return WORKER.counted_by_class(x)


def thread_locked(x):
    return WORKER.locked(x)


def object_taken(x):
    return WORKER.taken(x)


def object_generated(x):
    return WORKER.generated(x)


def object_cached(x):
    return WORKER.cached(x)


def object_lazy(x):
    return x * WORKER.lazy


def object_shared_value(x):
    SHARED.value += 1
    return x


def object_context_manager(x):
    with noting() as k:
        return x * k


def object_context_manager_from_outside(x):
    with ENTERED as k:
        return x * k


def object_delegated(x):
    def walking():
        yield from RUNNING

    return x * next(walking())


def object_caught_error_kept(x):
    try:
        raise ValueError(x)
    except ValueError as error:
        Worker.items.append(error)
    return x


def object_in_a_comprehension(x):
    list(Worker.items.append(v) for v in (1, 2))  # noqa: C400
    return x


def object_in_any(x):
    any(Worker.items.append(v) for v in (1,))
    return x


def object_in_a_lambda(x):
    (lambda: Worker.items.extend([1]))()
    return x


def object_in_a_key(x):
    return x * max([2, 1], key=lambda v: Worker.items.append(v) or v)


def object_in_a_replacement(x):
    re.sub("a", lambda found: Worker.items.append(1) or "", "a")
    return x


def object_mapped_into_a_deque(x):
    collections.deque(map(Worker.items.append, [1]), maxlen=0)
    return x


def object_reduced(x):
    functools.reduce(lambda a, b: Worker.items.append(b), [1, 2])
    return x


def object_by_type(x):
    list.append(Worker.items, 1)
    return x


def object_by_dunder(x):
    Worker.items.__iadd__([1])
    return x


def object_array_by_type(x):
    np.ndarray.fill(W, 0.0)
    return x


def object_array_random(x):
    np.random.default_rng(0).random(out=W)
    return x


def object_array_strided(x):
    np.lib.stride_tricks.as_strided(W, (1,))[0] = 5.0
    return x


def object_array_rows(x):
    for row in W[:, None]:
        row[0] = 5.0
    return x


def object_array_masked_away(x):
    W[W > 1] = 0.0
    return x


def object_array_multiplied(x):
    np.matmul(MATRIX, W, out=W)
    return x
