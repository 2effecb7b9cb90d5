"""Classes of the user whose objects change in what is done with them."""

from __future__ import annotations

import numpy as np


class Plain:
    kind = "plain"
    shared = {}  # noqa: RUF012

    def __init__(self):
        self.a = 1.0
        self.rows = [1.0]
        self.w = np.ones(3)

    @property
    def cached(self):
        if not hasattr(self, "_cached"):
            self._cached = 3.0
        return self._cached

    @classmethod
    def count(cls):
        cls.kind = "counted"
        return 2.0

    @staticmethod
    def add():
        Plain.shared["a"] = 1
        return 2.0

    def __setitem__(self, key, value):
        self.a = value

    def __getitem__(self, key):
        self.a += 1
        return self.a

    def __iadd__(self, other):
        self.a += other
        return self

    def __enter__(self):
        self.a = 5.0
        return self

    def __exit__(self, *error):
        self.a = 6.0

    def __len__(self):
        self.rows.append(1)
        return 2

    def __bool__(self):
        self.rows.append(1)
        return True

    def __contains__(self, x):
        self.rows.append(1)
        return True

    def __call__(self, x):
        self.last = x
        return x

    def __iter__(self):
        self.rows.append(1)
        return iter([1.0])

    def __hash__(self):
        self.rows.append(1)
        return 1

    def __eq__(self, other):
        self.rows.append(1)
        return True


class Slotted:
    __slots__ = ("a", "rows")

    def __init__(self):
        self.a, self.rows = 1.0, [1.0]


class Rows(list):
    def push(self, x):
        self.append(x)


class Tags(set):
    pass


class Table(dict):
    def __missing__(self, key):
        self[key] = 2.0
        return 2.0


class Field:
    """A descriptor that prints."""

    def __get__(self, instance, owner):
        print("get")
        return 1.0

    def __set__(self, instance, value):
        print("set")
