"""Modules with a function `f`, and what changes what it reads.

Names of modules, `globals()`, builtins, imports.
"""

from __future__ import annotations

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
    "global __dunder__": ("__k__=1.0\ndef f(x): return x*__k__", "__k__=3.0"),
}
