"""Functions that take from iterators, generators and streams from outside.

As `impure.py`.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import threading

LOCK = threading.Lock()
TICKETS = itertools.count()
ENDLESS = itertools.cycle([1, 2])
CHAINED = itertools.chain([1, 2], [3])
ZIPPED = zip([1, 2], [3, 4], strict=True)
ITEMS = iter([1, 2, 3])
PICKED = map(abs, [1, 2, 3])
NUMBERED = enumerate([1, 2, 3])
REVERSED = reversed([1, 2])
FIRST, SECOND = itertools.tee([1, 2, 3])
FOLLOWING = TICKETS.__next__
TAKE = LOCK.acquire


def generated():
    k = 0
    while True:
        k += 1
        yield k


RUNNING = generated()


def object_count(x):
    next(TICKETS)
    return x


def object_count_used(x):
    return x * next(TICKETS)


def object_count_default(x):
    next(TICKETS, None)
    return x


def object_count_by_method(x):
    TICKETS.__next__()
    return x


def object_count_mapped(x):
    list(map(next, [TICKETS]))
    return x


def object_count_zipped(x):
    list(zip(TICKETS, [1, 2]))
    return x


def object_count_looped(x):
    for _ in TICKETS:
        break
    return x


def object_count_sliced(x):
    list(itertools.islice(TICKETS, 2))
    return x


def object_cycle(x):
    next(ENDLESS)
    return x


def object_chained(x):
    next(CHAINED)
    return x


def object_zipped(x):
    next(ZIPPED)
    return x


def object_list_iterator(x):
    next(ITEMS)
    return x


def object_map(x):
    next(PICKED)
    return x


def object_enumerated(x):
    next(NUMBERED)
    return x


def object_reversed(x):
    next(REVERSED)
    return x


def object_tee(x):
    next(FIRST)
    return x


def object_unpacked_iterator(x):
    (*_,) = ITEMS
    return x


def object_membership(x):
    return x * (2 in ITEMS)


def object_sum_of_iterator(x):
    return x * sum(ITEMS)


def object_iterator_in_a_dict():
    jobs = {"next": iter([1, 2, 3])}

    def function(x):
        next(jobs["next"])
        return x

    return function


def object_generator(x):
    next(RUNNING)
    return x


def object_generator_sent(x):
    RUNNING.send(None)
    return x


def object_bound_next(x):
    FOLLOWING()
    return x


def thread_lock_bound(x):
    TAKE()
    return x


def object_partial_next(x):
    functools.partial(next, TICKETS)()
    return x


def random_mapped_system(x):
    return x * list(map(os.urandom, [3, 4]))[1][0]


def environment_mapped(x):
    list(map(gc.set_threshold, [700]))
    return x


def object_generator_closed(x):
    RUNNING.close()
    return x


def object_generator_looped(x):
    for k in RUNNING:
        if k:
            break
    return x
