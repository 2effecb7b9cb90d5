"""Functions that read clocks, and draw random numbers, by libraries and generators from outside.

As `impure.py`.
"""

from __future__ import annotations

import datetime
import email.utils
import operator
import os
import queue
import random
import sched
import secrets
import time
import timeit
import uuid

import numpy as np

STARTED = 0.0
CLOCKS = {"wall": time.time, "cpu": time.process_time}
LEGACY = np.random.RandomState(3)
NEW = np.random.default_rng(3)
BITS = np.random.PCG64(3)
SEQUENCE = np.random.SeedSequence(3)
DRAW = random.Random(3).random
GAUSS = np.random.default_rng(3).normal
QUEUE = queue.Queue()


def clock_utc(x):
    return x * datetime.datetime.now(datetime.UTC).year


def clock_from_dict(x):
    return x * CLOCKS["wall"]()


def clock_counter(x):
    return x * time.perf_counter_ns()


def clock_monotonic(x):
    return x * (time.monotonic() - STARTED)


def clock_text(x):
    return x * len(time.ctime())


def clock_formatted(x):
    return x * len(time.strftime("%Y"))


def clock_by_getattr(x):
    return x * getattr(time, "time")()  # noqa: B009


def clock_timeit(x):
    return x * timeit.default_timer()


def clock_timed(x):
    return x * timeit.timeit("1", number=1)


def clock_email(x):
    return x * len(email.utils.formatdate())


def clock_uuid_of_time(x):
    return x * (uuid.uuid1(1, 2).int % 7)


def clock_times(x):
    return x * os.times().user


def clock_scheduler(x):
    sched.scheduler(time.time, time.sleep).enter(0, 1, str)
    return x


def clock_subclass(x):
    class Day(datetime.date):
        pass

    return x * Day.today().day


def clock_queue_wait(x):
    try:
        return x * QUEUE.get(timeout=0.001)
    except queue.Empty:
        return x


def random_choice(x):
    return x * random.choice([1, 2])


def random_sample(x):
    return x * random.sample([1, 2, 3], 2)[0]


def random_gauss(x):
    return x * random.gauss(0.0, 1.0)


def random_getstate(x):
    return x * len(random.getstate())


def random_setstate(x):
    random.setstate(random.Random(0).getstate())
    return x


def random_bound_method(x):
    return x * DRAW()


def random_numpy_bound_method(x):
    return x * GAUSS()


def random_numpy_seed(x):
    np.random.seed(3)
    return x


def random_numpy_integers(x):
    return x * np.random.randint(3)


def random_numpy_shuffle(x):
    row = np.arange(3)
    np.random.shuffle(row)
    return x * row


def random_legacy_generator(x):
    return x * LEGACY.rand()


def random_generator_integers(x):
    return x * NEW.integers(5)


def random_generator_shuffle(x):
    NEW.shuffle([1, 2, 3])
    return x


def random_bit_generator(x):
    return x * BITS.random_raw()


def random_generator_over_bits(x):
    return x * np.random.Generator(BITS).random()


def object_seeds_spawned(x):
    return x * np.random.default_rng(SEQUENCE.spawn(1)[0]).random()


def random_spawned_generator(x):
    return x * NEW.spawn(1)[0].random()


def random_default_rng(x):
    return x * np.random.default_rng().random()


def random_token_hex(x):
    return x * len(secrets.token_hex(3)) * int(secrets.token_hex(1), 16)


def random_choice_secrets(x):
    return x * secrets.choice([1, 2])


def random_passed_to_helper(x):
    return x * sum(draw() for draw in (random.random,))


def random_by_module_attribute(x):
    return x * operator.attrgetter("random")(random)()
