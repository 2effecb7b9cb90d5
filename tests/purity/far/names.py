"""Functions that assign names from outside, or put traced values where they outlive the call.

As `impure.py`.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import enum
import functools
import queue
import sys
import threading
import types
import weakref
import xml.etree.ElementTree as ET

import numpy as np

from tests.purity.far.own_classes import Plain, Rows, Slotted, Table, Tags

WORDS = np.array(["a", "b"], dtype=object)
TABLE = {"a": [1.0], "b": {"c": 2.0}}
RECENT = collections.deque([1, 2, 3], maxlen=3)
USER_LIST = collections.UserList([1])
LOCAL = threading.local()
LEVEL = contextvars.ContextVar("LEVEL", default=0)
TREE = ET.Element("a")
ERROR = ValueError("x")
QUEUE = queue.Queue()
ALIVE = weakref.WeakKeyDictionary()
MODULE = types.ModuleType("tests_purity_module")
MODULE.rate = 1.0
HOLDER = {}


def generated():
    k = 0
    while True:
        k += 1
        yield k


RUNNING = generated()


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


SLOTTED = Slotted()
PLAIN = Plain()


OWN_ROWS, OWN_TAGS, OWN_TABLE = Rows([1]), Tags([1]), Table(a=1)


def helper(x):
    return x


helper.calls = []
COUNT = 0
GONE = 1


def name_walrus_global(x):
    global COUNT
    return x * (COUNT := 2)


def name_deleted_global(x):
    global GONE
    del GONE
    return x


def name_for_target_global(x):
    global COUNT
    for COUNT in range(3):  # noqa: B007
        pass
    return x


def name_import_global(x):
    global json_again
    import json as json_again  # noqa: PLC0415

    return x


def name_function_global(x):
    global made_here

    def made_here():
        return 1

    return x


def name_with_target_global(x):
    global COUNT

    with contextlib.nullcontext(3) as COUNT:
        return x


def name_except_global(x):
    global COUNT
    try:
        raise ValueError
    except ValueError as COUNT:  # noqa: F841
        return x


def name_by_frame(x):
    sys._getframe().f_globals["COUNT"] = 3
    return x


def name_of_cell():
    count = 0

    def inner(x):
        return x * (1 + count)

    def function(x):
        function.__closure__  # noqa: B018
        inner.__closure__[0].cell_contents = 5
        return x

    return function


def name_popped(x):
    globals().pop("COUNT")
    return x


def name_all_cleared(x):
    globals().clear()
    return x


def object_leak_in_dict(x):
    HOLDER["x"] = x
    return x


def object_leak_in_closure():
    kept_here = []

    def function(x):
        kept_here.append(x)
        return x

    return function


def object_leak_in_default(x, kept_here=[]):  # noqa: B006
    kept_here.append(x)
    return x


def object_leak_in_attribute_of_function(x):
    helper.last = x
    return x


def object_leak_in_class(x):
    Plain.last = x
    return x


def object_leak_in_object(x):
    PLAIN.last = x
    return x


def object_leak_in_slots(x):
    SLOTTED.a = x
    return x


def object_leak_in_deque(x):
    RECENT.append(x)
    return x


def object_leak_in_user_list(x):
    USER_LIST.append(x)
    return x


def object_leak_in_object_array(x):
    WORDS[0] = x
    return x


def object_leak_in_exception(x):
    ERROR.value = x
    return x


def object_leak_in_context_variable(x):
    LEVEL.set(x)
    return x


def object_leak_in_module(x):
    MODULE.last = x
    return x


def object_leak_in_member(x):
    Colour.BLUE.last = x
    return x


def object_leak_in_local(x):
    LOCAL.last = x
    return x


def object_leak_in_queue(x):
    QUEUE.put(x)
    return x


def object_leak_in_generator(x):
    RUNNING.send(x)
    return x


def object_leak_in_weak_dictionary(x):
    ALIVE[PLAIN] = x
    return x


def object_leak_in_nested(x):
    TABLE["b"]["x"] = [x]
    return x


def object_leak_in_set(x):
    OWN_TAGS.add(id(x))
    OWN_TAGS.add((1, 2))
    return x


def object_leak_in_partial(x):
    PARTIAL.keywords["k"] = x
    return x


def object_leak_in_tree(x):
    TREE.text = x
    return x


PARTIAL = functools.partial(helper)
