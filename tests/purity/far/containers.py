"""Functions that change containers from outside: nested ones, those of libraries, own classes.

As `impure.py`.
"""

from __future__ import annotations

import array
import ast
import collections
import contextlib
import contextvars
import ctypes
import decimal
import functools
import graphlib
import io
import json
import queue
import reprlib
import string
import threading
import types
import weakref
import xml.etree.ElementTree as ET

from tests.purity.far.own_classes import Plain, Rows, Table, Tags

ROWS = [[1.0], [2.0]]
TABLE = {"a": [1.0], "b": {"c": 2.0}}
ORDERED = collections.OrderedDict(a=1, b=2)
COUNTS = collections.Counter("aab")
RECENT = collections.deque([1, 2, 3], maxlen=3)
CHAIN = collections.ChainMap({"a": 1}, {"b": 2})
BYTES = bytearray(b"abc")
NUMBERS = array.array("d", [1.0, 2.0])
USER_LIST = collections.UserList([1])
USER_DICT = collections.UserDict(a=1)
TEXT = collections.UserString("a")
LOCAL = threading.local()
LEVEL = contextvars.ContextVar("LEVEL", default=0)
CONTEXT = contextvars.copy_context()
LINES = io.StringIO("a\nb\n")
TREE = ET.Element("a")
NODE = ast.Name("a")
SORTER = graphlib.TopologicalSorter({"a": {"b"}})
DECIMALS = decimal.Context(prec=5)
ERROR = ValueError("x")
POINT = (ctypes.c_double * 2)(1.0, 2.0)
QUEUE = queue.Queue()
STACK = queue.LifoQueue()
SIMPLE = queue.SimpleQueue()
PROXY = types.MappingProxyType({"a": [1]})
REPEATER = reprlib.Repr()
NAMES = types.SimpleNamespace(a=1, b=[1])
ALIVE = weakref.WeakKeyDictionary()
LEAKED = []
PLAIN = Plain()


OWN_ROWS, OWN_TAGS, OWN_TABLE = Rows([1]), Tags([1]), Table(a=1)


@functools.lru_cache
def counted(n):
    PLAIN.rows.append(n)
    return n


@functools.cache
def kept(n):
    LEAKED.append(n)
    return n


def object_nested_item(x):
    TABLE["b"]["c"] = 3.0
    return x


def object_nested_list(x):
    ROWS[0][0] = 5.0
    return x


def object_list_sorted(x):
    ROWS.sort(reverse=True)
    return x


def object_list_multiplied(x):
    rows = ROWS
    rows *= 2
    return x


def object_list_unpacked(x):
    ROWS[0], ROWS[1] = ROWS[1], ROWS[0]
    return x


def object_list_for_target(x):
    for ROWS[0] in (1, 2):
        pass
    return x


def object_list_with_target(x):

    with contextlib.nullcontext(3) as ROWS[0]:
        return x


def object_dict_popped(x):
    return x * TABLE.pop("a")[0]


def object_dict_popitem(x):
    TABLE.popitem()
    return x


def object_dict_cleared(x):
    TABLE.clear()
    return x


def object_dict_deleted(x):
    del TABLE["a"]
    return x


def object_dict_united(x):
    table = TABLE
    table |= {"z": 1}
    return x


def object_dict_by_type(x):
    dict.__setitem__(TABLE, "z", 1)
    return x


def object_list_by_type(x):
    list.append(ROWS, [3.0])
    return x


def object_ordered_moved(x):
    ORDERED.move_to_end("a")
    return x


def object_ordered_popped(x):
    ORDERED.popitem(last=False)
    return x


def object_counter_counted(x):
    COUNTS["z"] += 1
    return x


def object_counter_updated(x):
    COUNTS.update(a=1)
    return x


def object_deque_rotated(x):
    RECENT.rotate(1)
    return x


def object_deque_full(x):
    RECENT.append(4)
    return x


def object_deque_item(x):
    RECENT[0] = 7
    return x


def object_chain_new(x):
    CHAIN["z"] = 1
    return x


def object_chain_map(x):
    CHAIN.maps.append({})
    return x


def object_user_list(x):
    USER_LIST.append(2)
    return x


def object_user_list_data(x):
    USER_LIST.data[0] = 2
    return x


def object_user_dict(x):
    USER_DICT["b"] = 2
    return x


def object_user_string(x):
    TEXT.data = "b"
    return x


def object_bytes_extended(x):
    BYTES.extend(b"d")
    return x


def object_bytes_item(x):
    BYTES[0] = 0
    return x


def object_bytes_view(x):
    memoryview(BYTES)[0] = 0
    return x


def object_numbers_item(x):
    NUMBERS[0] = 5.0
    return x


def object_numbers_in_place(x):
    numbers = NUMBERS
    numbers *= 2
    return x


def object_mapping_inside(x):
    PROXY["a"].append(2)
    return x


def object_namespace_list(x):
    NAMES.b.append(2)
    return x


def object_namespace_deleted(x):
    del NAMES.a
    return x


def object_own_list(x):
    OWN_ROWS.push(2)
    return x


def object_own_set(x):
    OWN_TAGS.add(2)
    return x


def object_own_dict_missing(x):
    return x * OWN_TABLE["k"]


def object_queue_put(x):
    QUEUE.put_nowait(1)
    return x


def object_stack_put(x):
    STACK.put(1)
    return x


def object_simple_queue(x):
    SIMPLE.put(1)
    return x


def object_weak_dictionary(x):
    ALIVE[PLAIN] = 1
    return x


def object_repr_setting(x):
    REPEATER.maxlist = 2
    return x


def object_tree(x):
    TREE.set("k", "v")
    return x


def object_tree_text(x):
    TREE.text = "v"
    return x


def object_tree_child(x):
    ET.SubElement(TREE, "b")
    return x


def object_node(x):
    NODE.id = "b"
    return x


def object_sorter(x):
    SORTER.add("c")
    return x


def object_error_note(x):
    ERROR.add_note("x")
    return x


def object_decimal_flags(x):
    DECIMALS.clear_flags()
    DECIMALS.prec = 7
    return x


def object_ctypes_item(x):
    POINT[0] = 5.0
    return x


def object_cache_of_a_function(x):
    return x * counted(3)


def object_cache_of_another(x):
    return x * kept(3)


def object_cached_property(x):
    return x * PLAIN.cached


def object_local(x):
    LOCAL.a = 1
    return x


def object_context_set(x):
    LEVEL.set(2)
    return x


def object_context_run(x):
    CONTEXT.run(LEVEL.set, 2)
    return x


def output_buffer_read(x):
    return x * len(list(LINES))


def object_text_constant(x):
    string.ascii_letters = "a"
    return x


def object_json_encoder(x):
    json.JSONEncoder.item_separator = ";"
    return x
