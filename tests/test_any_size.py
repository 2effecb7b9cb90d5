"""Programs for arrays of any size: operations outside of `jit` compile nothing for a new shape, and
give the bytes of a jitted function, which is compiled for its shapes."""

from __future__ import annotations

import operator
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
import pyc.ir.target
import pyc.lowered
import pyc.numpy as pnp
import pyc.scipy.special as special
from pyc import compile_cuda, eager, eager_calls, pipeline, reasons
from pyc.backends import nvptx, x86
from pyc.eager import only_any_size
from pyc.errors import IntegerRangeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder
from pyc.ir.plan import Launch
from pyc.ir.simulate import run
from pyc.ir.sizes import EXTENTS, collapsed, lines
from pyc.ir.target import SM_90
from pyc.ir.types import ArrayType
from pyc.numpy.on_device import op_by_op
from pyc.passes.any_size import plan_any_size
from pyc.reasons import Reason
from tests.backends.interpreted_device import InterpretedDevice, install

TYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64")
TYPES += ("complex64", "complex128", "bfloat16")


def numpy_type(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def array(shape: tuple[int, ...], name: str, seed: int = 0) -> np.ndarray[Any, Any]:
    """Elements of a type, the awkward ones among them."""
    kind = numpy_type(name)
    rng = np.random.default_rng(seed)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        return rng.integers(0, 100, shape).astype(kind)
    which = rng.integers(0, 20, shape)
    x = np.select(
        [which == 0, which == 1, which == 2], [np.nan, -0.0, np.inf], rng.normal(size=shape)
    )
    if kind.kind == "c":
        return (x + 1j * rng.normal(size=shape)).astype(kind)
    return np.asarray(x).astype(kind)


def on_cpu(x: np.ndarray[Any, Any]) -> Any:
    return pyc.device_put(x, "cpu")


def as_bytes(x: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    """The results of a call, NaNs made equal."""
    found = []
    for r in x if isinstance(x, tuple) else (x,):
        r = np.array(r)
        if r.dtype.kind in "fcV":
            r[r != r] = np.nan
        found.append((str(r.dtype), r.shape, r.tobytes()))
    return found


@pytest.fixture
def nothing_compiled(cache_dir: Path) -> None:
    """What other tests have compiled is forgotten, in this process and on disk."""
    pyc.clear_caches()


fresh = pytest.mark.usefixtures("nothing_compiled")


@contextmanager
def compiled_programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The Plans compiled within."""
    found: list[Any] = []
    usual = pipeline.compile_plan

    def noted(plan: Any, target: Any) -> Any:
        found.append(plan)
        return usual(plan, target)

    with monkeypatch.context() as m:
        m.setattr(pipeline, "compile_plan", noted)
        yield found


@fresh
def test_functions_of_one_array_share_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though their tasks have different sizes; each has all of its elements."""
    with compiled_programs(monkeypatch) as found:
        x = np.arange(40_001.0)
        np.testing.assert_array_equal(pnp.floor(x), x)
        np.testing.assert_array_equal(pnp.negative(x), -x)
        np.testing.assert_allclose(pnp.cbrt(x), np.cbrt(x), rtol=1e-15)
    target = pyc.ir.target.X86_64_V3
    made = [x86.modules(plan, target) for plan in found]
    assert len(made) == 3
    assert len({m.entry for m in made}) == 1
    tables = {line for m in made for line in m.text.splitlines() if line.startswith("@numbers")}
    assert len(tables) > 1


# --- shapes ---------------------------------------------------------------------------------------


def f64(*shapes: tuple[int, ...]) -> list[ArrayType]:
    return [ArrayType(s, dt.f64) for s in shapes]


A, B, C = EXTENTS[:3]


@pytest.mark.parametrize(
    ("shapes", "sizes", "stand_ins"),
    [
        ([(5,)], (5,), [(A,)]),
        ([(2, 3, 4), (2, 3, 4)], (24,), [(A,), (A,)]),
        ([(2, 3), ()], (6,), [(A,), ()]),
        ([(3, 1, 5), (4, 5)], (3, 4, 5), [(A, 1, C), (1, B, C)]),
        ([(7, 2, 3), (2, 3)], (7, 6), [(A, B), (1, B)]),
        ([(7, 2, 3), (7, 1, 1)], (7, 6), [(A, B), (A, 1)]),
        ([(1, 1), (1,)], (1,), [(A,), (A,)]),
        ([(5,), (1,)], (5,), [(A,), (1,)]),
        ([(0, 3), (3,)], (0, 3), [(A, B), (1, B)]),
        ([(1, 4, 1, 6), (4, 1, 1)], (4, 6), [(A, B), (A, 1)]),
    ],
)
def test_axes_that_the_same_arrays_have_are_one(
    shapes: list[tuple[int, ...]], sizes: tuple[int, ...], stand_ins: list[tuple[int, ...]]
) -> None:
    found = collapsed(f64(*shapes))
    assert found is not None
    assert found.sizes == sizes
    assert [t.shape for t in found.types] == stand_ins
    assert found.shape == np.broadcast_shapes(*shapes)


def test_what_has_no_form() -> None:
    """Numbers alone, shapes that do not broadcast, more axes than stand-ins."""
    assert collapsed(f64((), ())) is None
    assert collapsed(f64((3,), (4,))) is None
    ragged = tuple(2 + k % 2 for k in range(10))
    assert collapsed(f64(ragged, tuple(n if k % 2 else 1 for k, n in enumerate(ragged)))) is None


@pytest.mark.parametrize(
    ("shape", "axes", "sizes"),
    [
        ((5,), (0,), (1, 5)),
        ((2, 3, 4), (2,), (6, 4)),
        ((2, 3, 4), (1, 2), (2, 12)),
        ((2, 3, 4), (0,), (1, 2, 12)),
        ((2, 3, 4), (1,), (2, 3, 4)),
        ((2, 0, 4), (1,), (2, 0, 4)),
        ((2, 3, 4), (0, 2), None),
        ((2, 3, 4), (), None),
    ],
)
def test_reductions_of_neighbouring_axes_are_lines(
    shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...] | None
) -> None:
    found = lines(ArrayType(shape, dt.f64), axes)
    assert (found and found.sizes) == sizes


# --- one program for all sizes --------------------------------------------------------------------

SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 5, 17, 40]), max_size=4).map(tuple)
LENGTHS = st.sampled_from([1, 2, 7, 8, 15, 16, 17, 127, 128, 129, 1000, 1024, 1025, 3000])


@st.composite
def operands(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast together."""
    shape = draw(SHAPES)
    found = []
    for _ in range(count):
        cut = draw(st.integers(0, len(shape)))
        ones = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
        found.append(tuple(1 if o else n for n, o in zip(shape, ones, strict=True))[cut:])
    return found


UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": np.negative,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "exp": np.exp,
    "isnan": np.isnan,
    "square": np.square,
    "twice": lambda x: x * 2,
    "half": lambda x: x * 0.5,
    "cast": lambda x: x.astype(np.float32),
    "chosen": lambda x: np.where(x == 0, x, x + x),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "equal": operator.eq,
    "maximum": np.maximum,
    "less": operator.lt,
}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "max": np.max,
    "argmin": np.argmin,
    "any": np.any,
    "mean": np.mean,
    "prod": np.prod,
    "var": np.var,
}


def agree(function: Callable[..., Any], arrays: list[np.ndarray[Any, Any]]) -> None:
    """On `Array`s outside of `jit` as jitted, errors included; and near NumPy."""
    given_arrays = [on_cpu(a) for a in arrays]
    try:
        expected = pyc.jit(function)(*given_arrays)
    except pyc.errors.PycError as error:
        with pytest.raises(type(error)):
            function(*given_arrays)
        return
    assert as_bytes(function(*given_arrays)) == as_bytes(expected)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(UNARY)), st.sampled_from(TYPES), SHAPES, st.integers(0, 9))
def test_functions_of_elements_have_the_bits_of_jit(
    name: str, kind: str, shape: tuple[int, ...], seed: int
) -> None:
    agree(UNARY[name], [array(shape, kind, seed)])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(BINARY)),
    st.tuples(st.sampled_from(TYPES), st.sampled_from(TYPES)),
    operands(2),
)
def test_broadcasts_have_the_bits_of_jit(
    name: str, kinds: tuple[str, str], shapes: list[tuple[int, ...]]
) -> None:
    agree(
        BINARY[name], [array(s, k, n) for n, (s, k) in enumerate(zip(shapes, kinds, strict=True))]
    )


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(REDUCTIONS)),
    st.sampled_from(TYPES),
    st.tuples(st.sampled_from([1, 2, 9]), LENGTHS, st.sampled_from([1, 3, 20])),
    st.sampled_from([None, 0, 1, 2, (0, 2), (1, 2), -2]),
    st.booleans(),
)
def test_reductions_have_the_bits_of_jit(
    name: str, kind: str, shape: tuple[int, ...], axis: Any, keepdims: bool
) -> None:
    if name == "argmin":
        axis = axis if isinstance(axis, int) else None
    agree(
        lambda x: REDUCTIONS[name](x, axis=axis, keepdims=keepdims), [array(shape, kind, shape[1])]
    )


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(UNARY)), st.sampled_from(["int32", "float32", "float64"]), SHAPES)
def test_numpy_arrays_of_any_strides_have_the_bits_of_jit(
    name: str, kind: str, shape: tuple[int, ...]
) -> None:
    """Through pyc.numpy: every other element, axes reversed, last ones first."""
    whole = array(tuple(2 * n for n in shape), kind)
    parts = [whole[tuple(slice(None, None, 2) for _ in shape)], whole.T]
    parts.append(whole[tuple(slice(None, None, -1) for _ in shape)])
    for part in parts:
        found = pnp.add(part, part)
        expected = pyc.jit(lambda x: x + x)(np.ascontiguousarray(part).reshape(part.shape))
        assert as_bytes(found) == as_bytes(expected)
        np.testing.assert_array_equal(found, part + part)


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 100, 127, 128, 1023, 1024, 1025, 5000, 70_001])
def test_sums_of_any_length_have_the_documented_order(kind: str, n: int) -> None:
    """Rows and columns, few and many: the bytes of the program for that length."""
    rng = np.random.default_rng(n)
    x = (rng.normal(size=(3, n)) * 100).astype(kind)
    rows, columns = pyc.jit(lambda x: x.sum(axis=1)), pyc.jit(lambda x: x.sum(axis=0))
    assert as_bytes(pnp.sum(x, axis=1)) == as_bytes(rows(x))
    upright = np.ascontiguousarray(x.T)
    assert as_bytes(pnp.sum(upright, axis=0)) == as_bytes(columns(upright))
    one = pyc.jit(lambda x: x.sum())
    assert as_bytes(pnp.sum(x[0])) == as_bytes(one(np.ascontiguousarray(x[0])))


def test_tasks_of_large_arrays_meet_at_their_ends() -> None:
    for shape in [(999_983,), (7, 100_003), (100_003, 7)]:
        x = array(shape, "float64")
        y = array(shape[-1:], "float64", 1)
        agree(operator.add, [x, y])
        agree(lambda x: x.sum(axis=0), [x])


def test_a_check_fails_as_in_jit() -> None:
    """What only the elements can say is said for any size."""
    for n in (3, 40):
        x = on_cpu(np.arange(n))
        with pytest.raises(ShapeError):
            x + on_cpu(np.arange(n + 1))
        with pytest.raises(IntegerRangeError):
            x.astype(np.int8) + 1000


@pytest.mark.parametrize("target", [pyc.ir.target.X86_64_V3, SM_90], ids=["cpu", "gpu"])
@pytest.mark.parametrize(
    ("shapes", "sizes"),
    [
        ([(A,), (A,)], (1,)),
        ([(A,), (A,)], (37,)),
        ([(A, B), (1, B)], (3, 5)),
        ([(A, 1, C), (1, B, C)], (3, 4, 17)),
    ],
)
def test_the_kernel_interpreter_runs_elements(
    target: pyc.ir.target.Target, shapes: list[tuple[int, ...]], sizes: tuple[int, ...]
) -> None:
    """It reports races, accesses outside of arrays, and elements that are not written."""
    builder = Builder()
    domain = EXTENTS[: len(sizes)]
    params = [builder.param(ArrayType(s, dt.f64)) for s in shapes]
    wide = [
        p if p.shape == domain else builder.bind("broadcast", p, shape=domain)[0] for p in params
    ]
    plan = plan_any_size(builder.build(builder.bind("add", *wide)), target, check=True).plan
    real = dict(zip((1, *EXTENTS), (1, *sizes), strict=False))
    arrays = [array(tuple(real[n] for n in s), "float64", k) for k, s in enumerate(shapes)]
    out = np.zeros(sizes)
    (launch,) = plan.steps
    assert isinstance(launch, Launch)
    run(plan.kernels[0], [[*arrays, out][slot] for slot in launch.slots], sizes)
    np.testing.assert_array_equal(out, arrays[0] + arrays[1])


@pytest.mark.parametrize("monoid", ["sum", "argmax"])
@pytest.mark.parametrize("sizes", [(2, 0), (2, 5), (3, 128), (2, 1100), (2, 7, 3), (1, 1100, 9)])
def test_the_kernel_interpreter_runs_reductions(monoid: str, sizes: tuple[int, ...]) -> None:
    builder = Builder()
    x = builder.param(ArrayType(EXTENTS[: len(sizes)], dt.f64))
    op = "reduce_sum" if monoid == "sum" else "argmax"
    graph = builder.build(builder.bind(op, x, axes=(1,)))
    (kernel,) = plan_any_size(graph, pyc.ir.target.X86_64_V3, check=True).plan.kernels
    given_array = np.random.default_rng(0).normal(size=sizes)
    out = np.zeros((sizes[0], *sizes[2:]), np.float64 if monoid == "sum" else np.int64)
    run(kernel, [given_array, out], sizes)
    if monoid == "sum":
        np.testing.assert_allclose(out, given_array.sum(axis=1), atol=1e-12)
    elif sizes[1]:
        np.testing.assert_array_equal(out, given_array.argmax(axis=1))


# --- nothing is compiled twice --------------------------------------------------------------------


def program(x: Any, y: Any) -> None:
    """Operations of many kinds, each outside of `jit`."""
    np.sin(x) + y * 2.0
    x.sum(axis=0), x.mean(axis=1), np.var(x), (x > 0).any(), x.argmax()
    np.where(x > y, x, 0.0), x.T, x[1:, ::-1], np.concatenate([x, x]), x.astype(np.float32)
    np.take(x, [0, 1], axis=1), np.clip(x, -1, 1), np.stack([x, x], axis=1), x.reshape(-1)
    np.tril(x), np.roll(x, 1), np.pad(x, 1), np.diff(x), np.linalg.norm(x), np.outer(y, y)


@fresh
def test_a_new_shape_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """But the second: then a function of several operations runs in steps, which are compiled."""
    rng = np.random.default_rng(0)

    def arrays(m: int, n: int) -> list[Any]:
        return [on_cpu(rng.normal(size=s)) for s in [(m, n), (n,)]]

    program(*arrays(3, 4))
    program(*arrays(4, 7))
    shapes = [(5, 6), (2, 9), (40, 3), (100, 200), (3, 2), (1000, 30)]
    with compiled_programs(monkeypatch) as found:
        for m, n in shapes:
            program(*arrays(m, n))
    assert found == []


@fresh
def test_numpy_arrays_compile_nothing_for_a_new_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(m: int, n: int) -> None:
        x, y = np.ones((m, n), np.float32), np.arange(n)
        pnp.add(x, y), pnp.sum(x, axis=0), pnp.mean(x), pnp.exp(x), pnp.take(x, [0], axis=1)
        pnp.where(pnp.less(x, 1), x, 2), pnp.transpose(x)
        pnp.max(x.reshape(m, 1, n) + np.ones((m, 2, n), np.float32), axis=(0, 2))

    run(3, 4)
    run(4, 7)
    with compiled_programs(monkeypatch) as found:
        for m, n in [(5, 6), (2, 9), (30, 31)]:
            run(m, n)
    assert found == []


@fresh
def test_large_results_have_a_program_that_passes_by_the_caches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One for all large sizes, whose bytes are those of the program for smaller ones."""
    x = np.arange(float(eager.STREAMED_BYTES // 8 + 5))
    with compiled_programs(monkeypatch) as found:
        for n in (0, 3):
            whole = np.array(on_cpu(x[n:]) - 0.25)
            np.testing.assert_array_equal(whole, x[n:] - 0.25)
    streamed = [p for p in found if p.kernels[0].buffers[-1].streamed]
    assert len(streamed) == 1
    assert "!nontemporal" in x86.modules(streamed[0], pyc.ir.target.X86_64_V4).text


@fresh
def test_long_lines_are_shared_by_tasks() -> None:
    """From some millions of elements on, if there are few: worth a program for the shape."""
    reasons.clear()
    long = np.ones(eager.SHARED_FROM + 3)
    assert pnp.sum(long) == long.size
    assert reasons.counts()[Reason.FALLBACK_ONE_SIZE] == 1
    assert pnp.sum(long[:-4]) == long.size - 4
    assert reasons.counts()[Reason.FALLBACK_ONE_SIZE] == 1


@fresh
def test_what_has_no_such_program_says_so() -> None:
    reasons.clear()
    x = on_cpu(np.ones((3, 23)))
    np.sort(x)
    pnp.matmul(np.ones((3, 23)), np.ones((23, 3)))
    events = [e for e in reasons.events() if e.reason is Reason.FALLBACK_ONE_SIZE]
    assert [e.details["operation"] for e in events] == ["sort", "dot_general"]
    assert "f64[3,23]" in events[0].details["types"]


@fresh
def test_the_first_shapes_of_a_function_have_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all its operations: each alone would have to be compiled."""
    x = np.random.default_rng(0).normal(size=(37, 5))
    with compiled_programs(monkeypatch) as found:
        on_host = pnp.nanvar(x, axis=0)
        assert len(found) == 1
    with op_by_op():
        assert as_bytes(on_host) == as_bytes(pnp.nanvar(x, axis=0))
    with compiled_programs(monkeypatch) as found:
        on_device = np.var(on_cpu(x), axis=0)
        assert len(found) == 1
    with only_any_size(), op_by_op():
        assert as_bytes(on_device) == as_bytes(np.var(on_cpu(x), axis=0))


@fresh
@pytest.mark.parametrize(
    "call", [lambda x: pnp.kaiser(len(x), 3.5), lambda x: special.sici(x)], ids=["kaiser", "sici"]
)
def test_parts_of_a_function_are_one_program_for_the_first_shapes(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And programs for any size for others."""
    x = np.random.default_rng(0).normal(size=37)
    with compiled_programs(monkeypatch) as found:
        together = call(x)
        assert len(found) == 1
    call(x[:11])
    with compiled_programs(monkeypatch) as found:
        call(x[:19]), call(x[:5])
    assert found == []
    with op_by_op():
        assert as_bytes(np.asarray(together)) == as_bytes(np.asarray(call(x)))


@fresh
def test_whole_numbers_that_change_make_no_programs_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(0).normal(size=(6, 7))
    with compiled_programs(monkeypatch) as found:
        for k in range(20):
            np.testing.assert_allclose(pnp.var(x, ddof=k), np.var(x, ddof=k), rtol=1e-14)
    steps = len(found) - eager_calls.FORMS
    assert 1 < steps < 8


@fresh
@pytest.mark.parametrize("put", [np.asarray, on_cpu])
def test_a_call_that_comes_often_becomes_one_program(
    put: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same bits: before, its operations were programs for any size."""
    pnp.var(put(np.zeros((3, 4))), axis=0)
    x = put(np.random.default_rng(0).normal(size=(37, 5)))
    first = as_bytes(pnp.var(x, axis=0))
    with compiled_programs(monkeypatch) as found:
        for _ in range(eager_calls.IN_STEPS):
            assert as_bytes(pnp.var(x, axis=0)) == first
        assert len(found) == 1
        reasons.clear()
        assert as_bytes(pnp.var(x, axis=0)) == first
    assert Reason.FALLBACK_ONE_SIZE not in reasons.counts()


@fresh
@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.fft.irfft(x[0]),
        lambda x: np.histogram(x, 5, (0, 1)),
        lambda x: np.unwrap(x),
        lambda x: np.cov(x),
        lambda x: np.convolve(x[0] + 1, x[1] + 1),
    ],
)
def test_a_function_that_cannot_run_in_steps_begins_with_none(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of its later operations has no program for any size: those before are not compiled."""
    x = on_cpu(np.random.default_rng(0).uniform(size=(5, 31)))
    x[0] + 1, x[1] + 1, x[0]
    reasons.clear()
    with compiled_programs(monkeypatch) as found:
        call(x)
    assert len(found) == 1
    assert reasons.counts()[Reason.FALLBACK_ONE_SIZE] == 1


def test_a_program_for_any_size_is_found_on_disk() -> None:
    """Another process runs other shapes, and loads no compiler."""
    code = (
        "import sys, numpy as np, pyc\n"
        "x = pyc.device_put(np.ones((int(sys.argv[1]), 3)), 'cpu')\n"
        "np.tanh(x); x.sum(axis=1)\n"
        "print('llvmlite' in sys.modules or 'pyc.pipeline' in sys.modules)\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code, n], capture_output=True, text=True, check=True
        ).stdout.strip()
        for n in ("4", "77")
    ]
    assert said[1] == "False"


def test_a_kernel_for_any_size(golden: Callable[..., None]) -> None:
    """The text of one of elements, and of a reduction of rows."""
    texts = []
    for types, op, params in [
        ([(A,), (A,)], "add", {}),
        ([(A, B)], "reduce_sum", {"axes": (1,)}),
    ]:
        builder = Builder()
        args = [builder.param(ArrayType(s, dt.f32)) for s in types]
        graph = builder.build(builder.bind(op, *args, **params))
        lowered = pyc.lowered.lower_graph(
            graph, target=pyc.ir.target.X86_64_V3, options={"extents": "any"}
        )
        texts += [lowered.as_text("kernels"), lowered.as_text("plan")]
    golden("\n".join(texts))


# --- on a GPU -------------------------------------------------------------------------------------

GPU_CASES: list[tuple[Callable[..., Any], list[tuple[int, ...]]]] = [
    (lambda x: x + 1.0, [(5,)]),
    (lambda x: np.sin(x) * 2, [(3, 4)]),
    (lambda x, y: x + y, [(3, 1, 5), (4, 5)]),
    (lambda x, y: np.where(x > y, x, y), [(3, 300), (300,)]),
    (lambda x: x.astype(np.float32), [(1000,)]),
    (lambda x: np.isnan(x), [(2, 1025)]),
    (lambda x, y: x * y, [(1, 1), (1,)]),
    (lambda x: x - 0.5, [(0, 3)]),
]


def agree_on(name: str) -> None:
    """A device gives the bytes of the CPU."""
    for function, shapes in GPU_CASES:
        for extra in (0, 1):
            grown = [tuple(n + extra if n > 1 else n for n in s) for s in shapes]
            arrays = [array(s, "float64", k) for k, s in enumerate(grown)]
            found = function(*(pyc.device_put(a, name) for a in arrays))
            assert as_bytes(found) == as_bytes(function(*map(on_cpu, arrays)))


def test_a_gpu_has_programs_for_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the device of the tests: the same bytes, and for other shapes no other program."""
    install(InterpretedDevice(), monkeypatch)
    agree_on("cuda")
    loaded: list[Any] = []
    usual = compile_cuda.obtained

    def noted(lowered: Any, on: Any) -> Any:
        loaded.append(lowered)
        return usual(lowered, on)

    monkeypatch.setattr(compile_cuda, "obtained", noted)
    for function, shapes in GPU_CASES[:-1]:
        other = [tuple(n + 7 if n > 1 else n for n in s) for s in shapes]
        function(*(pyc.device_put(array(s, "float64"), "cuda") for s in other))
    assert loaded == []


@pytest.mark.cuda
def test_a_gpu_gives_the_bytes_of_the_cpu() -> None:
    agree_on("cuda")
    for n in (1, 2, 255, 256, 257, 100_003):
        for kind in ("float32", "float16", "uint8", "complex64"):
            x = array((n,), kind)
            found = pyc.device_put(x, "cuda") + pyc.device_put(x[:1], "cuda")
            assert as_bytes(found) == as_bytes(on_cpu(x) + on_cpu(x[:1]))


@pytest.mark.parametrize("kind", [dt.f32, dt.f64, dt.u8])
def test_lines_are_read_in_16_bytes_on_a_gpu(kind: dt.DType) -> None:
    """A thread each; how many blocks there are, the size says."""
    builder = Builder()
    x, y = (builder.param(ArrayType((A,), kind)) for _ in range(2))
    planned = plan_any_size(builder.build(builder.bind("add", x, y)), SM_90, check=True)
    text, (launch,) = nvptx.module_text(planned.plan.kernels, SM_90)
    assert re.search(r"ld.global.nc.(v4.b32|v2.b64)", nvptx.ptx(text, SM_90))
    assert launch.grid[0] == 0
    found = launch.bound((1 << 20,))
    assert found.grid[0] * found.threads * 16 // kind.itemsize == 1 << 20


@fresh
def test_programs_are_forgotten() -> None:
    np.sin(on_cpu(np.ones(3)))
    pyc.clear_caches()
    assert eager._made_for_any_size.cache_info().currsize == 0
    assert eager_calls._for_any_size.cache_info().currsize == 0
