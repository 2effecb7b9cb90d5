"""What a static argument reads or holds is looked at before each call too."""

from __future__ import annotations

import numpy as np
import pytest

from pyc.jit import jit
from tests.trace import changes
from tests.trace.test_captures import agree, module

X = np.array([1.5, 2.25, 3.0])

ARGUMENTS = {
    "method of a dict": ("D={'a':2.0}\ndef f(x,g): return x*g('a')", "D.get", "D['a']=3.0"),
    "method of a list": ("L=[1.0,2.0]\ndef f(x,g): return x*g(2.0)", "L.index", "L.insert(0,5.0)"),
    "method of a text": ("S='ab'\ndef f(x,g): return x*len(g())", "S.upper", "S='abc'"),
    "property of an enumeration": (
        "class E(enum.Enum):\n  A=1.0\n  @property\n  def k(s): return K*s.value\nK=1.0\n"
        "def f(x,e): return x*e.k",
        "E.A",
        "K=5.0",
    ),
    "attribute of a member": (
        "class E(enum.Enum):\n  A=1.0\nE.A.w=3.0\ndef f(x,e): return x*e.w",
        "E.A",
        "E.A.w=5.0",
    ),
    "members in a tuple": (
        "class E(enum.Enum):\n  A=1.0\nE.A.w=3.0\ndef f(x,e): return x*e[0].w",
        "(E.A,)",
        "E.A.w=5.0",
    ),
    "class attribute": ("class C: k=1.0\ndef f(x,c): return x*c.k", "C", "C.k=2.0"),
    "method of a class": (
        "class C:\n  @classmethod\n  def m(c,x): return x*k\nk=1.0\ndef f(x,c): return c.m(x)",
        "C",
        "k=3.0",
    ),
    "bound to a class": (
        "class C:\n  k=1.0\n  @classmethod\n  def m(c,x): return x*c.k\ndef f(x,m): return m(x)",
        "C.m",
        "C.k=2.0",
    ),
    "global of a function": ("k=1.0\ndef g(x): return x*k\ndef f(x,h): return h(x)", "g", "k=2.0"),
    "array of a function": (
        "w=np.ones(3)\ndef g(x): return x*w\ndef f(x,h): return h(x)",
        "g",
        "w[1]=2.0",
    ),
    "attribute of a function": (
        "def g(x): return x*g.a\ng.a=1.0\ndef f(x,h): return h(x)",
        "g",
        "g.a=2.0",
    ),
    "list in a closure": (
        "L=[1.0]\ndef mk(o): return lambda x: x*o[0]\ndef f(x,h): return h(x)",
        "mk(L)",
        "L[0]=2.0",
    ),
    "object in a closure": (
        "class C: k=1.0\nc=C()\ndef mk(o): return lambda x: x*o.k\ndef f(x,h): return h(x)",
        "mk(c)",
        "c.k=2.0",
    ),
    "other object in a closure": (
        "class C: k=1.0\nc=C()\ndef mk(o): return lambda x: x*o.k\ndef f(x,h): return h(x)",
        "mk(c)",
        "c=C(); c.k=2.0",
    ),
    "default": ("L=[1.0]\ndef f(x,h): return h(x)", "lambda x,k=L: x*k[0]", "L[0]=2.0"),
    "list in a partial": (
        "L=[1.0]\ndef g(k,x): return x*k[0]\ndef f(x,h): return h(x)",
        "functools.partial(g,L)",
        "L[0]=2.0",
    ),
    "other list in a partial": (
        "L=[1.0]\ndef g(k,x): return x*k[0]\ndef f(x,h): return h(x)",
        "functools.partial(g,L)",
        "L=[2.0]",
    ),
    "array in a partial": (
        "W=np.ones(3)\ndef g(k,x): return x*k\ndef f(x,h): return h(x)",
        "functools.partial(g,W)",
        "W[0]=2.0",
    ),
    "object in a partial": (
        "class C: k=1.0\nc=C()\ndef g(o,x): return x*o.k\ndef f(x,h): return h(x)",
        "functools.partial(g,c)",
        "c.k=2.0",
    ),
    "number in a partial": (
        "c=1.0\ndef g(o,x): return x*o\ndef f(x,h): return h(x)",
        "functools.partial(g,c)",
        "c=2.0",
    ),
    "method in a partial": (
        "class C:\n  k=1.0\n  def m(s,x): return x*s.k\nc=C()\ndef f(x,h): return h(x)",
        "functools.partial(c.m)",
        "c.k=2.0",
    ),
    "functions in a set": (
        "k=1.0\ndef g(x): return x*k\nS=frozenset([g])\ndef f(x,h): return sum(a(x) for a in h)",
        "S",
        "k=3.0",
    ),
    "function with a cache": (
        "k=1.0\n@functools.lru_cache\ndef g(v): return v*k\ndef f(x,h): return x*h(2.0)",
        "g",
        "k=3.0; g.cache_clear()",
    ),
    "function of a frozen dataclass": (
        "@dataclass(frozen=True)\nclass C:\n  g: object\nq=1.0\ndef g(x): return x*q\n"
        "def f(x,c): return c.g(x)",
        "C(g)",
        "q=3.0",
    ),
}
"""A module with a function `f`, its second argument, and a statement that changes what is in it."""


@pytest.mark.parametrize("what", ARGUMENTS)
def test_a_change_gives_the_new_answer(what: str) -> None:
    source, given, change = ARGUMENTS[what]
    names = module(source, changes.HEADER)
    function = jit(names["F"])
    agree(function, X, eval(given, names))
    before = names["F"](X, eval(given, names))
    exec(change, names)
    agree(function, X, eval(given, names))
    assert not np.array_equal(before, names["F"](X, eval(given, names)))
