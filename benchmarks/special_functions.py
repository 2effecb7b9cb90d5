"""A million special functions: `pyc.scipy.special` beside `scipy.special` and `jax.scipy.special`.

    python -m benchmarks.special_functions [--quick] [--functions=gammainc,j0] [--json FILE]

float32 and float64, outside of a jitted function; pyc with 1 and 2 threads, SciPy, whose functions
use one, and JAX with its own threads and 64-bit types enabled, where it has the function. Arguments
are drawn once, where the functions are usually asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.special

from benchmarks.runner import in_turn, options, peers, publish
from pyc.scipy import special

Array = np.ndarray[Any, Any]
COLUMNS = ("pyc 1", "pyc 2", "scipy", "jax")
ANY, POSITIVE, PART = (-8.0, 8.0), (0.05, 20.0), (0.001, 0.999)
PARAMETER = (0.5, 50.0)
ARGUMENTS: dict[str, tuple[tuple[float, float], ...]] = {
    **dict.fromkeys(("erfinv",), ((-0.999, 0.999),)),
    **dict.fromkeys(("ndtri", "logit"), (PART,)),
    **dict.fromkeys(("erf", "erfc", "erfcx", "ndtr", "log_ndtr", "expit", "log_expit"), (ANY,)),
    **dict.fromkeys(("i0", "i0e", "i1", "i1e", "exprel"), (ANY,)),
    **dict.fromkeys(("gamma", "gammaln", "digamma", "entr", "expi", "exp1"), (POSITIVE,)),
    **dict.fromkeys(("sici", "spence", "j0", "j1", "y0", "y1"), (POSITIVE,)),
    **dict.fromkeys(("k0", "k0e", "k1", "k1e"), (POSITIVE,)),
    **dict.fromkeys(("xlogy", "xlog1py", "rel_entr", "kl_div", "huber"), (POSITIVE, POSITIVE)),
    **dict.fromkeys(("beta", "betaln"), (PARAMETER, PARAMETER)),
    **dict.fromkeys(("gammainc", "gammaincc"), (PARAMETER, PARAMETER)),
    **dict.fromkeys(("betainc",), (PARAMETER, PARAMETER, PART)),
    **dict.fromkeys(("zeta",), ((1.1, 12.0), (0.1, 20.0))),
    **dict.fromkeys(("binom", "poch"), ((1.0, 60.0), (0.5, 30.0))),
    "factorial": ((0.0, 60.0),),
}
"""By function: the range of each argument."""

FIRST_WHOLE = {"polygamma 1": ("polygamma", 1), "polygamma 3": ("polygamma", 3)}
"""Functions with a number as their first argument, and then a positive one."""


def drawn(name: str, count: int, dtype: Any) -> list[Array]:
    """The arguments of a function."""
    random = np.random.default_rng(7)
    ranges = ARGUMENTS.get(name, (POSITIVE,))
    return [random.uniform(*r, count).astype(dtype) for r in ranges]


def of(module: Any, name: str) -> Callable[..., Any] | None:
    """The function of a module; None if it has none."""
    base, *first = FIRST_WHOLE.get(name, (name,))
    found = getattr(module, str(base), None)
    return partial(found, *first) if found is not None and first else found


def waited_for(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What JAX computes, when it is there."""
    found = function(*arguments)
    return [x.block_until_ready() for x in (found if isinstance(found, tuple) else (found,))]


def main() -> None:
    chosen = [a.split("=", 1)[1] for a in sys.argv if a.startswith("--functions=")]
    given = options(__doc__, [a for a in sys.argv[1:] if not a.startswith("--functions=")])
    rounds = given.rounds or (3 if given.quick else 15)
    count = 100_000 if given.quick else 1_000_000
    jax: Any = None
    if peers("jax")["jax"]:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        theirs = importlib.import_module("jax.scipy.special")
    print(f"milliseconds{'':16}" + "".join(f"{c:>12}" for c in COLUMNS))
    records = []
    names = chosen[0].split(",") if chosen else [*ARGUMENTS, *FIRST_WHOLE]
    for name in names:
        for dtype in (np.float32, np.float64):
            arguments = drawn(name, count, dtype)
            ours, scipys = of(special, name), of(scipy.special, name)
            assert ours is not None and scipys is not None
            rows: dict[str, Callable[[], Any]] = {
                "pyc 1": partial(ours, *arguments),
                "pyc 2": partial(ours, *arguments),
                "scipy": partial(scipys, *arguments),
            }
            function = of(theirs, name) if jax is not None else None
            if function is not None:
                compiled = jax.jit(function)
                arrays = [jax.numpy.asarray(a) for a in arguments]
                rows["jax"] = partial(waited_for, compiled, arrays)
            times = in_turn(rows, rounds, threads={"pyc 2": 2})
            fields = [
                f"{1e3 * times[c]['least']:12.3f}" if c in times else f"{'-':>12}" for c in COLUMNS
            ]
            print(f"{name:16} {np.dtype(dtype).name:10} " + "".join(fields), flush=True)
            records.append(
                {
                    "function": name,
                    "dtype": np.dtype(dtype).name,
                    "count": count,
                    "seconds": times,
                }
            )
    publish(given, records)


if __name__ == "__main__":
    main()
