"""Functions of `pyc.numpy` whose modules are loaded when one of them is asked for.

A program that uses none of them pays for none. `MODULES` says where each is; the names are public
like all others, and NumPy's functions of these names lead to them too.
"""

from __future__ import annotations

MODULES: dict[str, tuple[str, ...]] = {
    "pyc.numpy.bits": ("frexp", "ldexp", "packbits", "spacing", "unpackbits"),
    "pyc.numpy.editing": (
        *("ascontiguousarray", "block", "choose", "delete", "diagflat", "dsplit", "ediff1d"),
        *("hsplit", "insert", "resize", "select", "sliding_window_view", "vsplit"),
    ),
    "pyc.numpy.facts": (
        *("asanyarray", "asarray_chkfinite", "asfortranarray", "common_type", "einsum_path"),
        *("euler_gamma", "False_", "frombuffer", "fromiter", "fromstring", "index_exp"),
        *("iscomplexobj", "isrealobj", "isscalar", "issubdtype", "iterable", "min_scalar_type"),
        *("ndim", "promote_types", "require", "s_", "shape", "size", "True_"),
    ),
    "pyc.numpy.grids": (
        *("diag_indices", "ix_", "mask_indices", "mgrid", "ogrid", "tril_indices", "triu_indices"),
    ),
    "pyc.numpy.histograms": ("histogram2d", "histogram_bin_edges", "histogramdd"),
    "pyc.numpy.information": ("__array_namespace_info__",),
    "pyc.numpy.joined": ("c_", "r_"),
    "pyc.numpy.linear_algebra": (
        *("cross", "dot", "einsum", "inner", "kron", "matmul", "outer", "tensordot", "vdot"),
        *("vecdot",),
    ),
    "pyc.numpy.missing_values": (
        *("nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile"),
        *("nanprod", "nanquantile", "nanstd", "nansum", "nanvar"),
    ),
    "pyc.numpy.numerical": (
        *("allclose", "array_equal", "bincount", "convolve", "corrcoef", "cov", "gradient"),
        *("interp", "matvec", "polyval", "trapezoid", "vecmat"),
    ),
    "pyc.numpy.orders": ("argpartition", "lexsort", "partition", "sort_complex", "trim_zeros"),
    "pyc.numpy.places": (
        *("argwhere", "compress", "correlate", "diag_indices_from", "extract", "flatnonzero"),
        *("histogram", "nanargmax", "nanargmin", "ravel_multi_index", "tril_indices_from"),
        *("triu_indices_from", "unravel_index"),
    ),
    "pyc.numpy.polynomial_fits": ("poly", "polyfit", "roots"),
    "pyc.numpy.polynomials": (
        *("polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "vander"),
    ),
    "pyc.numpy.rounding": (
        *("around", "ceil", "fix", "floor", "heaviside", "modf", "nan_to_num", "rint", "round"),
        "trunc",
    ),
    "pyc.numpy.samples": ("array_equiv", "geomspace", "piecewise", "real_if_close", "unwrap"),
    "pyc.numpy.scalar_types": (
        *("bool", "byte", "cdouble", "complexfloating", "csingle", "double", "dtype", "floating"),
        *("generic", "half", "inexact", "int_", "intc", "integer", "intp", "longlong", "ndarray"),
        *("number", "short", "signedinteger", "single", "ubyte", "uint", "uintc", "uintp"),
        *("ulonglong", "unsignedinteger", "ushort"),
    ),
    "pyc.numpy.sets": (
        *("intersect1d", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all"),
        *("unique_counts", "unique_inverse", "unique_values"),
    ),
    "pyc.numpy.sorting": (
        *("argsort", "digitize", "isin", "median", "nonzero", "percentile", "quantile"),
        *("searchsorted", "sort", "topk"),
    ),
    "pyc.numpy.transcendental": (
        *("acos", "acosh", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2"),
        *("arctanh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "deg2rad"),
        *("degrees", "erf", "erfc", "exp", "exp2", "expm1", "hypot", "log", "log10", "log1p"),
        *("log2", "logaddexp", "logaddexp2", "rad2deg", "radians", "sin", "sinc", "sinh", "tan"),
        "tanh",
    ),
    "pyc.numpy.windows": ("bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"),
    "pyc.trace.callbacks": ("apply_along_axis", "apply_over_axes", "fromfunction", "vectorize"),
    "pyc.trace.in_place": (
        *("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"),
    ),
}
"""Module -> the public names that it has."""

NAMESPACES = {"fft": "pyc.numpy.fft", "linalg": "pyc.numpy.linalg"}
"""Modules of functions by their public names, likewise loaded when one is asked for."""

MODULE_OF = {name: module for module, names in MODULES.items() for name in names}

__all__ = ["MODULES", "MODULE_OF", "NAMESPACES"]
