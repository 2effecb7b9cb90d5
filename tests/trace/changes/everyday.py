"""Modules with a function `f`, and what changes what it reads.

What users read every day.
"""

from __future__ import annotations

HEADER = """
import collections, functools, math, types
import numpy as np
from dataclasses import dataclass, field
from typing import NamedTuple
"""

CHANGES = {
    "a number": ("k = 2.0\ndef f(x): return x * k", "k = 3.0"),
    "an integer": ("n = 2\ndef f(x): return x ** n + np.arange(3)[n]", "n = 1"),
    "a bool": ("fast = True\ndef f(x): return x if fast else -x", "fast = False"),
    "a text": ("mode = 'a'\ndef f(x): return x if mode == 'a' else -x", "mode = 'b'"),
    "None": ("w = None\ndef f(x): return x if w is None else x * w", "w = 2"),
    "from None": ("w = 2\ndef f(x): return x if w is None else x * w", "w = None"),
    "the sign of a zero": ("z = 0.0\ndef f(x): return np.arctan2(z, -x)", "z = -0.0"),
    "the type of a number": ("k = 2\ndef f(x): return np.full(3, k)", "k = 2.0"),
    "a NumPy scalar": (
        "k = np.float32(2)\ndef f(x): return x.astype(np.float32) * k",
        "k = np.float64(2)",
    ),
    "a dtype": ("d = np.dtype('f4')\ndef f(x): return x.astype(d)", "d = np.dtype('f8')"),
    "a type": ("d = np.float32\ndef f(x): return x.astype(d)", "d = np.float64"),
    "an array": ("W = np.ones(3)\ndef f(x): return x * W", "W = np.zeros(3)"),
    "the content of an array": ("W = np.ones(3)\ndef f(x): return x * W", "W[1] = 7"),
    "the shape of an array": ("W = np.ones(3)\ndef f(x): return x * W", "W = np.ones((2, 3))"),
    "the dtype of an array": ("W = np.ones(3)\ndef f(x): return x * W", "W = W.astype('c16')"),
    "an array to a number": ("W = np.ones(3)\ndef f(x): return x * W", "W = 2.0"),
    "an array of rank 0": ("W = np.array(2.0)\ndef f(x): return x * W", "W[()] = 3"),
    "a strided array": ("W = np.ones(3)\ndef f(x): return x * W", "W = np.arange(6.0)[::2]"),
    "an array that Python needs": (
        "n = np.array([2, 3])\ndef f(x): return np.zeros(n) + x.sum()",
        "n[0] = 4",
    ),
    "an array that decides": ("W = np.ones(3)\ndef f(x): return x if W[0] else -x", "W[0] = 0"),
    "a text array": ("W = np.array(['a'])\ndef f(x): return x if W[0] == 'a' else -x", "W[0]='b'"),
    "an item of a list": ("L = [1.0, 2.0]\ndef f(x): return x * L[0]", "L[0] = 5.0"),
    "the length of a list": ("L = [1.0, 2.0]\ndef f(x): return x * len(L)", "L.append(1.0)"),
    "a list to a tuple": ("L = [1.0]\ndef f(x): return x * isinstance(L, list)", "L = (1.0,)"),
    "an array in a list": ("L = [X1, X1]\ndef f(x): return x * L[1]", "L[1] = np.zeros(3)"),
    "a nested list": ("L = [[1, [2]]]\ndef f(x): return x * L[0][1][0]", "L[0][1][0] = 9"),
    "a long list": ("L = [1.0] * 1000\ndef f(x): return x * sum(L)", "L[999] = 5.0"),
    "a long tuple": ("L = (1.0,) * 1000\ndef f(x): return x * sum(L)", "L = (2.0,) * 1000"),
    "an item of a dict": ("D = {'a': 1.0}\ndef f(x): return x * D['a']", "D['a'] = 2.0"),
    "a key of a dict": ("D = {'a': 1.0}\ndef f(x): return x * len(D)", "D['b'] = 2.0"),
    "the order of a dict": (
        "D = {'a': 1.0, 'b': 2.0}\ndef f(x): return x * next(iter(D.values()))",
        "D['a'] = D.pop('a')",
    ),
    "an array in a dict": ("P = {'w': X1}\ndef f(x): return x * P['w']", "P['w'] = np.zeros(3)"),
    "an ordered dict": (
        "P = collections.OrderedDict(w=X1)\ndef f(x): return x * P['w']",
        "P['w'] = np.zeros(3)",
    ),
    "a default dict": (
        "P = collections.defaultdict(float, k=1.0)\ndef f(x): return x * P['k']",
        "P['k'] = 3.0",
    ),
    "a deque": ("Q = collections.deque([X1, X1])\ndef f(x): return x * Q[0]", "Q[0] = -X1"),
    "a set": ("S = {1, 2}\ndef f(x): return x * len(S)", "S.add(3)"),
    "a frozen set": ("S = frozenset([1])\ndef f(x): return x * (2 in S)", "S = frozenset([2])"),
    "a tuple": ("T = (1.0, (2.0, 3))\ndef f(x): return x * T[1][0]", "T = (1.0, (4.0, 3))"),
    "an array in a tuple": ("T = (1, X1)\ndef f(x): return x * T[1]", "T = (1, X1 * 2)"),
    "a slice": ("s = slice(0, 2)\ndef f(x): return x[s]", "s = slice(1, 3)"),
    "a range": ("r = range(2)\ndef f(x): return x * len(r)", "r = range(3)"),
    "a named tuple": (
        "class P(NamedTuple):\n    k: float\n    w: object\np = P(2.0, X1)\n"
        "def f(x): return x * p.k + p.w",
        "p = P(3.0, X1 * 2)",
    ),
    "an attribute": (
        "class C: pass\nc = C(); c.k = 2.0\ndef f(x): return x * c.k",
        "c.k = 3.0",
    ),
    "an array in an attribute": (
        "class C: pass\nc = C(); c.w = X1\ndef f(x): return x * c.w",
        "c.w = np.zeros(3)",
    ),
    "the object": (
        "@dataclass\nclass C:\n    k: float = 2.0\nc = C()\ndef f(x): return x * c.k",
        "c = C(7.0)",
    ),
    "the class of the object": (
        "class B:\n    k = 2.0\n    def g(self, x): return x * self.k\n"
        "class C(B):\n    def g(self, x): return -x\nc = B()\ndef f(x): return c.g(x)",
        "c = C()",
    ),
    "a slot": (
        "class C:\n    __slots__ = ('k',)\nc = C(); c.k = 2.0\ndef f(x): return x * c.k",
        "c.k = 3.0",
    ),
    "an attribute of an attribute": (
        "class C: pass\na = C(); a.b = C(); a.b.k = 2.0\ndef f(x): return x * a.b.k",
        "a.b.k = 3.0",
    ),
    "a list in an attribute": (
        "class C: pass\nc = C(); c.rows = [1.0, 2.0]\ndef f(x): return x * c.rows[1]",
        "c.rows[1] = 5.0",
    ),
    "a class attribute": ("class C:\n    k = 2.0\ndef f(x): return x * C.k", "C.k = 3.0"),
    "a class attribute by an object": (
        "class C:\n    k = 2.0\nc = C()\ndef f(x): return x * c.k",
        "C.k = 3.0",
    ),
    "a class attribute of a base": (
        "class B:\n    k = 2.0\nclass C(B): pass\nc = C()\ndef f(x): return x * c.k",
        "B.k = 3.0",
    ),
    "a class attribute of an object made inside": (
        "class C:\n    k = 2.0\ndef f(x): return x * C().k",
        "C.k = 3.0",
    ),
    "an attribute that hides one of the class": (
        "class C:\n    k = 2.0\nc = C()\ndef f(x): return x * c.k",
        "c.k = 3.0",
    ),
    "an array of a class": ("class C:\n    w = X1\ndef f(x): return x * C.w", "C.w = -X1"),
    "a list of a class": ("class C:\n    w = [1, 2]\ndef f(x): return x * C.w[1]", "C.w[1] = 9"),
    "a method": (
        "class C:\n    def g(self, x): return x\nc = C()\ndef f(x): return c.g(x)",
        "C.g = lambda self, x: -x",
    ),
    "a method of one object": (
        "class C:\n    def g(self, x): return x\nc = C()\ndef f(x): return c.g(x)",
        "c.g = lambda x: -x",
    ),
    "a static method": (
        "class C:\n    @staticmethod\n    def g(x): return x\ndef f(x): return C.g(x)",
        "C.g = staticmethod(lambda x: -x)",
    ),
    "a class method": (
        "class C:\n    k = 2.0\n    @classmethod\n    def g(cls, x): return x * cls.k\n"
        "def f(x): return C.g(x)",
        "C.k = 3.0",
    ),
    "an operator": (
        "class C:\n    def __mul__(self, x): return x\nc = C()\ndef f(x): return c * x",
        "C.__mul__ = lambda self, x: -x",
    ),
    "a call": (
        "class C:\n    def __call__(self, x): return x\nc = C()\ndef f(x): return c(x)",
        "C.__call__ = lambda self, x: -x",
    ),
    "what a property reads": (
        "class C:\n    a = 1.0\n    @property\n    def k(self): return self.a * 2\n"
        "c = C()\ndef f(x): return x * c.k",
        "c.a = 5.0",
    ),
    "a property": (
        "class C:\n    @property\n    def k(self): return 2\nc = C()\ndef f(x): return x * c.k",
        "C.k = property(lambda self: 3)",
    ),
    "what a cached property reads": (
        "class C:\n    a = 1.0\n"
        "    @functools.cached_property\n    def k(self): return self.a * 2\n"
        "c = C()\ndef f(x): return x * c.k",
        "c.__dict__.pop('k', None); c.a = 5.0",
    ),
    "the dict of an object": (
        "class C: pass\nc = C(); c.k = 2.0\ndef f(x): return x * vars(c)['k']",
        "c.k = 3.0",
    ),
    "the number of attributes": (
        "class C: pass\nc = C(); c.k = 2.0\ndef f(x): return x * len(vars(c))",
        "c.j = 3.0",
    ),
    "whether there is an attribute": (
        "class C: pass\nc = C()\ndef f(x): return x * hasattr(c, 'k')",
        "c.k = 3.0",
    ),
    "a default of getattr": (
        "class C: pass\nc = C()\ndef f(x): return x * getattr(c, 'k', 1.0)",
        "c.k = 3.0",
    ),
    "an attribute that is answered": (
        "class C:\n    def __init__(self): self.d = {'k': 2.0}\n"
        "    def __getattr__(self, name):\n"
        "        if name.startswith('_') or name == 'd': raise AttributeError(name)\n"
        "        return self.d[name]\n"
        "c = C()\ndef f(x): return x * c.k",
        "c.d['k'] = 3.0",
    ),
    "a simple namespace": (
        "c = types.SimpleNamespace(k=2.0, w=X1)\ndef f(x): return x * c.k + c.w",
        "c.k = 3.0",
    ),
    "a subclass of dict": (
        "class C(dict): pass\nc = C(k=2.0)\ndef f(x): return x * c['k']",
        "c['k'] = 3.0",
    ),
    "a subclass of list": (
        "class C(list): pass\nc = C([2.0])\ndef f(x): return x * c[0]",
        "c[0] = 3.0",
    ),
    "a helper": ("def g(x): return x\ndef f(x): return g(x)", "def g(x): return -x"),
    "the code of a helper": (
        "def g(x): return x\ndef f(x): return g(x)",
        "g.__code__ = (lambda x: -x).__code__",
    ),
    "what a helper reads": ("k = 2.0\ndef g(x): return x * k\ndef f(x): return g(x)", "k = 5.0"),
    "a default": (
        "def g(x, k=2.0): return x * k\ndef f(x): return g(x)",
        "g.__defaults__ = (3.0,)",
    ),
    "a keyword default": (
        "def g(x, *, k=2.0): return x * k\ndef f(x): return g(x)",
        "g.__kwdefaults__['k'] = 3.0",
    ),
    "an array as a default": (
        "def g(x, w=X1): return x * w\ndef f(x): return g(x)",
        "g.__defaults__[0][0] = 9",
    ),
    "a list as a default": (
        "def g(x, w=[1.0]): return x * w[0]\ndef f(x): return g(x)",
        "g.__defaults__[0][0] = 9.0",
    ),
    "its own default": ("def f(x, k=2.0): return x * k", "F.__defaults__ = (3.0,)"),
    "an attribute of a function": (
        "def g(x): return x * g.k\ng.k = 2.0\ndef f(x): return g(x)",
        "g.k = 3.0",
    ),
    "a lambda in a dict": ("D = {'a': abs}\ndef f(x): return D['a'](x)", "D['a'] = lambda x: -x"),
    "a function of NumPy": ("g = np.sin\ndef f(x): return g(x)", "g = np.cos"),
    "a partial": (
        "def g(k, x): return x * k\nh = functools.partial(g, 2.0)\ndef f(x): return h(x)",
        "h = functools.partial(g, 3.0)",
    ),
    "a keyword of a partial": (
        "def g(x, k): return x * k\nh = functools.partial(g, k=2.0)\ndef f(x): return h(x)",
        "h.keywords['k'] = 3.0",
    ),
    "a bound method": (
        "class C:\n    k = 2.0\n    def g(self, x): return x * self.k\nc = C(); h = c.g\n"
        "def f(x): return h(x)",
        "c.k = 3.0",
    ),
    "what a cached function reads": (
        "k = 2.0\n@functools.lru_cache\ndef g(): return k\ndef f(x): return x * g()",
        "k = 3.0; g.cache_clear()",
    ),
    "a closure cell": (
        "def make():\n    k = 2.0\n    def f(x): return x * k\n"
        "    def change(new):\n        nonlocal k\n        k = new\n    return f, change\n"
        "f, change = make()",
        "change(3.0)",
    ),
    "an array in a closure cell": (
        "def make():\n    w = X1\n    def f(x): return x * w\n"
        "    def change(new):\n        nonlocal w\n        w = new\n    return f, change\n"
        "f, change = make()",
        "change(-X1)",
    ),
    "a name that hides a builtin": (
        "def f(x): return x * abs(-2.0)",
        "globals()['abs'] = lambda v: 5.0",
    ),
    "a name by `globals()`": ("k = 2.0\ndef f(x): return x * globals()['k']", "k = 3.0"),
    "a name of another module": (
        "m = types.ModuleType('m'); m.k = 2.0\ndef f(x): return x * m.k",
        "m.k = 3.0",
    ),
    "two names of one object": (
        "class C: pass\na = b = C(); a.k = 2.0\ndef f(x): return x * a.k + b.k",
        "b = C(); b.k = 9.0",
    ),
    "two names of one list": ("a = b = [2.0]\ndef f(x): return x * a[0] + b[0]", "b = [9.0]"),
    "two names of one array": ("a = b = X1\ndef f(x): return x * a + b", "b = X1 * 3"),
    "two names of one function": (
        "def g(x): return x\nh = g\ndef f(x): return g(x) + h(x)",
        "h = np.sin",
    ),
    "a name read in a loop body": (
        "k = 2.0\ndef f(x):\n    return pyc.lax.fori_loop(0, 3, lambda i, v: v * k, x)",
        "k = 3.0",
    ),
    "an array read in a loop body": (
        "W = X1\ndef f(x):\n    return pyc.lax.fori_loop(0, 3, lambda i, v: v * W, x)",
        "W = -X1",
    ),
}
"""A module with a function `f`, and a statement that changes what it reads (`F` is `f` itself)."""
