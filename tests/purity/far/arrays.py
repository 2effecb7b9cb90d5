"""Functions that change an array from outside, or its views, by ways that are seldom looked at.

As `impure.py`.
"""

from __future__ import annotations

import array
import operator
import random

import numpy as np

from tests.purity.far.own_classes import Plain

W = np.array([1.0, 2.0, 3.0])
V = W[1:]
HOLES = np.array([1.0, np.nan, 3.0])
INTS = np.arange(3)
MATRIX = np.eye(3)
WORDS = np.array(["a", "b"], dtype=object)
PAIRS = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])
TEXTS = np.array(["a", "b"])
DAYS = np.array(["2024-01-01"], dtype="datetime64[D]")
BYTES = bytearray(b"abc")
NUMBERS = array.array("d", [1.0, 2.0])
MASKED = np.ma.masked_array([1.0, 2.0, 3.0])
POLYNOMIAL = np.poly1d([1.0, 2.0])
SHUFFLER = random.Random(1)
PLAIN = Plain()


def object_array_view_item(x):
    V[0] = 5.0
    return x


def object_array_slice(x):
    W[1:] = x[1:]
    return x


def object_array_augmented(x):
    w = W
    w += 1.0
    return x


def object_array_augmented_item(x):
    W[0] += 1.0
    return x


def object_array_setitem(x):
    operator.setitem(W, 0, 5.0)
    return x


def object_array_iadd(x):
    operator.iadd(W, 1.0)
    return x


def object_array_dunder(x):
    W.__setitem__(0, 5.0)
    return x


def object_array_iadd_dunder(x):
    W.__iadd__(1.0)
    return x


def object_array_out_tuple(x):
    np.multiply(W, 2.0, out=(W,))
    return x


def object_array_out_positional(x):
    np.multiply(W, 2.0, W)
    return x


def object_array_out_of_sum(x):
    np.sum(MATRIX, axis=0, out=W)
    return x


def object_array_out_of_method(x):
    MATRIX.sum(axis=0, out=W)
    return x


def object_array_cumulated(x):
    np.cumsum(W, out=W)
    return x


def object_array_clipped(x):
    W.clip(0.0, 1.0, out=W)
    return x


def object_array_copied_to(x):
    np.copyto(W, x)
    return x


def object_array_put(x):
    np.put(W, [0], [5.0])
    return x


def object_array_put_method(x):
    W.put([0], [5.0])
    return x


def object_array_place(x):
    np.place(W, W > 1, [5.0])
    return x


def object_array_putmask(x):
    np.putmask(W, W > 1, 5.0)
    return x


def object_array_put_along(x):
    np.put_along_axis(W, INTS, 5.0, 0)
    return x


def object_array_at(x):
    np.add.at(W, INTS, 1.0)
    return x


def object_array_filled(x):
    W.fill(0.0)
    return x


def object_array_diagonal(x):
    np.fill_diagonal(MATRIX, 5.0)
    return x


def object_array_flat(x):
    W.flat[0] = 5.0
    return x


def object_array_flat_whole(x):
    W.flat = 5.0
    return x


def object_far_array_sorted(x):
    W.sort()
    return x


def object_array_partitioned(x):
    W.partition(1)
    return x


def object_array_resized(x):
    W.resize(5)
    return x


def object_array_shape_set(x):
    MATRIX.shape = (9,)
    return x


def object_array_flags(x):
    W.flags.writeable = False
    return x


def object_array_setflags(x):
    W.setflags(write=False)
    return x


def object_array_byteswapped(x):
    W.byteswap(inplace=True)
    return x


def object_array_real(x):
    W.real[:] = 5.0
    return x


def object_array_transposed(x):
    MATRIX.T[0, 0] = 5.0
    return x


def object_array_raveled(x):
    MATRIX.ravel()[0] = 5.0
    return x


def object_array_reshaped(x):
    MATRIX.reshape(-1)[0] = 5.0
    return x


def object_array_nan(x):
    np.nan_to_num(HOLES, copy=False)
    return x


def object_array_of_objects(x):
    WORDS[0] = "z"
    return x


def object_array_of_records(x):
    PAIRS["a"] = 5.0
    return x


def object_array_of_record_item(x):
    PAIRS[0]["a"] = 5.0
    return x


def object_array_of_texts(x):
    TEXTS[0] = "z"
    return x


def object_array_of_days(x):
    DAYS[0] = "2025-01-01"
    return x


def object_array_masked(x):
    MASKED[0] = np.ma.masked
    return x


def object_array_in_a_list(x):
    row = [W]
    row[0][0] = 5.0
    return x


def random_array_shuffled(x):
    SHUFFLER.shuffle(W)
    return x


def object_array_attribute(x):
    PLAIN.w[0] = 5.0
    return x


def object_array_frombuffer(x):
    np.frombuffer(BYTES, dtype=np.uint8)[0] = 1
    return x


def object_array_of_array(x):
    np.asarray(NUMBERS)[0] = 5.0
    return x


def file_array_to_file(x):
    W.tofile("numbers.bin")
    return x


def file_array_dumped(x):
    W.dump("numbers.pickle")
    return x


def file_argument_to_file(x):
    x.tofile("numbers.bin")
    return x


def argument_setflags(x):
    x.setflags(write=False)
    return x


def argument_flags(x):
    x.flags.writeable = False
    return x


def object_polynomial(x):
    POLYNOMIAL[0] = 5.0
    return x
