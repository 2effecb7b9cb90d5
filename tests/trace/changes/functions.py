"""Modules with a function `f`, and what changes what it reads.

Functions: defaults, cells, attributes, partials, decorators.
"""

from __future__ import annotations

CHANGES = {
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
    "partial attr": (
        "def g(x): return x\nh=functools.partial(g); h.k=1.0\ndef f(x): return h(x)*h.k",
        "h.k=3.0",
    ),
    "partial attr array": (
        "def g(x): return x\nh=functools.partial(g); h.k=np.ones(3)\ndef f(x): return h(x)*h.k",
        "h.k[1]=3.0",
    ),
    "partial attr appears": (
        "def g(x): return x\nh=functools.partial(g)\ndef f(x): return h(x)*getattr(h,'k',1.0)",
        "h.k=3.0",
    ),
    "partial attr vanishes": (
        "def g(x): return x\n"
        "h=functools.partial(g); h.k=3.0\n"
        "def f(x): return h(x)*(h.k if hasattr(h,'k') else 1.0)",
        "del h.k",
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
    "bound jitted method global": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "g=c.m\ndef f(x): return g(x)",
        "c.k=3.0",
    ),
    "bound jitted method in a list": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "L=[c.m]\ndef f(x): return L[0](x)",
        "c.k=3.0",
    ),
    "bound jitted method in its own object": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "c.go=c.m\ndef f(x): return c.go(x)",
        "c.k=3.0",
    ),
    "bound jitted method in a partial": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "h=functools.partial(c.m)\ndef f(x): return h(x)",
        "c.k=3.0",
    ),
    "bound jitted method of another object": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "L=[c.m]\nd=C(); d.k=3.0\ndef f(x): return L[0](x)",
        "L[0]=d.m",
    ),
    "bound jitted method whose array changes": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "c.k=np.ones(3); g=c.m\ndef f(x): return g(x)",
        "c.k[1]=3.0",
    ),
    "bound jitted method that another replaces": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "L=[c.m]\ndef f(x): return L[0](x)",
        "L[0]=c.n",
    ),
    "bound jitted method ==": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "d=C(); L=[c.m]; M=[d.m]\ndef f(x): return x*(2.0 if L[0]==M[0] else 1.0)",
        "M[0]=c.m",
    ),
    "bound jitted method == by attributes": (
        "import pyc\n"
        "class C:\n"
        "  k=1.0\n"
        "  @pyc.jit\n"
        "  def m(s,x): return x*s.k\n"
        "  @pyc.jit\n"
        "  def n(s,x): return -x\n"
        "c=C()\n"
        "d=C()\ndef f(x): return x*(2.0 if c.m==d.m else 1.0)",
        "d=c",
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
    "inspect signature": (
        "import inspect\ndef g(a): pass\ndef f(x): return x*len(inspect.signature(g).parameters)",
        "def g(a,b): pass",
    ),
}
