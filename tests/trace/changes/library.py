"""Modules with a function `f`, and what changes what it reads.

Objects of the standard library and of the process.
"""

from __future__ import annotations

CHANGES = {
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
}
