"""Modules with a function `f` that reads what cannot be watched: refused by name."""

from __future__ import annotations

REFUSED = {
    "shares memory": (
        "W=np.ones(3); V=np.ones(3)\ndef f(x): return x*(2.0 if np.shares_memory(W,V) else 1.0)"
    ),
    "may share memory": "def f(x): return x*(2.0 if np.may_share_memory(x,x) else 1.0)",
    "base": "W=np.ones(3)\ndef f(x): return x*(1.0 if W.base is None else 2.0)",
    "strides": "W=np.ones(3)\ndef f(x): return x*W.strides[0]",
    "flags": "W=np.ones(3)\ndef f(x): return x*(1.0 if W.flags.writeable else 2.0)",
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
    "bit generator state": "g=np.random.PCG64(1)\ndef f(x): return x*(g.state['has_uint32']+1)",
    "bit generator seed": (
        "g=np.random.PCG64(1)\ndef f(x): return x*(1+g.seed_seq.n_children_spawned)"
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
    "C.__subclasses__": "class C: pass\ndef f(x): return x*(1+len(C.__subclasses__()))",
    "lock.locked": "l=threading.Lock()\ndef f(x): return x*(2.0 if l.locked() else 1.0)",
    "rlock": "l=threading.RLock()\ndef f(x): return x*(2.0 if l._is_owned() else 1.0)",
    "lock acquire": (
        "l=threading.Lock()\n"
        "def f(x):\n"
        "  if l.acquire(False):\n"
        "    l.release(); return x\n"
        "  return x*2"
    ),
    "nditer": "W=np.arange(3.0); it=np.nditer(W)\ndef f(x): return x*(1.0+it.iterindex)",
    "nditer value": "W=np.arange(3.0)+1; it=np.nditer(W)\ndef f(x): return x*float(it[0])",
    "nditer finished": (
        "W=np.arange(1.0); it=np.nditer(W)\ndef f(x): return x*(2.0 if it.finished else 1.0)"
    ),
    "np.broadcast index": (
        "it=np.broadcast(np.ones(3),np.ones(3))\ndef f(x): return x*(1.0+it.index)"
    ),
    "count repr": "it=itertools.count()\ndef f(x): return x*len(repr(it))",
    "iter length_hint": "it=iter([1]*9)\ndef f(x): return x*operator.length_hint(it)",
    "islice": "it=itertools.islice([1,2,3],2)\ndef f(x): return x*next(it)",
    "generator gi_frame": (
        "def gg():\n"
        "  yield 1\n"
        "  yield 2\n"
        "it=gg()\n"
        "def f(x): return x*(2.0 if it.gi_frame is None else 1.0)"
    ),
    "seedseq spawn": (
        "s=np.random.SeedSequence(1)\ndef f(x): return x*(s.spawn(1)[0].generate_state(1)[0]%7)"
    ),
    "lru cache_info": (
        "@functools.lru_cache\ndef g(): return 1.0\ndef f(x): return x*(1+g.cache_info().hits)"
    ),
}
