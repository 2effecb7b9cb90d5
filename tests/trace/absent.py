"""What NumPy has and pyc does not, and why: names of `numpy`, `numpy.linalg`, `numpy.fft` and of
arrays, keyword arguments, methods of ufuncs. `test_absent.py` holds the table against NumPy, and
`docs/plain-numpy.md` shows it.
"""

from __future__ import annotations

ABSENT: dict[str, tuple[str, ...]] = {
    "files: `pyc.io_callback` reads, `pyc.debug.callback` writes": (
        *("fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "save", "savetxt"),
        *("savez", "savez_compressed"),
    ),
    "texts and printing: arrays are numbers": (
        *("array2string", "array_repr", "array_str", "base_repr", "binary_repr", "bytes_"),
        *("character", "format_float_positional", "format_float_scientific", "info", "mintypecode"),
        *("printoptions", "get_printoptions", "set_printoptions", "str_", "typename"),
    ),
    "dates": (
        *("busday_count", "busday_offset", "busdaycalendar", "datetime64", "datetime_as_string"),
        *("datetime_data", "is_busday", "isnat", "timedelta64"),
    ),
    "arrays of objects, records and classes of arrays": (
        *("asmatrix", "bmat", "flexible", "frompyfunc", "matrix", "object_", "recarray", "record"),
        *("void",),
    ),
    "the memory of arrays, which are immutable or lie by rows": (
        *("broadcast", "flatiter", "isfortran", "may_share_memory", "nditer", "nested_iters"),
        *("shares_memory",),
    ),
    "numbers that no device has: `long` and `ulong` are of another size elsewhere": (
        *("clongdouble", "complex256", "float128", "long", "longdouble", "ulong"),
    ),
    "settings and facts of NumPy itself": (
        *("ScalarType", "errstate", "get_include", "getbufsize", "geterr", "geterrcall"),
        *("little_endian", "sctypeDict", "setbufsize", "seterr", "seterrcall", "show_config"),
        *("show_runtime", "test", "typecodes", "ufunc"),
    ),
    "old forms: write `vstack`; coefficients and `polyval`; `for index in np.ndindex(shape)`": (
        *("ndenumerate", "ndindex", "poly1d", "row_stack"),
    ),
}
"""Reason -> public names of `numpy`, of `numpy.linalg` and of `numpy.fft`."""

METHODS: dict[str, tuple[str, ...]] = {
    "the memory of arrays": (
        *("base", "byteswap", "ctypes", "data", "flags", "getfield", "setfield", "setflags"),
        *("strides",),
    ),
    "files": ("dump", "dumps", "tofile"),
}
"""Reason -> methods and attributes of `numpy.ndarray`."""

KEYWORDS: dict[str, tuple[str, ...]] = {
    "`out=` of `pyc.Array`s, which are immutable: use what the function returns": ("out",),
    "`like=`, `subok=`: there are no classes of arrays": ("like", "subok"),
    "`order=` of sorting: fields of records": ("order",),
    "`ndmax=` of `array`, `copy=False` of `pyc.numpy.nan_to_num`": ("ndmax", "copy"),
}
"""Reason -> keyword arguments that are taken only where they ask for nothing, of any function."""

ELSEWHERE: dict[str, str] = {
    "`numpy.polynomial`": "the functions of `np.poly...` on lines of coefficients",
    "`numpy.emath`": "whose types depend on data: `np.sqrt(x.astype(complex))`",
    "`numpy.ma`, `numpy.char`, `numpy.strings`, `numpy.rec`": "`np.where`, the `nan` functions",
    "`numpy.random`": "`pyc.random`, or a generator with a seed made in the function",
    "`numpy.lib.stride_tricks.as_strided`": "`sliding_window_view`, `broadcast_to`",
}
"""Modules that are not there, and what to write instead."""
