"""Modules with a function `f`, and what changes what it reads.

Containers, their views and bound methods, arrays of all kinds.
"""

from __future__ import annotations

CHANGES = {
    "bytes in the other order": (
        "W=np.arange(3,dtype='>f8')\ndef f(x): return x if W[1]>0 else -x",
        "W[1]=-1.0",
    ),
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
