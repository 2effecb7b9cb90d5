"""`vmap`: a function of one example as a function of many.

Outside of a trace it is compiled as `jit` compiles, once per signature; within one it is traced in
its place. How a function is batched is in `trace/batching.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, overload

from pyc import config
from pyc.interpreter import is_tracing
from pyc.jit import Jitted, jit, programs_of
from pyc.purity.code import check_code
from pyc.trace import location
from pyc.trace.batching import checked_axes, checked_name, checked_size
from pyc.trace.bound import Mapped


@overload
def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Callable[..., Any]: ...


@overload
def vmap(
    fun: None = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


@location.trimmed
def vmap(
    fun: Callable[..., Any] | None = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable = None,
) -> Any:
    """`fun` mapped over an axis of its arguments: what it gives for each slice (a *lane*), stacked;
    a decorator without `fun`.

    in_axes: the axis of each positional argument that is mapped over, None for one that is the same
    for all lanes; or one for all arguments. An entry may be a tree of axes like its argument.
    Arguments by keyword are mapped over their first axis.
    out_axes: where the new axis of each result is, an int or a tree of ints like the result; None
    for a result that is the same for all lanes, which then has no axis more.
    axis_size: how many lanes there are; needed where no argument is mapped.
    axis_name: what the lanes are called, in messages and in the text of the function. That is all:
    lanes do not see each other, there is no `psum` among them. Reduce what the mapped function
    returns.

    The function is traced once, for one lane: lanes are never looped over. Outside of `jit` the
    result is compiled once per signature, as by `pyc.jit`, and has what jitted functions have
    (`explain`, `lower`, `cache_info`). See `docs/vmap.md`.

    raises TypeError: `fun` is not callable; ArgumentError: an axis that is none, a name that is not
    hashable, or axes of another structure than the arguments; ShapeError: an argument or a result
    has no such axis, or their sizes differ

    JAX: `jax.vmap`.

    >>> pyc.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    axes = checked_axes("in_axes", in_axes), checked_axes("out_axes", out_axes)
    size, axis_name = checked_size(axis_size), checked_name(axis_name)
    if fun is None:
        options = {"in_axes": in_axes, "out_axes": out_axes, "axis_size": size}
        return functools.partial(vmap, **options, axis_name=axis_name)
    if not callable(fun):
        raise TypeError(f"vmap: expected a function, got {type(fun).__name__}")
    mapped = Mapped(fun, *axes, size, axis_name)
    if is_tracing():
        return mapped
    name = getattr(fun, "__name__", None) or type(fun).__name__
    check_code(fun, name, config.current().purity)
    fastmath = isinstance(fun, Jitted) and programs_of(fun).fastmath
    return jit(mapped, name=name, fastmath=fastmath)


__all__ = ["vmap"]
