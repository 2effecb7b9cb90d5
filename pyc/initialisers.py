"""The code of `__init__` of records, by the number of their fields.

Here as source, so that its byte code is cached: compiling it takes 2 ms at each start. Field k is
stored by `store_k`, the descriptor of its slot. The sizes are those of the records that a start
defines (`tests/test_startup.py`).
"""

# ruff: noqa: F821 - `store_0` and so on are in the globals that each class gives its function
# mypy: ignore-errors


def _of_0(self):
    pass


def _of_1(self, a):
    store_0(self, a)


def _of_2(self, a, b):
    store_0(self, a)
    store_1(self, b)


def _of_3(self, a, b, c):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)


def _of_4(self, a, b, c, d):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)


def _of_5(self, a, b, c, d, e):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)


def _of_6(self, a, b, c, d, e, f):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)


def _of_7(self, a, b, c, d, e, f, g):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)


def _of_8(self, a, b, c, d, e, f, g, h):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)
    store_7(self, h)


def _of_9(self, a, b, c, d, e, f, g, h, i):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)
    store_7(self, h)
    store_8(self, i)


def _of_10(self, a, b, c, d, e, f, g, h, i, j):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)
    store_7(self, h)
    store_8(self, i)
    store_9(self, j)


def _of_11(self, a, b, c, d, e, f, g, h, i, j, k):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)
    store_7(self, h)
    store_8(self, i)
    store_9(self, j)
    store_10(self, k)


def _of_12(self, a, b, c, d, e, f, g, h, i, j, k, ll):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)
    store_7(self, h)
    store_8(self, i)
    store_9(self, j)
    store_10(self, k)
    store_11(self, ll)


def _of_15(self, a, b, c, d, e, f, g, h, i, j, k, ll, m, n, o):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)
    store_7(self, h)
    store_8(self, i)
    store_9(self, j)
    store_10(self, k)
    store_11(self, ll)
    store_12(self, m)
    store_13(self, n)
    store_14(self, o)


def _of_26(self, a, b, c, d, e, f, g, h, i, j, k, ll, m, n, o, p, q, r, s, t, u, v, w, x, y, z):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)
    store_7(self, h)
    store_8(self, i)
    store_9(self, j)
    store_10(self, k)
    store_11(self, ll)
    store_12(self, m)
    store_13(self, n)
    store_14(self, o)
    store_15(self, p)
    store_16(self, q)
    store_17(self, r)
    store_18(self, s)
    store_19(self, t)
    store_20(self, u)
    store_21(self, v)
    store_22(self, w)
    store_23(self, x)
    store_24(self, y)
    store_25(self, z)


def _of_32(
    self,
    a,
    b,
    c,
    d,
    e,
    f,
    g,
    h,
    i,
    j,
    k,
    ll,
    m,
    n,
    o,
    p,
    q,
    r,
    s,
    t,
    u,
    v,
    w,
    x,
    y,
    z,
    aa,
    ab,
    ac,
    ad,
    ae,
    af,
):
    store_0(self, a)
    store_1(self, b)
    store_2(self, c)
    store_3(self, d)
    store_4(self, e)
    store_5(self, f)
    store_6(self, g)
    store_7(self, h)
    store_8(self, i)
    store_9(self, j)
    store_10(self, k)
    store_11(self, ll)
    store_12(self, m)
    store_13(self, n)
    store_14(self, o)
    store_15(self, p)
    store_16(self, q)
    store_17(self, r)
    store_18(self, s)
    store_19(self, t)
    store_20(self, u)
    store_21(self, v)
    store_22(self, w)
    store_23(self, x)
    store_24(self, y)
    store_25(self, z)
    store_26(self, aa)
    store_27(self, ab)
    store_28(self, ac)
    store_29(self, ad)
    store_30(self, ae)
    store_31(self, af)


_FUNCTIONS = (
    _of_0,
    _of_1,
    _of_2,
    _of_3,
    _of_4,
    _of_5,
    _of_6,
    _of_7,
    _of_8,
    _of_9,
    _of_10,
    _of_11,
    _of_12,
    _of_15,
    _of_26,
    _of_32,
)
CODES = {f.__code__.co_argcount - 1: f.__code__ for f in _FUNCTIONS}
