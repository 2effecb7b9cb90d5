"""Functions that take locks from outside, and change objects that keep a state.

As `impure.py`.
"""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import socket
import sqlite3
import threading
import zlib

LOCK = threading.Lock()
REENTRANT = threading.RLock()
CONDITION = threading.Condition()
SEMAPHORE = threading.Semaphore(3)
EVENT = threading.Event()
BARRIER = threading.Barrier(1)
DATABASE = sqlite3.connect(":memory:", check_same_thread=False)
DIGEST = hashlib.sha256()
PACKER = zlib.compressobj()
BZIP = bz2.BZ2Compressor()
PAIR = socket.socketpair()


def thread_lock(x):
    LOCK.acquire()
    LOCK.release()
    return x


def thread_lock_with(x):
    with LOCK:
        return x


def thread_lock_reentrant(x):
    with REENTRANT:
        return x


def thread_lock_try(x):
    if LOCK.acquire(blocking=False):
        LOCK.release()
    return x


def thread_lock_dunder(x):
    LOCK.__enter__()
    LOCK.__exit__(None, None, None)
    return x


def thread_lock_stack(x):

    with contextlib.ExitStack() as stack:
        stack.enter_context(LOCK)
        return x


def environment_lock_asked(x):
    return x * LOCK.locked()


def thread_condition(x):
    with CONDITION:
        CONDITION.notify_all()
    return x


def thread_semaphore(x):
    with SEMAPHORE:
        return x


def object_event_set(x):
    EVENT.set()
    return x


def clock_barrier(x):
    BARRIER.wait()
    return x


def object_hash(x):
    DIGEST.update(b"a")
    return x


def object_hash_read(x):
    return x * DIGEST.digest()[0]


def object_compressor(x):
    PACKER.compress(b"a")
    return x


def object_bzip(x):
    BZIP.compress(b"a")
    return x


def file_database(x):
    DATABASE.execute("create table if not exists t (a)")
    return x


def file_database_cursor(x):
    DATABASE.cursor().execute("select 1")
    return x


def network_sent(x):
    PAIR[0].send(b"a")
    return x


def network_received(x):
    PAIR[1].recv(0)
    return x
