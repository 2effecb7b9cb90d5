"""Modules with a function `f`, and what changes what it reads.

Enumerations, exceptions, named tuples, dataclasses, subclasses of builtin types, protocols.
"""

from __future__ import annotations

_DERIVED = {
    "functools.partial": "(np.multiply,3.0)",
    "collections.deque": "([1.0])",
    "set": "([1])",
    "frozenset": "([1])",
    "bytearray": "(b'a')",
    "property": "(lambda s: 1.0)",
    "staticmethod": "(lambda s: 1.0)",
    "threading.local": "()",
    "ValueError": "(1.0)",
    "np.float64": "(3.0)",
    "collections.OrderedDict": "(a=1.0)",
    "collections.defaultdict": "(float)",
    "tuple": "((1.0,))",
    "array.array": "('d',[1.0])",
    "decimal.Decimal": "(1)",
}
"""Types of Python and its library that classes of the user are derived from, and arguments."""

CHANGES = {
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
    **{
        f"{what} of a subclass of {base}": (f"class C({base}): pass\n{source}", change)
        for base, made in _DERIVED.items()
        for what, (source, change) in {
            "class attr": (
                f"C.k=1.0\nc=C{made}\ndef f(x): return x*c.k",
                "C.k=3.0",
            ),
            "class attr appears": (
                f"c=C{made}\ndef f(x): return x*getattr(c,'k',1.0)",
                "C.k=3.0",
            ),
            "method": (
                f"C.g=lambda s: 1.0\nc=C{made}\ndef f(x): return x*c.g()",
                "C.g=lambda s: 3.0",
            ),
            "what a method reads": (
                f"k=1.0\ndef g(s): return k\nC.g=g\nc=C{made}\ndef f(x): return x*c.g()",
                "k=3.0",
            ),
            "attribute": (
                f"c=C{made}; c.k=1.0\ndef f(x): return x*c.k",
                "c.k=3.0",
            ),
            "new attribute": (
                f"c=C{made}\ndef f(x): return x*getattr(c,'k',1.0)",
                "c.k=3.0",
            ),
            "class": (
                f"C.k=1.0\nc=C{made}\ndef f(x): return x*c.k",
                f"class C({base}): k=3.0\nc=C{made}",
            ),
        }.items()
    },
}
