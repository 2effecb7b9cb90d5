"""Modules with a function `f`, and a statement that changes what it reads, for `test_captures.py`.

What is hard to see: attributes that appear, objects of the standard library, what lies behind
methods written in C, classes whose lookups are the user's own.
"""

from __future__ import annotations

HEADER = """
import argparse, array, collections, contextvars, copy, ctypes, dataclasses, decimal, enum
import fractions
import functools, importlib, itertools, locale, logging, math, operator, os, pathlib, queue, random
import re, string, sys, threading, types, uuid, warnings, weakref
import datetime, gc
import numpy as np
from dataclasses import dataclass, field
from typing import NamedTuple
"""

CHANGES = {
    "the text of a number": (
        "k = 0.5\ndef f(x): return x * len(repr(k)) * len(f'{k!r}')",
        "k = 0.25",
    ),
    "hasattr class appears": (
        "class C: pass\ndef f(x): return x*(2 if hasattr(C,'k') else 1)",
        "C.k=1",
    ),
    "getattr class default": ("class C: pass\ndef f(x): return x*getattr(C,'k',1.0)", "C.k=3.0"),
    "class attr missing try": (
        "class C: pass\ndef f(x):\n  try: return x*C.k\n  except AttributeError: return x",
        "C.k=3.0",
    ),
    "class attr missing, base gains": (
        "class B: pass\nclass C(B): pass\ndef f(x): return x*getattr(C,'k',1.0)",
        "B.k=3.0",
    ),
    "missing on type(self)": (
        "class C: pass\nc=C()\ndef f(x): return x*getattr(type(c),'k',1.0)",
        "C.k=3.0",
    ),
    "instance missing, class gains": (
        "class C: pass\nc=C()\ndef f(x): return x*getattr(c,'k',1.0)",
        "C.k=3.0",
    ),
    "module attr missing": (
        "m=types.ModuleType('m')\ndef f(x): return x*getattr(m,'k',1.0)",
        "m.k=3.0",
    ),
    "module hasattr": (
        "m=types.ModuleType('m')\ndef f(x): return x*(2 if hasattr(m,'k') else 1)",
        "m.k=3.0",
    ),
    "module stdlib getattr missing": (
        "def f(x): return x*getattr(string,'pwextra',1.0)",
        "string.pwextra=3.0",
    ),
    "module stdlib attr changed": (
        "string.pwk=1.0\ndef f(x): return x*string.pwk",
        "string.pwk=3.0",
    ),
    "in globals": ("def f(x): return x*(2 if 'extra' in globals() else 1)", "extra=1"),
    "globals get": ("def f(x): return x*globals().get('extra',1.0)", "extra=3.0"),
    "globals len": ("def f(x): return x*len(globals())", "extra9=3.0"),
    "globals iter": (
        "def f(x): return x*sum(1 for k in globals() if k.startswith('zz'))",
        "zzextra=3.0",
    ),
    "globals keys": (
        "def f(x): return x*len([k for k in globals().keys() if k.startswith('zz')])",
        "zzextra=3.0",
    ),
    "globals items": (
        "zza=1.0\n"
        "def f(x): return x*sum(v for k,v in list(globals().items()) if k.startswith('zz'))",
        "zza=3.0",
    ),
    "globals copy": ("zza=1.0\ndef f(x): return x*dict(globals())['zza']", "zza=3.0"),
    "vars of module": (
        "import sys as _s\nm=types.ModuleType('m'); m.k=1.0\ndef f(x): return x*vars(m)['k']",
        "m.k=3.0",
    ),
    "dir of module": ("m=types.ModuleType('m')\ndef f(x): return x*len(dir(m))", "m.k=3.0"),
    "dir of obj": ("class C: pass\nc=C()\ndef f(x): return x*len(dir(c))", "c.k=3.0"),
    "dir of class": ("class C: pass\ndef f(x): return x*len(dir(C))", "C.k=3.0"),
    "vars of class": ("class C: pass\ndef f(x): return x*len(vars(C))", "C.k=3.0"),
    "vars of class get": ("class C:\n  k=1.0\ndef f(x): return x*vars(C)['k']", "C.k=3.0"),
    "class __dict__ contains": (
        "class C: pass\ndef f(x): return x*(2 if 'k' in C.__dict__ else 1)",
        "C.k=3.0",
    ),
    "c.__dict__ get": (
        "class C: pass\nc=C()\ndef f(x): return x*c.__dict__.get('k',1.0)",
        "c.k=3.0",
    ),
    "builtin shadowed sum": ("def f(x): return x*sum([1,2])", "sum=lambda v: 10.0"),
    "builtins getattr missing": (
        "import builtins\ndef f(x): return x*getattr(builtins,'pwextra',1.0)",
        "builtins.pwextra=3.0",
    ),
    "builtin name missing": (
        "def f(x):\n  try: return x*pwmissing\n  except NameError: return x",
        "import builtins; builtins.pwmissing=3.0",
    ),
    "builtins attr by module": (
        "import builtins\nbuiltins.pwz=1.0\ndef f(x): return x*builtins.pwz",
        "builtins.pwz=3.0",
    ),
    "builtins attr by name": (
        "import builtins\nbuiltins.pwy=1.0\ndef f(x): return x*pwy",
        "builtins.pwy=3.0",
    ),
    "dict get missing": ("D={}\ndef f(x): return x*D.get('a',1.0)", "D['a']=3.0"),
    "key in dict": ("D={}\ndef f(x): return x*(2 if 'a' in D else 1)", "D['a']=3.0"),
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
    "func kwdefaults": (
        "def g(x,*,k=1.0): return x*k\ndef f(x): return g(x)",
        "g.__kwdefaults__={'k':3.0}",
    ),
    "func kwdefaults read": (
        "def g(x,*,k=1.0): return x*k\ndef f(x): return x*g.__kwdefaults__['k']",
        "g.__kwdefaults__['k']=3.0",
    ),
    "func defaults read": (
        "def g(x,k=1.0): return x*k\ndef f(x): return x*g.__defaults__[0]",
        "g.__defaults__=(3.0,)",
    ),
    "func defaults appear": (
        "def g(x,k=1.0): return x*k\ndef f(x):\n  return g(x, 2.0) if g.__defaults__ else x",
        "g.__defaults__=None",
    ),
    "func __code__ consts": (
        "def g(x): return x\ndef f(x): return x*g.__code__.co_argcount",
        "g.__code__=(lambda x,y: x).__code__",
    ),
    "func attr missing": ("def g(x): return x\ndef f(x): return x*getattr(g,'k',1.0)", "g.k=3.0"),
    "func attr hasattr": (
        "def g(x): return x\ndef f(x): return x*(2.0 if hasattr(g,'k') else 1.0)",
        "g.k=3.0",
    ),
    "func vars": ("def g(x): return x\ndef f(x): return x*len(vars(g))", "g.k=3.0"),
    "func __globals__": (
        "m=types.ModuleType('m')\n"
        "exec('k=1.0\\ndef g(x): return x*k', vars(m))\n"
        "g=m.g\n"
        "def f(x): return g(x)",
        "m.k=3.0",
    ),
    "func __globals__ read": (
        "k=1.0\ndef g(x): return x*k\ndef f(x): return x*g.__globals__['k']",
        "k=3.0",
    ),
    "func __closure__ cell": (
        "def mk():\n  k=1.0\n  def g(x): return x*k\n  return g\ng=mk()\ndef f(x): return g(x)",
        "g.__closure__[0].cell_contents=3.0",
    ),
    "func __closure__ read": (
        "def mk():\n"
        "  k=1.0\n"
        "  def g(x): return x*k\n"
        "  return g\n"
        "g=mk()\n"
        "def f(x): return x*g.__closure__[0].cell_contents",
        "g.__closure__[0].cell_contents=3.0",
    ),
    "cell empty then filled": (
        "def mk():\n"
        "  def g(x):\n"
        "    try: return x*k\n"
        "    except NameError: return x\n"
        "  def ch():\n"
        "    nonlocal k\n"
        "    k=3.0\n"
        "  return g,ch\n"
        "  k=0\n"
        "f,ch=mk()",
        "ch()",
    ),
    "__wrapped__": (
        "def dec(h):\n"
        "  @functools.wraps(h)\n"
        "  def w(x): return w.__wrapped__(x)\n"
        "  return w\n"
        "@dec\n"
        "def g(x): return x\n"
        "def f(x): return g(x)",
        "g.__wrapped__=lambda x: x*3",
    ),
    "partial args setstate": (
        "def g(k,x): return x*k\nh=functools.partial(g,1.0)\ndef f(x): return h(x)",
        "h.__setstate__((g,(3.0,),{},{}))",
    ),
    "partial func setstate": (
        "def g(k,x): return x*k\n"
        "def g2(k,x): return -x*k\n"
        "h=functools.partial(g,1.0)\n"
        "def f(x): return h(x)",
        "h.__setstate__((g2,(1.0,),{},{}))",
    ),
    "partial of C func": (
        "h=functools.partial(operator.mul,1.0)\ndef f(x): return h(x)",
        "h.__setstate__((operator.mul,(3.0,),{},{}))",
    ),
    "partial array arg": (
        "W=np.ones(3)\nh=functools.partial(np.multiply,W)\ndef f(x): return h(x)",
        "W[:]=3.0",
    ),
    "partialmethod": (
        "class C:\n"
        "  def g(s,k,x): return x*k\n"
        "  h=functools.partialmethod(g,1.0)\n"
        "c=C()\n"
        "def f(x): return c.h(x)",
        "C.h=functools.partialmethod(C.g,3.0)",
    ),
    "partialmethod args list": (
        "L=[1.0]\n"
        "class C:\n"
        "  def g(s,k,x): return x*k[0]\n"
        "  h=functools.partialmethod(g,L)\n"
        "c=C()\n"
        "def f(x): return c.h(x)",
        "L[0]=3.0",
    ),
    "lru warm": (
        "k=1.0\n@functools.lru_cache\ndef g(): return k\ng()\ndef f(x): return x*g()",
        "g.cache_clear(); k=3.0",
    ),
    "enum class replaced": (
        "class E(enum.Enum):\n  A=1.0\ndef f(x): return x*E.A.value",
        "class E(enum.Enum):\n  A=3.0",
    ),
    "enum attr": ("class E(enum.Enum):\n  A=1.0\nE.A.k=1.0\ndef f(x): return x*E.A.k", "E.A.k=3.0"),
    "enum class attr": (
        "class E(enum.Enum):\n  A=1.0\n  def g(self): return 1.0\ndef f(x): return x*E.A.g()",
        "E.g=lambda s: 3.0",
    ),
    "enum method reads global": (
        "k=1.0\nclass E(enum.Enum):\n  A=1.0\n  def g(self): return k\ndef f(x): return x*E.A.g()",
        "k=3.0",
    ),
    "exception class attr": ("class Er(Exception):\n  k=1.0\ndef f(x): return x*Er.k", "Er.k=3.0"),
    "exception instance attr": (
        "class Er(Exception): pass\ne=Er(); e.k=1.0\ndef f(x): return x*e.k",
        "e.k=3.0",
    ),
    "exception instance args": ("e=ValueError(1.0)\ndef f(x): return x*e.args[0]", "e.args=(3.0,)"),
    "namedtuple class attr": (
        "class P(NamedTuple):\n  a: float\nP.k=1.0\np=P(1.0)\ndef f(x): return x*p.k",
        "P.k=3.0",
    ),
    "namedtuple method": (
        "class P(NamedTuple):\n"
        "  a: float\n"
        "  def g(self): return self.a*k\n"
        "k=1.0\n"
        "p=P(1.0)\n"
        "def f(x): return x*p.g()",
        "k=3.0",
    ),
    "namedtuple _replace": (
        "P=collections.namedtuple('P','a')\np=P(1.0)\ndef f(x): return x*p.a",
        "p=p._replace(a=3.0)",
    ),
    "frozen dataclass": (
        "@dataclass(frozen=True)\nclass C:\n  k: float=1.0\nc=C()\ndef f(x): return x*c.k",
        "object.__setattr__(c,'k',3.0)",
    ),
    "environ _data": (
        "os.environ['PWK']='1'\ndef f(x): return x*float(os.environ._data[b'PWK'])",
        "os.environ['PWK']='3'",
    ),
    "sys.argv": ("sys.argv=['a']\ndef f(x): return x*len(sys.argv)", "sys.argv.append('b')"),
    "sys.argv replaced": (
        "sys.argv=['a']\ndef f(x): return x*len(sys.argv)",
        "sys.argv=['a','b','c']",
    ),
    "sys.path": ("def f(x): return x*len(sys.path)", "sys.path.append('/nonexist')"),
    "sys.flags attr custom": ("sys.pwk=1.0\ndef f(x): return x*sys.pwk", "sys.pwk=3.0"),
    "os attr custom": ("os.pwk=1.0\ndef f(x): return x*os.pwk", "os.pwk=3.0"),
    "ContextVar get": (
        "V=contextvars.ContextVar('V',default=1.0)\ndef f(x): return x*V.get()",
        "V.set(3.0)",
    ),
    "ContextVar get default": (
        "V=contextvars.ContextVar('V')\ndef f(x): return x*V.get(1.0)",
        "V.set(3.0)",
    ),
    "ContextVar imported get": (
        "V=contextvars.ContextVar('V',default=1.0); get=V.get\ndef f(x): return x*get()",
        "V.set(3.0)",
    ),
    "ContextVar obj attr": (
        "V=contextvars.ContextVar('V')\n"
        "c=types.SimpleNamespace(k=1.0); V.set(c)\n"
        "def f(x): return x*V.get().k",
        "c.k=3.0",
    ),
    "thread local": ("L=threading.local(); L.k=1.0\ndef f(x): return x*L.k", "L.k=3.0"),
    "thread local missing": (
        "L=threading.local()\ndef f(x): return x*getattr(L,'k',1.0)",
        "L.k=3.0",
    ),
    "thread local subclass": (
        "class TL(threading.local):\n  k=1.0\nL=TL()\ndef f(x): return x*L.k",
        "L.k=3.0",
    ),
    "decimal ctx object": (
        "ctx=decimal.Context(prec=5)\ndef f(x): return x*float(ctx.divide(1,3))",
        "ctx.prec=3",
    ),
    "recursion: f.attr by own name": ("def f(x): return x*G.k\nG=f\nf.k=1.0", "F.k=3.0"),
    "weakref dies": (
        "class C: k=1.0\n"
        "c=C(); r=weakref.ref(c)\n"
        "def f(x):\n"
        "  o=r()\n"
        "  return x*(2.0 if o is None else 1.0)",
        "del c",
    ),
    "weakref content": (
        "class C: pass\nc=C(); c.k=1.0; r=weakref.ref(c)\ndef f(x): return x*r().k",
        "c.k=3.0",
    ),
    "weakref proxy": (
        "class C: pass\nc=C(); c.k=1.0; r=weakref.proxy(c)\ndef f(x): return x*r.k",
        "c.k=3.0",
    ),
    "WeakValueDictionary": (
        "class C: pass\n"
        "c=C(); c.k=1.0; W=weakref.WeakValueDictionary(a=c)\n"
        "def f(x): return x*W['a'].k",
        "c.k=3.0",
    ),
    "WeakValueDictionary len": (
        "class C: pass\nc=C(); W=weakref.WeakValueDictionary(a=c)\ndef f(x): return x*(1.0+len(W))",
        "del c",
    ),
    "WeakSet": (
        "class C: pass\nc=C(); W=weakref.WeakSet()\ndef f(x): return x*(1.0+len(W))",
        "W.add(c)",
    ),
    "WeakMethod": (
        "class C:\n"
        "  def g(self): return self.k\n"
        "c=C(); c.k=1.0; W=weakref.WeakMethod(c.g)\n"
        "def f(x): return x*W()()",
        "c.k=3.0",
    ),
    "SimpleNamespace missing": (
        "c=types.SimpleNamespace()\ndef f(x): return x*getattr(c,'k',1.0)",
        "c.k=3.0",
    ),
    "argparse ns": ("c=argparse.Namespace(k=1.0)\ndef f(x): return x*c.k", "c.k=3.0"),
    "argparse ns array": (
        "c=argparse.Namespace(w=np.ones(3))\ndef f(x): return x*c.w",
        "c.w[:]=3.0",
    ),
    "argparse ns array replaced": (
        "c=argparse.Namespace(w=np.ones(3))\ndef f(x): return x*c.w",
        "c.w=np.zeros(3)",
    ),
    "argparse ns missing": (
        "c=argparse.Namespace()\ndef f(x): return x*getattr(c,'k',1.0)",
        "c.k=3.0",
    ),
    "argparse in": (
        "c=argparse.Namespace()\ndef f(x): return x*(2.0 if 'k' in c else 1.0)",
        "c.k=3.0",
    ),
    "Counter": ("c=collections.Counter('a')\ndef f(x): return x*c['a']", "c['a']+=1"),
    "Counter missing": ("c=collections.Counter()\ndef f(x): return x*(1+c['a'])", "c['a']+=1"),
    "ChainMap": ("d={'a':1.0}\nc=collections.ChainMap(d)\ndef f(x): return x*c['a']", "d['a']=3.0"),
    "ChainMap new child": (
        "d={'a':1.0}\nc=collections.ChainMap({},d)\ndef f(x): return x*c['a']",
        "c['a']=3.0",
    ),
    "UserDict": ("c=collections.UserDict(a=1.0)\ndef f(x): return x*c['a']", "c['a']=3.0"),
    "UserList": ("c=collections.UserList([1.0])\ndef f(x): return x*c[0]", "c[0]=3.0"),
    "UserString": ("c=collections.UserString('a')\ndef f(x): return x*len(c)", "c.data='abc'"),
    "OrderedDict move": (
        "c=collections.OrderedDict(a=1.0,b=2.0)\ndef f(x): return x*next(iter(c.values()))",
        "c.move_to_end('a')",
    ),
    "defaultdict factory": (
        "c=collections.defaultdict(lambda: 1.0)\ndef f(x): return x*c.default_factory()",
        "c.default_factory=lambda: 3.0",
    ),
    "deque append": ("c=collections.deque([1.0])\ndef f(x): return x*len(c)", "c.append(1.0)"),
    "deque maxlen subclass": (
        "class Q(collections.deque): pass\nc=Q([1.0])\ndef f(x): return x*c[0]",
        "c[0]=3.0",
    ),
    "set subclass": ("class S(set): pass\nc=S([1.0])\ndef f(x): return x*len(c)", "c.add(3.0)"),
    "array.array": ("c=array.array('d',[1.0])\ndef f(x): return x*c[0]", "c[0]=3.0"),
    "array.array np": (
        "c=array.array('d',[1.0,2,3])\ndef f(x): return x*np.asarray(c)",
        "c[0]=3.0",
    ),
    "array.array frombuffer": (
        "c=array.array('d',[1.0,2,3])\ndef f(x): return x*np.frombuffer(c)",
        "c[0]=3.0",
    ),
    "bytearray": ("c=bytearray(b'a')\ndef f(x): return x*c[0]", "c[0]=3"),
    "bytearray len": ("c=bytearray(b'a')\ndef f(x): return x*len(c)", "c.append(3)"),
    "memoryview": ("b=bytearray(b'a'); c=memoryview(b)\ndef f(x): return x*c[0]", "b[0]=3"),
    "memoryview np": ("b=np.ones(3); c=memoryview(b)\ndef f(x): return x*c[0]", "b[0]=3"),
    "memoryview asarray": (
        "b=np.ones(3); c=memoryview(b)\ndef f(x): return x*np.asarray(c)",
        "b[0]=3",
    ),
    "ctypes value": ("c=ctypes.c_double(1.0)\ndef f(x): return x*c.value", "c.value=3.0"),
    "ctypes array": ("c=(ctypes.c_double*3)(1.0,2,3)\ndef f(x): return x*c[0]", "c[0]=3.0"),
    "ctypes struct": (
        "class S(ctypes.Structure):\n"
        "  _fields_=[('k',ctypes.c_double)]\n"
        "c=S(1.0)\n"
        "def f(x): return x*c.k",
        "c.k=3.0",
    ),
    "ctypes asarray": (
        "c=(ctypes.c_double*3)(1.0,2,3)\ndef f(x): return x*np.ctypeslib.as_array(c)",
        "c[0]=3.0",
    ),
    "range replaced": ("r=range(2)\ndef f(x): return x*len(r)", "r=range(3)"),
    "Decimal replaced": (
        "d=decimal.Decimal('1')\ndef f(x): return x*float(d)",
        "d=decimal.Decimal('3')",
    ),
    "Fraction replaced": (
        "d=fractions.Fraction(1,2)\ndef f(x): return x*float(d)",
        "d=fractions.Fraction(1,3)",
    ),
    "Path replaced": (
        "d=pathlib.Path('a')\ndef f(x): return x*len(str(d))",
        "d=pathlib.Path('abc')",
    ),
    "datetime replaced": (
        "d=datetime.timedelta(seconds=1)\ndef f(x): return x*d.total_seconds()",
        "d=datetime.timedelta(seconds=3)",
    ),
    "pattern replaced": (
        "d=re.compile('a')\ndef f(x): return x*len(d.pattern)",
        "d=re.compile('aaa')",
    ),
    "uuid replaced": ("d=uuid.UUID(int=1)\ndef f(x): return x*d.int", "d=uuid.UUID(int=3)"),
    "mappingproxy": (
        "D={'a':1.0}\np=types.MappingProxyType(D)\ndef f(x): return x*p['a']",
        "D['a']=3.0",
    ),
    "mappingproxy get": (
        "D={}\np=types.MappingProxyType(D)\ndef f(x): return x*p.get('a',1.0)",
        "D['a']=3.0",
    ),
    "mappingproxy of class": (
        "class C:\n  k=1.0\np=C.__dict__\ndef f(x): return x*p['k']",
        "C.k=3.0",
    ),
    "dict view values": ("D={'a':1.0}\nv=D.values()\ndef f(x): return x*sum(v)", "D['a']=3.0"),
    "dict view keys": ("D={'a':1.0}\nv=D.keys()\ndef f(x): return x*len(v)", "D['b']=3.0"),
    "dict view items": ("D={'a':1.0}\nv=D.items()\ndef f(x): return x*list(v)[0][1]", "D['a']=3.0"),
    "bound list method": ("L=[1.0]; g=L.__getitem__\ndef f(x): return x*g(0)", "L[0]=3.0"),
    "bound dict get": ("D={'a':1.0}; g=D.get\ndef f(x): return x*g('a')", "D['a']=3.0"),
    "bound list count": ("L=[1.0]; g=L.count\ndef f(x): return x*g(1.0)", "L.append(1.0)"),
    "bound set contains": (
        "S={1}; g=S.__contains__\ndef f(x): return x*(2.0 if g(3) else 1.0)",
        "S.add(3)",
    ),
    "bound array method": ("W=np.ones(3); g=W.sum\ndef f(x): return x*g()", "W[:]=3.0"),
    "bound array take": ("W=np.ones(3); g=W.__getitem__\ndef f(x): return x*g(0)", "W[:]=3.0"),
    "method-wrapper": ("W=1.0\nL=[1.0]; g=L.__len__\ndef f(x): return x*g()", "L.append(2)"),
    "itemgetter": (
        "D={'a':1.0}\ng=operator.itemgetter('a')\ndef f(x): return x*g(D)",
        "D['a']=3.0",
    ),
    "attrgetter obj": (
        "class C: pass\nc=C(); c.k=1.0\ng=operator.attrgetter('k')\ndef f(x): return x*g(c)",
        "c.k=3.0",
    ),
    "attrgetter missing": (
        "class C: pass\n"
        "c=C()\n"
        "c.k=1.0\n"
        "g=operator.attrgetter('a.b') if 0 else operator.attrgetter('k')\n"
        "def f(x): return x*g(c)",
        "c.k=3.0",
    ),
    "methodcaller": (
        "class C:\n"
        "  def m(s): return s.k\n"
        "c=C(); c.k=1.0\n"
        "g=operator.methodcaller('m')\n"
        "def f(x): return x*g(c)",
        "c.k=3.0",
    ),
    "np.poly1d attr": ("p=np.poly1d([1.0,2.0])\ndef f(x): return x*p.coeffs[0]", "p.coeffs[0]=3.0"),
    "masked array": (
        "W=np.ma.masked_array([1.0,2,3],mask=[0,0,1])\ndef f(x): return x*np.ma.getdata(W)",
        "W[0]=9.0",
    ),
    "ndarray subclass attr": (
        "class A(np.ndarray): pass\nW=np.ones(3).view(A); W.k=1.0\ndef f(x): return x*W.k",
        "W.k=9.0",
    ),
    "object array": (
        "W=np.array([1.0,None,'a'],dtype=object)\ndef f(x): return x*W[0]",
        "W[0]=9.0",
    ),
    "object array of objs": (
        "class C: pass\n"
        "c=C(); c.k=1.0\n"
        "W=np.empty(1,dtype=object); W[0]=c\n"
        "def f(x): return x*W[0].k",
        "c.k=9.0",
    ),
    "flatiter": ("b=np.ones(3); W=b.flat\ndef f(x): return x*W[0]", "b[0]=9.0"),
    "broadcast_to view": (
        "b=np.ones(1); W=np.broadcast_to(b,(3,))\ndef f(x): return x*W",
        "b[0]=9.0",
    ),
    "ndarray T capture": ("b=np.ones((3,3)); W=b.T\ndef f(x): return x@W", "b[0]=9.0"),
    "datetime64 arr": (
        "W=np.array(['2020-01-01'],dtype='M8[D]')\ndef f(x): return x*(W[0].astype(int) % 7)",
        "W[0]+=1",
    ),
    "float128": ("W=np.longdouble(1.0)\ndef f(x): return x*float(W)", "W=np.longdouble(3.0)"),
    "bool array index": ("W=np.array([True,False,True])\ndef f(x): return x[W]", "W[1]=True"),
    "str array": ("W=np.array(['a','b'])\ndef f(x): return x*len(W[0])", "W[0]='';"),
    "array in-place reshape": ("W=np.ones(6)\ndef f(x): return x*W.shape[0]", "W.shape=(3,2)"),
    "array dtype assigned": ("W=np.ones(3)\ndef f(x): return x*W", "W.dtype='i8'"),
    "array resized": ("W=np.ones(3)\ndef f(x): return x*W.size", "W.resize(6,refcheck=False)"),
    "queue qsize": ("q=queue.Queue()\ndef f(x): return x*(1+q.qsize())", "q.put(1)"),
    "queue empty simple": ("q=queue.SimpleQueue()\ndef f(x): return x*(1+q.qsize())", "q.put(1)"),
    "event is_set": (
        "l=threading.Event()\ndef f(x): return x*(2.0 if l.is_set() else 1.0)",
        "l.set()",
    ),
    "warnings filters": (
        "import warnings\ndef f(x): return x*len(warnings.filters)",
        "warnings.filterwarnings('ignore', message='pw')",
    ),
    "logging level": (
        "import logging\nLg=logging.getLogger('pw')\ndef f(x): return x*Lg.level",
        "Lg.setLevel(Lg.level+1)",
    ),
    "logging isEnabledFor": (
        "import logging\n"
        "Lg=logging.getLogger('pw2'); Lg.setLevel(30)\n"
        "def f(x): return x*(2.0 if Lg.isEnabledFor(10) else 1.0)",
        "Lg.setLevel(5)",
    ),
    "import inside": (
        "def f(x):\n  import pwreload\n  return x*pwreload.k",
        "pwreload=__import__('pwreload'); pwreload.k=9.0",
    ),
    "import inside from": (
        "def f(x):\n  from pwreload import k\n  return x*k",
        "pwreload=__import__('pwreload'); pwreload.k=11.0",
    ),
    "import inside stdlib attr": (
        "string.pwi=1.0\ndef f(x):\n  from string import pwi\n  return x*pwi",
        "string.pwi=3.0",
    ),
    "import inside missing": (
        "def f(x):\n  try:\n    import pwnone\n    return x*2\n  except ImportError: return x",
        "sys.modules['pwnone']=types.ModuleType('pwnone')",
    ),
    "import inside from missing": (
        "def f(x):\n"
        "  try:\n"
        "    from pwreload import zz\n"
        "    return x*zz\n"
        "  except ImportError: return x",
        "pwreload=__import__('pwreload'); pwreload.zz=3.0",
    ),
    "sys.modules replaced module": (
        "import pwreload\ndef f(x):\n  import pwreload\n  return x*pwreload.k",
        "_m=types.ModuleType('pwreload'); _m.k=123.0; sys.modules['pwreload']=_m",
    ),
    "importlib.import_module": (
        "import importlib\n"
        ""
        "importlib.import_module('pwreload').k=1.0\n"
        "def f(x): return x*importlib.import_module('pwreload').k",
        "importlib.import_module('pwreload').k=9.0",
    ),
    "module __getattr__": (
        "m=types.ModuleType('m'); m.d={'k':1.0}\n"
        "def _ga(n):\n"
        "  try: return m.d[n]\n"
        "  except KeyError: raise AttributeError(n)\n"
        "m.__getattr__=_ga\n"
        "def f(x): return x*m.k",
        "m.d['k']=3.0",
    ),
    "dataclass fields": (
        "@dataclass\n"
        "class C:\n"
        "  a: float=1.0\n"
        "c=C()\n"
        "def f(x): return x*sum(getattr(c,q.name) for q in dataclasses.fields(c))",
        "c.a=3.0",
    ),
    "dataclass asdict": (
        "@dataclass\n"
        "class C:\n"
        "  a: float=1.0\n"
        "c=C()\n"
        "def f(x): return x*dataclasses.asdict(c)['a']",
        "c.a=3.0",
    ),
    "dataclass replace": (
        "@dataclass\n"
        "class C:\n"
        "  a: float=1.0\n"
        "  b: float=1.0\n"
        "c=C()\n"
        "def f(x): return x*dataclasses.replace(c,b=2.0).a",
        "c.a=3.0",
    ),
    "dataclass eq": (
        "@dataclass\n"
        "class C:\n"
        "  a: float=1.0\n"
        "c=C(); d=C()\n"
        "def f(x): return x*(2.0 if c==d else 1.0)",
        "d.a=3.0",
    ),
    "dataclass slots": (
        "@dataclass(slots=True)\nclass C:\n  a: float=1.0\nc=C()\ndef f(x): return x*c.a",
        "c.a=3.0",
    ),
    "dataclass default new instance": (
        "@dataclass\nclass C:\n  a: float=1.0\ndef f(x): return x*C().a",
        "C.__init__.__defaults__=(3.0,)",
    ),
    "copy.copy": ("class C: pass\nc=C(); c.k=1.0\ndef f(x): return x*copy.copy(c).k", "c.k=3.0"),
    "copy.deepcopy list": ("L=[[1.0]]\ndef f(x): return x*copy.deepcopy(L)[0][0]", "L[0][0]=3.0"),
    "str of obj": (
        "class C:\n"
        "  def __repr__(s): return 'a'*s.n\n"
        "c=C(); c.n=1\n"
        "def f(x): return x*len(repr(c))",
        "c.n=3",
    ),
    "format obj": (
        "class C:\n  def __str__(s): return 'a'*s.n\nc=C(); c.n=1\ndef f(x): return x*len(f'{c}')",
        "c.n=3",
    ),
    "repr list": ("L=[1.0]\ndef f(x): return x*len(repr(L))", "L.append(2.0)"),
    "hash obj": (
        "class C:\n  def __hash__(s): return s.n\nc=C(); c.n=1\ndef f(x): return x*hash(c)",
        "c.n=3",
    ),
    "len obj": (
        "class C:\n  def __len__(s): return s.n\nc=C(); c.n=1\ndef f(x): return x*len(c)",
        "c.n=3",
    ),
    "bool obj": (
        "class C:\n"
        "  def __bool__(s): return s.n\n"
        "c=C(); c.n=True\n"
        "def f(x): return x*(2.0 if c else 1.0)",
        "c.n=False",
    ),
    "bool obj gains __bool__": (
        "class C: pass\nc=C()\ndef f(x): return x*(2.0 if c else 1.0)",
        "C.__bool__=lambda s: False",
    ),
    "bool obj gains __len__": (
        "class C: pass\nc=C()\ndef f(x): return x*(2.0 if c else 1.0)",
        "C.__len__=lambda s: 0",
    ),
    "eq gains": (
        "class C: pass\nc=C(); d=C()\ndef f(x): return x*(2.0 if c==d else 1.0)",
        "C.__eq__=lambda s,o: True",
    ),
    "contains gains": (
        "class C:\n"
        "  def __iter__(s): return iter([1])\n"
        "c=C()\n"
        "def f(x): return x*(2.0 if 3 in c else 1.0)",
        "C.__contains__=lambda s,o: True",
    ),
    "radd gains": (
        "class C:\n  def __radd__(s,o): return 1.0\nc=C()\ndef f(x): return x*(1+c)",
        "C.__radd__=lambda s,o: 3.0",
    ),
    "float protocol": (
        "class C:\n  def __float__(s): return s.n\nc=C(); c.n=1.0\ndef f(x): return x*float(c)",
        "c.n=2.0",
    ),
    "iter protocol": (
        "class C:\n"
        "  def __iter__(s): return iter(s.l)\n"
        "c=C(); c.l=[1.0]\n"
        "def f(x): return x*sum(c)",
        "c.l=[2.0]",
    ),
    "getitem protocol": (
        "class C:\n"
        "  def __getitem__(s,k): return s.l[k]\n"
        "c=C(); c.l=[1.0]\n"
        "def f(x): return x*c[0]",
        "c.l[0]=2.0",
    ),
    "context manager": (
        "class C:\n"
        "  def __enter__(s): return s.k\n"
        "  def __exit__(s,*a): pass\n"
        "c=C(); c.k=1.0\n"
        "def f(x):\n"
        "  with c as k: return x*k",
        "c.k=3.0",
    ),
    "int subclass attr": ("class I(int): pass\nc=I(1); c.k=1.0\ndef f(x): return x*c.k", "c.k=3.0"),
    "float subclass class attr": (
        "class I(float): pass\nI.k=1.0\nc=I(1)\ndef f(x): return x*c.k",
        "I.k=3.0",
    ),
    "str subclass attr": (
        "class I(str): pass\nc=I('a'); c.k=1.0\ndef f(x): return x*c.k",
        "c.k=3.0",
    ),
    "set subclass attr": ("class I(set): pass\nc=I(); c.k=1.0\ndef f(x): return x*c.k", "c.k=3.0"),
    "tuple subclass attr": (
        "class I(tuple): pass\nc=I((1,)); c.k=1.0\ndef f(x): return x*c.k",
        "c.k=3.0",
    ),
    "dict subclass attr": (
        "class I(dict): pass\nc=I(); c.k=1.0\ndef f(x): return x*c.k",
        "c.k=3.0",
    ),
    "dict subclass missing": (
        "class I(dict):\n"
        "  d=1.0\n"
        "  def __missing__(s,k): return s.d\n"
        "c=I()\n"
        "def f(x): return x*c['a']",
        "I.d=3.0",
    ),
    "dict subclass missing key appears": (
        "class I(dict):\n  def __missing__(s,k): return 1.0\nc=I()\ndef f(x): return x*c['a']",
        "c['a']=3.0",
    ),
    "defaultdict subclass": (
        "class I(collections.defaultdict): pass\nc=I(float,a=1.0)\ndef f(x): return x*c['a']",
        "c['a']=3.0",
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
    "singledispatch register": (
        "@functools.singledispatch\ndef g(v): return 1.0\ndef f(x): return x*g(2)",
        "g.register(int, lambda v: 3.0)",
    ),
    "jitted helper attr": (
        "import pyc\n@pyc.jit\ndef g(x): return x\ng.k=1.0\ndef f(x): return x*g.k",
        "g.k=3.0",
    ),
    "jitted helper reads": (
        "import pyc\nk=1.0\n@pyc.jit\ndef g(x): return x*k\ndef f(x): return g(x)",
        "k=3.0",
    ),
    "jitted method helper": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def g(s,x): return x*s.k\n"
        "c=C()\n"
        "def f(x): return c.g(x)",
        "c.k=3.0",
    ),
    "np.ufunc frompyfunc": (
        "def h(v): return v*k\nk=1.0\ng=np.frompyfunc(h,1,1)\ndef f(x): return x*float(g(2.0))",
        "k=3.0",
    ),
    "cmp_to_key": (
        "sg=1\n"
        "def cmp(a,b): return sg*(a-b)\n"
        "key=functools.cmp_to_key(cmp)\n"
        "def f(x): return x*sorted([3,1,2],key=key)[0]",
        "sg=-1",
    ),
    "sorted key glob": ("sg=1\ndef f(x): return x*sorted([3,1,2],key=lambda v: sg*v)[0]", "sg=-1"),
    "map fn": ("k=1.0\ndef f(x): return x*sum(map(lambda v: v*k,[1,2]))", "k=3.0"),
    "reduce": ("k=1.0\ndef f(x): return x*functools.reduce(lambda a,b: a+b*k,[1,2])", "k=3.0"),
    "staticmethod object": ("k=1.0\ng=staticmethod(lambda x: x*k)\ndef f(x): return g(x)", "k=3.0"),
    "callable obj with state": (
        "class C:\n"
        "  def __init__(s): s.k=1.0\n"
        "  def __call__(s,x): return x*s.k\n"
        "g=C()\n"
        "def f(x): return g(x)",
        "g.k=3.0",
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
    "global __dunder__": ("__k__=1.0\ndef f(x): return x*__k__", "__k__=3.0"),
    "inspect signature": (
        "import inspect\ndef g(a): pass\ndef f(x): return x*len(inspect.signature(g).parameters)",
        "def g(a,b): pass",
    ),
    "slots with base dict": (
        "class B: pass\nclass C(B):\n  __slots__=('k',)\nc=C(); c.k=1.0\ndef f(x): return x*c.k",
        "c.k=3.0",
    ),
    "nested attr chain class": (
        "class A: pass\nclass B: pass\nA.b=B; B.k=1.0\ndef f(x): return x*A.b.k",
        "class D: k=3.0\nA.b=D",
    ),
    "identity compare": (
        "a=object(); b=object()\ndef f(x): return x*(2.0 if a is b else 1.0)",
        "b=a",
    ),
    "list eq": ("a=[1]; b=[1]\ndef f(x): return x*(2.0 if a==b else 1.0)", "b[0]=2"),
    "list in list": ("a=[[1]]\ndef f(x): return x*(2.0 if [1] in a else 1.0)", "a[0][0]=2"),
    "dict key tuple obj": ("D={(1,2):1.0}\ndef f(x): return x*D[(1,2)]", "D[(1,2)]=3.0"),
    "dict key object": ("class K: pass\nkk=K()\nD={kk:1.0}\ndef f(x): return x*D[kk]", "D[kk]=3.0"),
    "dict key enum": (
        "class E(enum.Enum):\n  A=1\nD={E.A:1.0}\ndef f(x): return x*D[E.A]",
        "D[E.A]=3.0",
    ),
    "dict key int->bool": (
        "D={1:1.0}\ndef f(x): return x*sum(type(k) is bool for k in D)",
        "D={True:1.0}",
    ),
    "dict long values": ("D={k:1.0 for k in range(100)}\ndef f(x): return x*D[50]", "D[50]=3.0"),
    "dict long order": (
        "D={k:float(k) for k in range(100)}\ndef f(x): return x*list(D.values())[0]",
        "D[0]=D.pop(0)",
    ),
    "dict long value type": (
        "D={k:1 for k in range(100)}\ndef f(x): return np.full(3,D[50])",
        "D[50]=1.0",
    ),
    "long list mixed": ("L=[1.0]*100+[[1.0]]\ndef f(x): return x*L[5]", "L[5]=3.0"),
    "set of tuples obj": ("S={(1,2)}\ndef f(x): return x*len(S)", "S={(1,2),(3,4)}"),
    "set int->float": ("S={1}\ndef f(x): return np.full(3,next(iter(S)))", "S={1.0}"),
    "tuple nested list": ("T=([1.0],)\ndef f(x): return x*T[0][0]", "T[0][0]=3.0"),
    "frozenset of objs": (
        "class C: pass\nc=C(); c.k=1.0\nS=frozenset([c])\ndef f(x): return x*next(iter(S)).k",
        "c.k=3.0",
    ),
    "set of objs": (
        "class C: pass\nc=C(); c.k=1.0\nS={c}\ndef f(x): return x*next(iter(S)).k",
        "c.k=3.0",
    ),
    "set of functions": (
        "k=1.0\ndef g(x): return x*k\nS={g}\ndef f(x): return next(iter(S))(x)",
        "k=3.0",
    ),
    "dict key fn": (
        "k=1.0\ndef g(x): return x*k\nD={g:1}\ndef f(x): return next(iter(D))(x)",
        "k=3.0",
    ),
    "dict key obj attr": (
        "class C: pass\nc=C(); c.k=1.0\nD={c:1}\ndef f(x): return x*next(iter(D)).k",
        "c.k=3.0",
    ),
    "slice array inside": ("s=slice(None, 2)\ndef f(x): return x[s]", "s=slice(None,1)"),
    "zip object captured": (
        "z=[1.0]\ndef f(x): return x*sum(a for a,b in zip(z,[1,2]))",
        "z[0]=3.0",
    ),
}
"""A module with a function `f`, and a statement that changes what it reads."""

REFUSED = {
    "environ get": ("os.environ['PWK']='1'\ndef f(x): return x*float(os.environ['PWK'])"),
    "getenv default": (
        "os.environ.pop('PWJ',None)\ndef f(x): return x*float(os.getenv('PWJ','1'))"
    ),
    "environ in": (
        "os.environ.pop('PWJ',None)\ndef f(x): return x*(2.0 if 'PWJ' in os.environ else 1.0)"
    ),
    "environ imported": (
        "from os import environ as EV\nEV['PWK']='1'\ndef f(x): return x*float(EV['PWK'])"
    ),
    "sys.getrecursionlimit": ("def f(x): return x*sys.getrecursionlimit()"),
    "np.geterr": ("def f(x): return x*(2.0 if np.geterr()['divide']=='ignore' else 1.0)"),
    "np.get_printoptions": ("def f(x): return x*np.get_printoptions()['precision']"),
    "ContextVar array": (
        "V=contextvars.ContextVar('V',default=np.ones(3))\ndef f(x): return x*V.get()"
    ),
    "copy_context": (
        "V=contextvars.ContextVar('V'); V.set(1.0)\n"
        "def f(x): return x*contextvars.copy_context()[V]"
    ),
    "decimal getcontext prec": ("def f(x): return x*decimal.getcontext().prec"),
    "locale conv": ("def f(x): return x*(1.0+len(locale.localeconv()['decimal_point']))"),
    "iterator next": ("it=iter([1.0,3.0,5.0,7.0])\ndef f(x): return x*next(it)"),
    "generator next": ("it=(v for v in [1.0,3.0,5.0,7.0,9.0,11.0])\ndef f(x): return x*next(it)"),
    "generator helper": (
        "def gg():\n"
        "  k=1.0\n"
        "  while True:\n"
        "    yield k\n"
        "    k+=1\n"
        "it=gg()\n"
        "def f(x): return x*next(it)"
    ),
    "count next": ("it=itertools.count()\ndef f(x): return x*next(it)"),
    "cycle next": ("it=itertools.cycle([1.0,2.0])\ndef f(x): return x*next(it)"),
    "zip iterator": ("it=zip([1.0,2.0,3.0,4.0],[1.0,2,3,4])\ndef f(x): return x*next(it)[0]"),
    "list(it)": ("it=iter([1.0,3.0])\ndef f(x): return x*sum(list(it))"),
    "for in it": ("it=iter([1.0,3.0])\ndef f(x):\n  for k in it: x=x*k\n  return x"),
    "sum it": ("it=iter([1.0,3.0])\ndef f(x): return x*sum(it)"),
    "dict view values array": ("D={'a':np.ones(3)}\nv=D.values()\ndef f(x): return x*list(v)[0]"),
    "np.poly1d": ("p=np.poly1d([1.0,2.0])\ndef f(x): return p(x)"),
    "np.matrix": ("W=np.matrix([[1.0,2,3]])\ndef f(x): return x*np.asarray(W)[0]"),
    "masked array mask": (
        "W=np.ma.masked_array([1.0,2,3],mask=[0,0,1])\ndef f(x): return x*W.filled(0.0)"
    ),
    "recarray": (
        "W=np.rec.array([(1.0,),(2.0,),(3.0,)],dtype=[('a','f8')])\ndef f(x): return x*W.a"
    ),
    "structured": ("W=np.zeros(3,dtype=[('a','f8')])\ndef f(x): return x*W['a']"),
    "ndarray subclass": ("class A(np.ndarray): pass\nW=np.ones(3).view(A)\ndef f(x): return x*W"),
    "object array of arrays": (
        "W=np.empty(1,dtype=object); W[0]=np.ones(3)\ndef f(x): return x*W[0]"
    ),
    "rng state": ("g=np.random.default_rng(0)\ndef f(x): return x*g.random()"),
    "rng state read": (
        "g=np.random.default_rng(0)\n"
        "def f(x): return x*(g.bit_generator.state['state']['state']%1000)"
    ),
    "random getstate": ("def f(x): return x*(random.getstate()[1][-1])"),
    "random obj getstate": ("R=random.Random(0)\ndef f(x): return x*(R.getstate()[1][0]%1000)"),
    "active threads": ("def f(x): return x*threading.active_count()"),
    "gc count": ("import gc\ndef f(x): return x*(2.0 if gc.isenabled() else 1.0)"),
    "gc threshold": ("import gc\ndef f(x): return x*gc.get_threshold()[0]"),
    "sys.getswitchinterval": ("def f(x): return x*sys.getswitchinterval()"),
    "numpy random attr": ("def f(x): return x*np.random.get_state()[2]"),
}
"""Modules with a function `f` that reads what cannot be watched."""
