"""Modules with a function `f`, and what changes what it reads.

Classes: inheritance, descriptors, metaclasses, slots.
"""

from __future__ import annotations

CHANGES = {
    "class method of an object that its class overrides": (
        "class B:\n"
        "  k=1.0\n"
        "  def g(s,x): return x*s.k\n"
        "class C(B):\n"
        "  g=classmethod(lambda cls,x: x*cls.k)\n"
        "c=C()\n"
        "def f(x): return c.g(x)",
        "C.g=classmethod(lambda cls,x: -x*cls.k)",
    ),
    "override on subclass": (
        "class B:\n  k=1.0\nclass C(B): pass\nc=C()\ndef f(x): return x*c.k",
        "C.k=3.0",
    ),
    "override on subclass C.k": (
        "class B:\n  k=1.0\nclass C(B): pass\ndef f(x): return x*C.k",
        "C.k=3.0",
    ),
    "method override subclass": (
        "class B:\n  def g(self): return 1.0\nclass C(B): pass\nc=C()\ndef f(x): return x*c.g()",
        "C.g=lambda self: 3.0",
    ),
    "method override instance": (
        "class B:\n  def g(self): return 1.0\nclass C(B): pass\nc=C()\ndef f(x): return x*c.g()",
        "c.g=lambda: 3.0",
    ),
    "static override subclass": (
        "class B:\n"
        "  @staticmethod\n"
        "  def g(): return 1.0\n"
        "class C(B): pass\n"
        "def f(x): return x*C.g()",
        "C.g=staticmethod(lambda: 3.0)",
    ),
    "classmethod override subclass": (
        "class B:\n"
        "  @classmethod\n"
        "  def g(cls): return 1.0\n"
        "class C(B): pass\n"
        "def f(x): return x*C.g()",
        "C.g=classmethod(lambda cls: 3.0)",
    ),
    "property override subclass": (
        "class B:\n"
        "  @property\n"
        "  def k(self): return 1.0\n"
        "class C(B): pass\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "C.k=property(lambda s: 3.0)",
    ),
    "property deleted from sub": (
        "class B:\n  k=1.0\nclass C(B):\n  k=2.0\nc=C()\ndef f(x): return x*c.k",
        "del C.k",
    ),
    "super() target override": (
        "class A:\n"
        "  def g(self): return 1.0\n"
        "class B(A): pass\n"
        "class C(B):\n"
        "  def g(self): return super().g()\n"
        "c=C()\n"
        "def f(x): return x*c.g()",
        "B.g=lambda self: 3.0",
    ),
    "super() attr": (
        "class A:\n"
        "  k=1.0\n"
        "class B(A): pass\n"
        "class C(B):\n"
        "  k=9.0\n"
        "  def g(self): return super().k\n"
        "c=C()\n"
        "def f(x): return x*c.g()",
        "B.k=3.0",
    ),
    "__class__ reassigned": (
        "class A:\n  k=1.0\nclass B:\n  k=3.0\nc=A()\ndef f(x): return x*c.k",
        "c.__class__=B",
    ),
    "__class__ reassigned, native types": (
        "class A:\n"
        "  def g(s): return 1.0\n"
        "class B:\n"
        "  def g(s): return 3.0\n"
        "c=A()\n"
        "def f(x): return x*c.g()",
        "c.__class__=B",
    ),
    "getattribute": (
        "class C:\n"
        "  d={'k':1.0}\n"
        "  def __getattribute__(s,n): return type(s).d[n] if n in ('k',) else "
        "object.__getattribute__(s,n)\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "C.d['k']=3.0",
    ),
    "getattribute replaced": (
        "class C:\n"
        "  def __getattribute__(s,n): return 1.0 if n=='k' else object.__getattribute__(s,n)\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "C.__getattribute__=lambda s,n: 3.0 if n=='k' else object.__getattribute__(s,n)",
    ),
    "getattr replaced": (
        "class C:\n"
        "  def __getattr__(s,n):\n"
        "    if n=='k': return 1.0\n"
        "    raise AttributeError(n)\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "def _g(s,n):\n  if n=='k': return 3.0\n  raise AttributeError(n)\nC.__getattr__=_g",
    ),
    "getattr appears": (
        "class C: pass\nc=C()\ndef f(x): return x*getattr(c,'k',1.0)",
        "def _g(s,n):\n  if n=='k': return 3.0\n  raise AttributeError(n)\nC.__getattr__=_g",
    ),
    "getattr: attr appears on instance": (
        "class C:\n"
        "  def __getattr__(s,n):\n"
        "    if n=='k': return 1.0\n"
        "    raise AttributeError(n)\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "c.k=3.0",
    ),
    "getattr: hasattr with getattr class": (
        "class C:\n"
        "  def __init__(s): s.d={}\n"
        "  def __getattr__(s,n):\n"
        "    if n.startswith('_') or n=='d': raise AttributeError(n)\n"
        "    try: return s.d[n]\n"
        "    except KeyError: raise AttributeError(n)\n"
        "c=C()\n"
        "def f(x): return x*getattr(c,'k',1.0)",
        "c.d['k']=3.0",
    ),
    "getattr: attr on class appears": (
        "class C:\n"
        "  def __getattr__(s,n):\n"
        "    if n=='k': return 1.0\n"
        "    raise AttributeError(n)\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "C.k=3.0",
    ),
    "getattr + instance appears when missing": (
        "class C:\n"
        "  def __getattr__(s,n): raise AttributeError(n)\n"
        "c=C()\n"
        "def f(x): return x*getattr(c,'k',1.0)",
        "c.k=3.0",
    ),
    "descriptor state": (
        "class D:\n"
        "  v=1.0\n"
        "  def __get__(s,o,t=None): return s.v\n"
        "class C:\n"
        "  k=D()\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "vars(C)['k'].v=3.0",
    ),
    "descriptor class attr": (
        "class D:\n"
        "  def __init__(s): s.v=1.0\n"
        "  def __get__(s,o,t=None): return s.v\n"
        "class C:\n"
        "  k=D()\n"
        "c=C()\n"
        "def f(x): return x*C.k",
        "vars(C)['k'].v=3.0",
    ),
    "descriptor __get__ replaced": (
        "class D:\n"
        "  def __get__(s,o,t=None): return 1.0\n"
        "class C:\n"
        "  k=D()\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "D.__get__=lambda s,o,t=None: 3.0",
    ),
    "data descriptor": (
        "class D:\n"
        "  def __init__(s): s.v=1.0\n"
        "  def __get__(s,o,t=None): return s.v if o is not None else s\n"
        "  def __set__(s,o,v): s.v=v\n"
        "class C:\n"
        "  k=D()\n"
        "c=C()\n"
        "def f(x): return x*c.k",
        "c.k=3.0",
    ),
    "descriptor per instance": (
        "class D:\n"
        "  def __get__(s,o,t=None): return o._v\n"
        "class C:\n"
        "  k=D()\n"
        "c=C(); c._v=1.0\n"
        "def f(x): return x*c.k",
        "c._v=3.0",
    ),
    "slots missing": (
        "class C:\n  __slots__=('k',)\nc=C()\ndef f(x): return x*getattr(c,'k',1.0)",
        "c.k=3.0",
    ),
    "slots deleted": (
        "class C:\n  __slots__=('k',)\nc=C(); c.k=2.0\ndef f(x): return x*getattr(c,'k',1.0)",
        "del c.k",
    ),
    "attr deleted": (
        "class C: pass\nc=C(); c.k=2.0\ndef f(x): return x*getattr(c,'k',1.0)",
        "del c.k",
    ),
    "instance dict replaced": (
        "class C: pass\nc=C(); c.k=2.0\ndef f(x): return x*c.k",
        "c.__dict__={'k':3.0}",
    ),
    "metaclass attr": (
        "class M(type):\n  k=1.0\nclass C(metaclass=M): pass\ndef f(x): return x*C.k",
        "M.k=3.0",
    ),
    "metaclass property": (
        "class M(type):\n"
        "  v=1.0\n"
        "  @property\n"
        "  def k(cls): return cls.v\n"
        "class C(metaclass=M): pass\n"
        "def f(x): return x*C.k",
        "M.v=3.0",
    ),
    "metaclass getattr": (
        "class M(type):\n"
        "  d={'k':1.0}\n"
        "  def __getattr__(cls,n):\n"
        "    try: return M.d[n]\n"
        "    except KeyError: raise AttributeError(n)\n"
        "class C(metaclass=M): pass\n"
        "def f(x): return x*C.k",
        "M.d['k']=3.0",
    ),
    "metaclass call": (
        "class M(type):\n"
        "  def __call__(cls,*a): return 1.0\n"
        "class C(metaclass=M): pass\n"
        "def f(x): return x*C()",
        "M.__call__=lambda cls,*a: 3.0",
    ),
    "metaclass len": (
        "class M(type):\n"
        "  def __len__(cls): return 1\n"
        "class C(metaclass=M): pass\n"
        "def f(x): return x*len(C)",
        "M.__len__=lambda cls: 3",
    ),
    "metaclass getitem": (
        "class M(type):\n"
        "  d={'a':1.0}\n"
        "  def __getitem__(cls,k): return M.d[k]\n"
        "class C(metaclass=M): pass\n"
        "def f(x): return x*C['a']",
        "M.d['a']=3.0",
    ),
    "class bases changed": (
        "class A:\n  k=1.0\nclass B:\n  k=3.0\nclass C(A): pass\nc=C()\ndef f(x): return x*c.k",
        "C.__bases__=(B,)",
    ),
    "class bases changed C.k": (
        "class A:\n  k=1.0\nclass B:\n  k=3.0\nclass C(A): pass\ndef f(x): return x*C.k",
        "C.__bases__=(B,)",
    ),
    "class bases changed method": (
        "class A:\n"
        "  def g(s): return 1.0\n"
        "class B:\n"
        "  def g(s): return 3.0\n"
        "class C(A): pass\n"
        "c=C()\n"
        "def f(x): return x*c.g()",
        "C.__bases__=(B,)",
    ),
    "isinstance after bases": (
        "class A: pass\n"
        "class B: pass\n"
        "class C(A): pass\n"
        "c=C()\n"
        "def f(x): return x*(2.0 if isinstance(c,A) else 1.0)",
        "C.__bases__=(B,)",
    ),
    "instancecheck replaced": (
        "class M(type):\n"
        "  def __instancecheck__(cls,o): return False\n"
        "class A(metaclass=M): pass\n"
        "c=object()\n"
        "def f(x): return x*(2.0 if isinstance(c,A) else 1.0)",
        "M.__instancecheck__=lambda cls,o: True",
    ),
    "property setter state": (
        "class C:\n"
        "  @property\n"
        "  def k(s): return s._k\n"
        "  @k.setter\n"
        "  def k(s,v): s._k=v\n"
        "c=C(); c.k=1.0\n"
        "def f(x): return x*c.k",
        "c.k=3.0",
    ),
    "cached_property cached": (
        "class C:\n"
        "  a=1.0\n"
        "  @functools.cached_property\n"
        "  def k(s): return s.a\n"
        "c=C(); c.k\n"
        "def f(x): return x*c.k",
        "c.k=3.0",
    ),
    "type() dynamic attr": ("C=type('C',(),{'k':1.0})\ndef f(x): return x*C.k", "C.k=3.0"),
    "abc class attr": ("import abc\nclass C(abc.ABC):\n  k=1.0\ndef f(x): return x*C.k", "C.k=3.0"),
    "generic class attr": (
        "from typing import Generic, TypeVar\n"
        "T=TypeVar('T')\n"
        "class C(Generic[T]):\n"
        "  k=1.0\n"
        "def f(x): return x*C[int].k",
        "C.k=3.0",
    ),
    "__mro__": (
        "class A: pass\n"
        "class B: pass\n"
        "class C(A): pass\n"
        "def f(x): return x*(2.0 if A in C.__mro__ else 1.0)",
        "C.__bases__=(B,)",
    ),
    "C.__doc__": ("class C:\n  'a'\ndef f(x): return x*len(C.__doc__)", "C.__doc__='abc'"),
    "C.__module__": ("class C: pass\ndef f(x): return x*len(C.__module__)", "C.__module__='abc'"),
    "dunder class attr": (
        "class C:\n  __k__=1.0\nc=C()\ndef f(x): return x*c.__k__",
        "C.__k__=3.0",
    ),
    "dunder instance attr": (
        "class C: pass\nc=C(); c.__k__=1.0\ndef f(x): return x*c.__k__",
        "c.__k__=3.0",
    ),
    "dunder class attr by class": (
        "class C:\n  __k__=1.0\ndef f(x): return x*C.__k__",
        "C.__k__=3.0",
    ),
    "slots with base dict": (
        "class B: pass\nclass C(B):\n  __slots__=('k',)\nc=C(); c.k=1.0\ndef f(x): return x*c.k",
        "c.k=3.0",
    ),
    "nested attr chain class": (
        "class A: pass\nclass B: pass\nA.b=B; B.k=1.0\ndef f(x): return x*A.b.k",
        "class D: k=3.0\nA.b=D",
    ),
}
