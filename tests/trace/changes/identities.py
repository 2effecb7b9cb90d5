"""Modules with a function `f`, and what changes what it reads.

Which of the objects are one.
"""

from __future__ import annotations

CHANGES = {
    "a is b arrays": (
        "a=np.ones(3); b=np.ones(3)\ndef f(x): return x*(2.0 if a is b else 1.0)",
        "b=a",
    ),
    "a is b arrays split": (
        "a=np.ones(3); b=a\ndef f(x): return x*(2.0 if a is b else 1.0)",
        "b=a.copy()",
    ),
    "a is b objs": (
        "class C: pass\na=C(); b=C()\ndef f(x): return x*(2.0 if a is b else 1.0)",
        "b=a",
    ),
    "a is b objs split": (
        "class C: pass\na=C(); b=a\ndef f(x): return x*(2.0 if a is b else 1.0)",
        "b=C()",
    ),
    "a is b lists": ("a=[1]; b=[1]\ndef f(x): return x*(2.0 if a is b else 1.0)", "b=a"),
    "a is b lists split": ("a=[1]; b=a\ndef f(x): return x*(2.0 if a is b else 1.0)", "b=[1]"),
    "a is b dicts": ("a={}; b={}\ndef f(x): return x*(2.0 if a is b else 1.0)", "b=a"),
    "a is b sets": ("a={1}; b={1}\ndef f(x): return x*(2.0 if a is b else 1.0)", "b=a"),
    "a is b sets split": ("a={1}; b=a\ndef f(x): return x*(2.0 if a is b else 1.0)", "b={1}"),
    "a is b long lists": (
        "a=[1]*100; b=[1]*100\ndef f(x): return x*(2.0 if a is b else 1.0)",
        "b=a",
    ),
    "a is b long lists split": (
        "a=[1]*100; b=a\ndef f(x): return x*(2.0 if a is b else 1.0)",
        "b=[1]*100",
    ),
    "a is b inside (array.array)": (
        (
            "a=array.array('d',[1]); b=array.array('d',[1])\n"
            "def f(x): return x*(2.0 if a is b else 1.0)"
        ),
        "b=a",
    ),
    "a is b inside split": (
        "a=array.array('d',[1]); b=a\ndef f(x): return x*(2.0 if a is b else 1.0)",
        "b=array.array('d',[1])",
    ),
    "a is b attrs": (
        ("class C: pass\nc=C(); c.a=C(); c.b=C()\ndef f(x): return x*(2.0 if c.a is c.b else 1.0)"),
        "c.b=c.a",
    ),
    "a in list identity": (
        "class C: pass\na=C(); L=[C()]\ndef f(x): return x*(2.0 if a in L else 1.0)",
        "L[0]=a",
    ),
    "list index identity": (
        "class C: pass\na=C(); b=C(); L=[a,b]\ndef f(x): return x*(1+L.index(b))",
        "L[0]=b",
    ),
    "arg is captured": (
        (
            "class C: pass\n"
            "a=C()\n"
            "L=[a]\n"
            "def g(o): return 2.0 if o is L[0] else 1.0\n"
            "def f(x): return x*g(a)"
        ),
        "L[0]=C()",
    ),
    "object() is": ("a=object(); b=object()\ndef f(x): return x*(2.0 if a is b else 1.0)", "b=a"),
    "partial is": (
        (
            "def g(x):return x\n"
            "a=functools.partial(g); b=functools.partial(g)\n"
            "def f(x): return x*(2.0 if a is b else 1.0)"
        ),
        "b=a",
    ),
    "function is": (
        "def g(x):return x\ndef h(x): return x\ndef f(x): return x*(2.0 if g is h else 1.0)",
        "h=g",
    ),
    "methods ==": (
        ("class C:\n  def m(s): pass\na=C(); b=C()\ndef f(x): return x*(2.0 if a.m==b.m else 1.0)"),
        "b=a",
    ),
    "methods == split": (
        ("class C:\n  def m(s): pass\na=C(); b=a\ndef f(x): return x*(2.0 if a.m==b.m else 1.0)"),
        "b=C()",
    ),
    "methods in a list": (
        (
            "class C:\n"
            "  def m(s): pass\n"
            "a=C(); b=C(); L=[b.m]\n"
            "def f(x): return x*(2.0 if a.m in L else 1.0)"
        ),
        "L[0]=a.m",
    ),
    "methods in lists": (
        (
            "class C:\n"
            "  def m(s): pass\n"
            "a=C(); b=C(); L=[a.m]; M=[b.m]\n"
            "def f(x): return x*(2.0 if L==M else 1.0)"
        ),
        "M[0]=a.m",
    ),
    "methods as keys": (
        ("class C:\n  def m(s): pass\na=C(); b=C()\ndef f(x): return x*len({a.m, b.m})"),
        "b=a",
    ),
    "methods by getattr": (
        (
            "class C:\n"
            "  def m(s): pass\n"
            "a=C(); b=C()\n"
            "def f(x): return x*(2.0 if getattr(a,'m')==getattr(b,'m') else 1.0)"
        ),
        "b=a",
    ),
    "methods of arguments": (
        (
            "class C:\n"
            "  def m(s): pass\n"
            "a=C(); b=C()\n"
            "def same(p,q): return p.m==q.m\n"
            "def f(x): return x*(2.0 if same(a,b) else 1.0)"
        ),
        "a=b",
    ),
    "partials ==": (
        (
            "def g(x):return x\n"
            "a=functools.partial(g); b=functools.partial(g)\n"
            "def f(x): return x*(2.0 if a==b else 1.0)"
        ),
        "b=a",
    ),
    "partials in a list": (
        (
            "def g(x):return x\n"
            "a=functools.partial(g); L=[functools.partial(g)]\n"
            "def f(x): return x*(2.0 if a in L else 1.0)"
        ),
        "L[0]=a",
    ),
    "partials as keys": (
        (
            "def g(x):return x\n"
            "a=functools.partial(g); b=functools.partial(g)\n"
            "def f(x): return x*len({a: 1, b: 2})"
        ),
        "b=a",
    ),
}
