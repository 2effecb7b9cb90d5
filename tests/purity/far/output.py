"""Functions that print, log and write by other names of output, and by what Python calls itself.

As `impure.py`.
"""

from __future__ import annotations

import code
import csv
import fileinput
import functools
import io
import json
import logging
import pickle
import pprint
import select
import sys
import traceback
import warnings
from contextlib import redirect_stderr

import numpy as np

from tests.purity.far.own_classes import Field

LOG = logging.getLogger("tests.purity.far")
LOG.addHandler(logging.StreamHandler(io.StringIO()))
LOG.propagate = False
SAY = functools.partial(print, "now:")
BUFFER = io.StringIO()
BYTES = io.BytesIO()
WRITER = csv.writer(BUFFER)
PICKLER = pickle.Pickler(BYTES)


class Talker:
    """Prints by every special method."""

    def __repr__(self):
        print("repr")
        return "Talker()"

    def __bool__(self):
        print("bool")
        return True

    def __len__(self):
        print("len")
        return 1

    def __getitem__(self, k):
        print("item")
        return 1.0

    def __iter__(self):
        print("iter")
        return iter([1.0])

    def __enter__(self):
        print("enter")
        return self

    def __exit__(self, *error):
        return None

    def __call__(self, x):
        print("call")
        return x

    def __getattr__(self, name):
        print("attribute", name)
        return 1.0

    def __rmul__(self, x):
        print("multiplied")
        return x

    __array_ufunc__ = None

    def __eq__(self, other):
        print("equal")
        return True

    __hash__ = object.__hash__


TALKER = Talker()


class Row:
    field = Field()


ROW = Row()


class Meta(type):
    def __call__(cls, *args):
        print("making")
        return super().__call__(*args)


class Made(metaclass=Meta):
    pass


class Announced:
    def __init_subclass__(cls):
        print("subclass")


def output_original_stdout(x):
    sys.__stdout__.write("x")
    return x


def output_original_stderr(x):
    print("x", file=sys.__stderr__)
    return x


def output_partial_outside(x):
    SAY("x")
    return x


def output_flushed(x):
    sys.stdout.flush()
    return x


def output_in_memory_from_outside(x):
    BYTES.write(b"x")
    return x


def output_bytes_by_pickle(x):
    pickle.dump([1], BYTES)
    return x


def object_pickler(x):
    PICKLER.dump([1])
    return x


def output_json_into_buffer(x):
    json.dump([1], BUFFER)
    return x


def object_csv_writer(x):
    WRITER.writerow([1, 2])
    return x


def output_csv_into_buffer(x):
    csv.writer(BUFFER).writerow([1, 2])
    return x


def output_pprint(x):
    pprint.pprint({"shape": x.shape})
    return x


def output_traceback(x):
    try:
        raise ValueError("x")
    except ValueError:
        traceback.print_exc()
    return x


def output_warn_explicit(x):
    warnings.warn_explicit("x", UserWarning, "file.py", 1)
    return x


def output_logging_method_by_name(x):
    getattr(LOG, "war" + "ning")("x")
    return x


def output_log_error_with_traceback(x):
    try:
        raise ValueError("x")
    except ValueError:
        LOG.exception("failed")
    return x


def output_handler(x):
    LOG.handlers[0].emit(LOG.makeRecord("a", 40, "f", 1, "m", (), None))
    return x


def output_console(x):
    code.InteractiveConsole().write("x")
    return x


def output_display_hook(x):
    sys.displayhook(3)
    return x


def output_exception_hook(x):
    sys.excepthook(ValueError, ValueError("x"), None)
    return x


def output_help(x):
    help(len)
    return x


def output_exec(x):
    exec("print('x')")
    return x


def output_eval(x):
    return x * eval("print('x') or 2")


def output_compiled(x):
    exec(compile("import sys; sys.stdout.write('x')", "<text>", "exec"), {})
    return x


def output_in_repr(x):
    text = f"{TALKER!r}"
    return x * len(text)


def output_in_bool(x):
    return x * 2 if TALKER else x


def output_in_len(x):
    return x * len(TALKER)


def output_in_item(x):
    return x * TALKER[0]


def output_in_iteration(x):
    for factor in TALKER:
        x = x * factor
    return x


def output_in_with(x):
    with TALKER:
        return x


def output_in_call(x):
    return TALKER(x)


def output_in_getattr(x):
    return x * TALKER.anything


def output_in_operator(x):
    return x * TALKER


def output_in_comparison(x):
    return x * 2 if TALKER == 3 else x


def output_in_descriptor(x):
    return x * ROW.field


def object_descriptor_set(x):
    ROW.field = 2.0
    return x


def output_in_metaclass(x):
    Made()
    return x


def output_in_init_subclass(x):
    class More(Announced):
        pass

    return x


def output_in_formatted(x):
    class Shown:
        def __format__(self, how):
            print("formatted")
            return "x"

    f"{Shown():x}"
    return x


def output_reduced(x):
    functools.reduce(lambda a, b: print(a), [1, 2, 3])
    return x


def output_filtered(x):
    list(filter(print, [1]))
    return x


def output_by_min_key(x):
    return x * min([1, 2], key=lambda v: print(v) or v)


def output_in_sort_key(x):
    row = [2, 1]
    row.sort(key=lambda v: sys.stdout.write("x") and v)
    return x * row[0]


def output_in_default_factory(x):
    import collections  # noqa: PLC0415

    return x * len(collections.defaultdict(lambda: print("x") or [1])["k"])


def output_in_regular_expression(x):
    import re  # noqa: PLC0415

    re.sub("a", lambda m: print(m) or "b", "a")
    return x


def output_redirected_stderr(x):
    with redirect_stderr(BUFFER):
        print("x", file=sys.stderr)
    return x


def output_numpy_print(x):
    np.info(np.sum)
    return x


def file_numpy_savetxt(x):
    np.savetxt(BUFFER, np.zeros(2))
    return x


def output_by_walrus(x):
    return x * (2 if (shown := print("x")) is None else shown)


def output_star_import(x):
    names = {}
    exec("from builtins import *", names)
    names["print"]("x")
    return x


def output_by_frame(x):
    sys._getframe().f_builtins["print"]("x")
    return x


def output_by_subclasses(x):
    import builtins  # noqa: PLC0415

    vars(builtins)["print"]("x")
    return x


def output_of_class_made_inside(x):
    class Inner:
        def __init__(self):
            print("made")

    Inner()
    return x


def output_input_by_stdin(x):
    return x * len(sys.stdin.read())


def file_fileinput(x):
    return x * len(list(fileinput.input(["nothing.txt"])))


def environment_logger_made_inside(x):
    log = logging.Logger("inner")
    log.addHandler(logging.StreamHandler(sys.stdout))
    log.warning("x")
    return x


def output_select(x):
    select.select([], [], [], 0)
    return x
