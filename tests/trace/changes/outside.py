"""Modules with a function `f`, and what changes what it reads: names of libraries and builtins that
others replace, facts of functions, classes and modules, the state of the process.
"""

from __future__ import annotations

CHANGES = {
    "builtin sum replaced": (
        "def f(x): return x*sum([1,2])",
        (
            "import builtins; builtins.sum=lambda *a,_o=builtins.sum,**k: 10.0 if "
            "a==([1,2],) else _o(*a,**k)"
        ),
    ),
    "builtin len replaced": (
        "L=[1,2]\ndef f(x): return x*len(L)",
        (
            "import builtins; builtins.len=lambda v,_o=builtins.len: 10 if type(v) is list "
            "and v is L else _o(v)"
        ),
    ),
    "builtin abs replaced": (
        "def f(x): return x*abs(-2.0)",
        (
            "import builtins; builtins.abs=lambda v,_o=builtins.abs: 10.0 if type(v) is "
            "float and v==-2.0 else _o(v)"
        ),
    ),
    "builtin round replaced": (
        "def f(x): return x*round(2.3)",
        "import builtins; builtins.round=lambda v: 10.0",
    ),
    "builtin attr via module": (
        "import builtins\ndef f(x): return x*builtins.sum([1,2])",
        (
            "import builtins; builtins.sum=lambda *a,_o=builtins.sum,**k: 10.0 if "
            "a==([1,2],) else _o(*a,**k)"
        ),
    ),
    "builtin enumerate": (
        "def f(x): return x*sum(i for i,v in enumerate([1,2,3]))",
        (
            "import builtins; builtins.enumerate=lambda v,*a,_o=builtins.enumerate: [(5,5)] "
            "if type(v) is list and v==[1,2,3] else _o(v,*a)"
        ),
    ),
    "numpy func replaced": ("def f(x): return np.sin(x)", "np.sin=lambda v: v*0"),
    "numpy pi replaced": ("def f(x): return x*np.pi", "np.pi=3.0"),
    "numpy new attr": ("np.kk=1.0\ndef f(x): return x*np.kk", "np.kk=3.0"),
    "numpy attr missing": ("def f(x): return x*getattr(np,'kkk',1.0)", "np.kkk=3.0"),
    "numpy attr hasattr": ("def f(x): return x*(2.0 if hasattr(np,'kkk') else 1.0)", "np.kkk=3.0"),
    "numpy.linalg func replaced": (
        "def f(x): return x*np.linalg.norm(x)",
        "np.linalg.norm=lambda v: 7.0",
    ),
    "from numpy name in other module": (
        "m=types.ModuleType('m'); m.sin=np.sin\ndef f(x): return m.sin(x)",
        "m.sin=np.cos",
    ),
    "math func replaced": ("def f(x): return x*math.sqrt(4.0)", "math.sqrt=lambda v: 7.0"),
    "math const replaced": ("def f(x): return x*math.pi", "math.pi=7.0"),
    "math new attr": ("math.kk=1.0\ndef f(x): return x*math.kk", "math.kk=7.0"),
    "stdlib func replaced": (
        "def g(a): return 1.0\nstring.pwz=g\ndef f(x): return x*string.pwz(1)",
        "string.pwz=lambda a: 3.0",
    ),
    "stdlib func C replaced": (
        "def f(x): return x*operator.add(1,2)",
        "operator.add=lambda a,b: 30.0",
    ),
    "functools.reduce replaced": (
        "def f(x): return x*functools.reduce(lambda a,b:a+b,[1,2])",
        "functools.reduce=lambda g,a: 30.0",
    ),
    "f.__name__": ("def g(x): return x\ndef f(x): return x*len(g.__name__)", "g.__name__='abcdef'"),
    "f.__qualname__": (
        "def g(x): return x\ndef f(x): return x*len(g.__qualname__)",
        "g.__qualname__='abcdef'",
    ),
    "f.__doc__": (
        "def g(x):\n  'a'\n  return x\ndef f(x): return x*len(g.__doc__)",
        "g.__doc__='abcdef'",
    ),
    "f.__module__": (
        "def g(x): return x\ndef f(x): return x*len(g.__module__)",
        "g.__module__='abcdef'",
    ),
    "f.__annotations__": (
        "def g(x: int): return x\ndef f(x): return x*len(g.__annotations__)",
        "g.__annotations__={}",
    ),
    "f.__annotations__ item": (
        "def g(x: int): return x\ndef f(x): return x*len(g.__annotations__)",
        "g.__annotations__['y']=int",
    ),
    "f.__dict__": ("def g(x): return x\ng.k=1.0\ndef f(x): return x*g.__dict__['k']", "g.k=3.0"),
    "f.__dict__ len": (
        "def g(x): return x\ng.k=1.0\ndef f(x): return x*len(g.__dict__)",
        "g.j=3.0",
    ),
    "f.__defaults__ len": (
        "def g(x,k=1.0): return x\ndef f(x): return x*len(g.__defaults__ or ())",
        "g.__defaults__=(1.0,2.0)[:0]",
    ),
    "f.__code__.co_name": (
        "def g(x): return x\ndef f(x): return x*len(g.__code__.co_name)",
        "g.__code__=(lambda x:x).__code__",
    ),
    "f.__closure__ len": (
        "def g(x): return x\ndef f(x): return x*(1 if g.__closure__ is None else 2)",
        "k=1\ndef mk():\n  z=1\n  def g(x): return x*z\n  return g\ng=mk()",
    ),
    "f.__wrapped__ appears": (
        "def g(x): return x\ndef f(x): return x*(2.0 if hasattr(g,'__wrapped__') else 1.0)",
        "g.__wrapped__=1",
    ),
    "C.__name__": ("class C: pass\ndef f(x): return x*len(C.__name__)", "C.__name__='abcdef'"),
    "C.__qualname__": (
        "class C: pass\ndef f(x): return x*len(C.__qualname__)",
        "C.__qualname__='abcdef'",
    ),
    "type(c).__name__": (
        "class C: pass\nc=C()\ndef f(x): return x*len(type(c).__name__)",
        "C.__name__='abcdef'",
    ),
    "c.__class__.__name__": (
        "class C: pass\nc=C()\ndef f(x): return x*len(c.__class__.__name__)",
        "C.__name__='abcdef'",
    ),
    "C.__dict__ get": ("class C:\n  k=1.0\ndef f(x): return x*C.__dict__['k']", "C.k=3.0"),
    "C.__dict__ len": ("class C:\n  k=1.0\ndef f(x): return x*len(C.__dict__)", "C.kj=3.0"),
    "C.__dict__ list": ("class C:\n  k=[1.0]\ndef f(x): return x*C.__dict__['k'][0]", "C.k[0]=3.0"),
    "C.__dict__ base": (
        "class B:\n  k=1.0\nclass C(B): pass\ndef f(x): return x*C.__mro__[1].__dict__['k']",
        "B.k=3.0",
    ),
    "C.__dict__ items": (
        "class C:\n  k=1.0\ndef f(x): return x*sum(v for n,v in C.__dict__.items() if n=='k')",
        "C.k=3.0",
    ),
    "type(c).__dict__": (
        "class C:\n  k=1.0\nc=C()\ndef f(x): return x*type(c).__dict__['k']",
        "C.k=3.0",
    ),
    "m.__dict__": (
        "m=types.ModuleType('m'); m.k=1.0\ndef f(x): return x*m.__dict__['k']",
        "m.k=3.0",
    ),
    "m.__dict__ get missing": (
        "m=types.ModuleType('m')\ndef f(x): return x*m.__dict__.get('k',1.0)",
        "m.k=3.0",
    ),
    "m.__dict__ len": ("m=types.ModuleType('m')\ndef f(x): return x*len(m.__dict__)", "m.k=3.0"),
    "m.__name__": (
        "m=types.ModuleType('m')\ndef f(x): return x*len(m.__name__)",
        "m.__name__='abcd'",
    ),
    "m.__doc__": (
        "m=types.ModuleType('m','a')\ndef f(x): return x*len(m.__doc__)",
        "m.__doc__='abcd'",
    ),
    "m.__file__": (
        "m=types.ModuleType('m');m.__file__='a'\ndef f(x): return x*len(m.__file__)",
        "m.__file__='abcd'",
    ),
    "string.__dict__": (
        "string.pwa=1.0\ndef f(x): return x*string.__dict__['pwa']",
        "string.pwa=3.0",
    ),
    "__name__ global": ("def f(x): return x*len(__name__)", "__name__='abcdefghijkl'"),
    "__doc__ global": ("__doc__='a'\ndef f(x): return x*len(__doc__)", "__doc__='abcdefghijkl'"),
    "__file__ global": (
        "__file__='a'\ndef f(x): return x*len(__file__)",
        "__file__='abcdefghijkl'",
    ),
    "globals()['__name__']": (
        "def f(x): return x*len(globals()['__name__'])",
        "__name__='abcdefghijkl'",
    ),
    "C.__bases__": (
        (
            "class A: pass\n"
            "class A2: pass\n"
            "class C(A): pass\n"
            "def f(x): return x*(2.0 if C.__bases__==(A,) else 1.0)"
        ),
        "C.__bases__=(A2,)",
    ),
    "C.__annotations__": (
        "class C:\n  a: int\ndef f(x): return x*len(C.__annotations__)",
        "C.__annotations__['b']=int",
    ),
    "C.mro()": (
        (
            "class A: pass\n"
            "class A2: pass\n"
            "class C(A): pass\n"
            "def f(x): return x*(2.0 if A in C.mro() else 1.0)"
        ),
        "C.__bases__=(A2,)",
    ),
    "ABC.register": (
        (
            "import abc\n"
            "class A(abc.ABC): pass\n"
            "class C: pass\n"
            "c=C()\n"
            "def f(x): return x*(2.0 if isinstance(c,A) else 1.0)"
        ),
        "A.register(C)",
    ),
    "ABC.register issubclass": (
        (
            "import abc\n"
            "class A(abc.ABC): pass\n"
            "class C: pass\n"
            "def f(x): return x*(2.0 if issubclass(C,A) else 1.0)"
        ),
        "A.register(C)",
    ),
    "collections.abc register": (
        (
            "import collections.abc\n"
            "class C: pass\n"
            "c=C()\n"
            "def f(x): return x*(2.0 if isinstance(c,collections.abc.Sequence) else 1.0)"
        ),
        "collections.abc.Sequence.register(C)",
    ),
    "numbers register": (
        (
            "import numbers\n"
            "class C: pass\n"
            "c=C()\n"
            "def f(x): return x*(2.0 if isinstance(c,numbers.Number) else 1.0)"
        ),
        "numbers.Number.register(C)",
    ),
    "callable gains": (
        "class C: pass\nc=C()\ndef f(x): return x*(2.0 if callable(c) else 1.0)",
        "C.__call__=lambda s: 1",
    ),
    "enum value mutable": (
        "class E(enum.Enum):\n  A=[1.0]\ndef f(x): return x*E.A.value[0]",
        "E.A.value[0]=3.0",
    ),
    "flag": (
        "class E(enum.Flag):\n  A=1\n  B=2\nm=E.A\ndef f(x): return x*(2.0 if m & E.B else 1.0)",
        "m=E.A|E.B",
    ),
    "sys.modules in": (
        "def f(x): return x*(2.0 if 'pwzz' in sys.modules else 1.0)",
        "sys.modules['pwzz']=types.ModuleType('pwzz')",
    ),
    "sys.modules get": (
        "def f(x): return x*(2.0 if sys.modules.get('pwzy') else 1.0)",
        "sys.modules['pwzy']=types.ModuleType('pwzy')",
    ),
    "sys.modules len": (
        "def f(x): return x*(len(sys.modules)%100)",
        "sys.modules['pwzx']=types.ModuleType('pwzx')",
    ),
    "sys.modules imported name": (
        "from sys import modules as M\ndef f(x): return x*(2.0 if 'pwzw' in M else 1.0)",
        "sys.modules['pwzw']=types.ModuleType('pwzw')",
    ),
    "semaphore": ("l=threading.Semaphore(5)\ndef f(x): return x*l._value", "l.acquire()"),
    "flatiter index": ("b=np.arange(9.0);it=b.flat\ndef f(x): return x*(1.0+it.index)", "next(it)"),
    "seedseq": (
        "s=np.random.SeedSequence(1)\ndef f(x): return x*(1.0+s.n_children_spawned)",
        "s.spawn(1)",
    ),
    "getLogger level": (
        "def f(x): return x*(1+logging.getLogger('pwq').level)",
        "logging.getLogger('pwq').setLevel(30)",
    ),
    "getLogger isEnabledFor": (
        "def f(x): return x*(2.0 if logging.getLogger('pwr').isEnabledFor(10) else 1.0)",
        "logging.getLogger('pwr').setLevel(5)",
    ),
    "getLogger debug branch": (
        (
            "def f(x):\n"
            "  l=logging.getLogger('pwr2')\n"
            "  if l.isEnabledFor(logging.DEBUG): return x*2\n"
            "  return x"
        ),
        "logging.getLogger('pwr2').setLevel(5)",
    ),
    "getEffectiveLevel": (
        "def f(x): return x*logging.getLogger('pws').getEffectiveLevel()",
        "logging.getLogger().setLevel(logging.getLogger().level+1)",
    ),
    "logging.root": (
        "def f(x): return x*logging.root.level",
        "logging.root.setLevel(logging.root.level+1)",
    ),
    "captured logger": (
        "l=logging.getLogger('pwt')\ndef f(x): return x*l.getEffectiveLevel()",
        "logging.getLogger().setLevel(logging.getLogger().level+1)",
    ),
    "captured logger isEnabled cached": (
        "l=logging.getLogger('pwu')\ndef f(x): return x*(2.0 if l.isEnabledFor(10) else 1.0)",
        "logging.getLogger().setLevel(5)",
    ),
    "logging handlers": (
        "l=logging.getLogger('pwv')\ndef f(x): return x*(1+len(l.handlers))",
        "l.addHandler(logging.NullHandler())",
    ),
}
