"""Functions that change enumerations, classes, functions and modules.

As `impure.py`.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import enum
import fractions
import functools
import json
import re
import sys
import types
import typing

import numpy as np

from tests.purity.far.own_classes import Plain, Slotted

MODULE = types.ModuleType("tests_purity_module")
sys.modules["tests_purity_module"] = MODULE
MODULE.rate = 1.0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

    def factor(self):
        return 2.0


SLOTTED = Slotted()
PLAIN = Plain()


class Named(str):
    pass


NAMED = Named("a")
NAMED.rows = [1]


class Counter:
    """A descriptor that counts."""

    reads = 0

    def __get__(self, instance, owner):
        Counter.reads += 1
        return 2.0


class Observed:
    value = Counter()


OBSERVED = Observed()


class Registry(type):
    known = []  # noqa: RUF012

    def __call__(cls, *args):
        Registry.known.append(cls)
        return super().__call__(*args)


class Registered(metaclass=Registry):
    pass


class Abstract(abc.ABC):  # noqa: B024
    pass


@dataclasses.dataclass
class Settings:
    rate: float = 1.0
    tags: list = dataclasses.field(default_factory=list)


SETTINGS = Settings()


@functools.singledispatch
def show(x):
    return x


def remembers(x, known={}):  # noqa: B006
    known["x"] = 1
    return x


def keyword_default(x, *, known=[]):  # noqa: B006
    known += [1]
    return x


def helper(x):
    return x


helper.calls = []


def closure():
    count, rows = 0, []

    def add():
        nonlocal count
        count += 1
        rows.append(count)
        return 2.0

    return add


ADD = closure()


def object_modules_attribute(x):
    sys.modules[__name__].COUNT = 3
    return x


def object_modules_setattr(x):
    setattr(sys.modules["tests_purity_module"], "rate", 2.0)  # noqa: B010
    return x


def object_member_attribute(x):
    Colour.RED.shade = 2
    return x


def object_member_value(x):
    Colour.RED._value_ = 5
    return x


def object_enumeration_attribute(x):
    Colour.shade = 2
    return x


def object_enumeration_setattr(x):
    setattr(Mode, "extra", 2)  # noqa: B010
    return x


def object_member_with_methods(x):
    Mode.FAST.extra = 2
    return x


def object_flag_attribute(x):
    Bits.A.extra = 2
    return x


def object_class_by_method(x):
    return x * Plain.count()


def object_class_by_static_method(x):
    return x * Plain.add()


def object_class_of_object(x):
    type(PLAIN).kind = "other"
    return x


def object_class_deleted(x):
    del Plain.kind
    return x


def object_class_method_replaced(x):
    Plain.count = classmethod(lambda cls: 1)
    return x


def object_class_of(x):
    PLAIN.__class__ = Observed
    return x


def object_descriptor(x):
    return x * OBSERVED.value


def object_metaclass(x):
    Registered()
    return x


def object_subclass_registered(x):
    class More(Plain):
        pass

    Plain.shared["more"] = More
    return x


def environment_abstract(x):
    Abstract.register(Plain)
    return x


def object_slots(x):
    SLOTTED.a = 2.0
    return x


def object_slots_list(x):
    SLOTTED.rows.append(2.0)
    return x


def object_slots_setattr(x):
    object.__setattr__(SLOTTED, "a", 2.0)
    return x


def object_slots_descriptor(x):
    Slotted.a.__set__(SLOTTED, 2.0)
    return x


def object_dataclass(x):
    SETTINGS.rate = 2.0
    return x


def object_dataclass_list(x):
    SETTINGS.tags.append("a")
    return x


def object_copied_shallow(x):
    again = copy.copy(SETTINGS)
    again.tags.append("a")
    return x


def object_text_subclass(x):
    NAMED.rows.append(2)
    return x


def object_text_subclass_attribute(x):
    NAMED.k = 2
    return x


def object_by_setitem(x):
    PLAIN["k"] = 2.0
    return x


def object_by_getitem(x):
    return x * PLAIN["k"]


def object_by_iadd(x):
    plain = PLAIN
    plain += 2.0
    return x


def object_by_with(x):
    with PLAIN:
        return x


def object_by_len(x):
    return x * len(PLAIN)


def object_by_bool(x):
    return x * 2 if PLAIN else x


def object_by_in(x):
    return x * (1 in PLAIN)


def object_by_call(x):
    return PLAIN(x)


def object_by_iteration(x):
    return x * sum(PLAIN)


def object_by_hash(x):
    return x * len({PLAIN: 1})


def object_by_equality(x):
    return x * (PLAIN == 1)


def object_attribute_deleted(x):
    del PLAIN.a
    return x


def object_delattr(x):
    delattr(PLAIN, "a")
    return x


def object_attribute_for_target(x):
    for PLAIN.a in (1.0, 2.0):
        pass
    return x


def object_attribute_unpacked(x):
    PLAIN.a, b = 1.0, 2.0
    return x * b


def object_vars_popped(x):
    vars(PLAIN).pop("a")
    return x


def object_default_dict(x):
    return remembers(x)


def object_default_keyword(x):
    return keyword_default(x)


def object_function_list(x):
    helper.calls.append(1)
    return x


def object_function_dict(x):
    helper.__dict__["k"] = 1
    return x


def object_function_name(x):
    helper.__name__ = "other"
    return x


def object_function_doc(x):
    helper.__doc__ = "other"
    return x


def object_closure_of_another(x):
    return x * ADD()


def object_dispatch_registered(x):
    show.register(int, lambda v: v)
    return x


def object_dispatch_decorated(x):
    @show.register
    def _(v: str):
        return v

    return x


def object_modules_item(x):
    sys.modules["nothing_here"] = MODULE
    return x


def object_modules_deleted(x):
    del sys.modules["tests_purity_module"]
    return x


def object_modules_popped(x):
    sys.modules.pop("tests_purity_module", None)
    return x


def object_modules_updated(x):
    sys.modules.update(nothing_here=MODULE)
    return x


def object_modules_default(x):
    sys.modules.setdefault("nothing_here", MODULE)
    return x


def object_module_patched(x):
    np.pi = 3.0
    return x


def object_module_function_patched(x):
    json.dumps = str
    return x


def name_module_vars(x):
    vars(json)["dumps"] = str
    return x


def object_module_of_users(x):
    MODULE.rate = 2.0
    return x


def object_module_of_users_deleted(x):
    del MODULE.rate
    return x


def object_builtin_patched(x):
    import builtins  # noqa: PLC0415

    builtins.len = len
    return x


def object_path_inserted(x):
    sys.path.insert(0, "/nowhere")
    return x


def object_meta_path(x):
    sys.meta_path.append(None)
    return x


def object_arguments_of_process(x):
    sys.argv[0] = "x"
    return x


def object_annotations(x):
    helper.__annotations__["x"] = int
    return x


def object_type_alias(x):
    typing.NamedTuple.__doc__ = "x"
    return x


def object_pattern_cache(x):
    re._cache = {}
    return x


def object_fraction(x):
    fractions.Fraction.extra = 1
    return x
