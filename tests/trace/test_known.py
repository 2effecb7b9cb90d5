"""What depends on no traced input has a value when Python asks for it; what does, has none."""

from __future__ import annotations

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc import lax, tree
from pyc.errors import (
    PurityError,
    PycError,
    TracerIntegerConversionError,
    UnsupportedOpError,
)
from pyc.jit import jit
from pyc.trace import known

X = np.array([1.0, 2.0, 3.0])

USES = {
    "shape": lambda x: pnp.zeros(pnp.prod(pnp.asarray([2, 3]))),
    "shape_of_several": lambda x: pnp.zeros(pnp.asarray([2, 3])),
    "reshape": lambda x: pnp.reshape(x, (pnp.sum(pnp.asarray([1, 2])), 1)),
    "axis": lambda x: pnp.sum(x, axis=pnp.argmax(pnp.asarray([3, 1]))),
    "range": lambda x: [x * k for k in range(pnp.asarray(3))],
    "list_index": lambda x: [x, -x, 2 * x][pnp.asarray(1)],
    "slice": lambda x: x[: pnp.asarray(2)],
    "truth": lambda x: x if pnp.arange(3).sum() > 2 else -x,
    "int": lambda x: x * int(pnp.sqrt(pnp.asarray(16.0))),
    "float": lambda x: x * float(pnp.asarray(0.5)),
    "complex": lambda x: x * complex(pnp.asarray(0.5j)),
    "item": lambda x: x * pnp.asarray([0.5, 2.0])[1].item(),
    "tolist": lambda x: x * pnp.asarray([2, 3]).tolist()[1],
    "format": lambda x: x * float(f"{pnp.asarray(0.125):.2f}"),
    "text": lambda x: x * len(str(pnp.arange(3))),
    "key": lambda x: {3: x, 4: -x}[pnp.arange(4).sum() - 3],
    "numpy": lambda x: x * np.asarray(pnp.arange(3)).max(),
    "iteration": lambda x: [x * k for k in pnp.arange(3)],
    "arange": lambda x: x + pnp.arange(pnp.asarray(3), dtype=np.float32),
    "linspace": lambda x: pnp.linspace(0.0, 1.0, pnp.asarray(4)),
    "split": lambda x: pnp.split(x, pnp.asarray([1])),
    "array_split": lambda x: pnp.array_split(x, pnp.asarray(2)),
    "repeat": lambda x: pnp.repeat(x, pnp.asarray([1, 0, 2])),
    "roll": lambda x: pnp.roll(x, pnp.asarray(1)),
    "tensordot": lambda x: pnp.tensordot(x, x, pnp.asarray(1)),
    "norm": lambda x: pnp.linalg.norm(x, pnp.asarray(3)),
}


@pytest.mark.parametrize("name", sorted(USES))
def test_a_value_without_inputs_is_known_where_python_asks(name) -> None:
    """Eagerly every value is known: the traced function must give just that."""
    expected, found = USES[name](X), jit(USES[name])(X)
    np.testing.assert_equal(found, expected)
    for ours, theirs in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize(
    "use",
    [
        lambda x: pnp.zeros(pnp.argmax(x)),
        lambda x: range(pnp.argmax(x) * 0),
        lambda x: pnp.zeros(pnp.where(pnp.arange(3) > 1, pnp.argmax(x), 2)[2]),
        lambda x: [float][0](x.sum()),
        lambda x: x if pnp.zeros_like(x).sum() == x.sum() else -x,
    ],
)
def test_a_value_that_depends_on_an_input_is_not_known(use) -> None:
    with pytest.raises(PycError, match="PYC110"):
        jit(use, loops="unroll")(X)


def test_a_value_of_the_surroundings_is_known_in_a_loop() -> None:
    def function(x):
        n = pnp.arange(3).sum()

        def body(carry, item):
            return carry + pnp.ones(n + 1).sum() * item, None

        return lax.scan(body, 0.0, x)[0]

    assert jit(function)(X) == 24.0


def test_the_counter_of_a_loop_is_not_known() -> None:
    def function(x):
        return lax.fori_loop(0, 3, lambda i, c: c + pnp.ones(i).sum(), x)

    with pytest.raises(TracerIntegerConversionError):
        jit(function)(X)


def test_bits_are_those_of_the_compiled_program() -> None:
    """The Graph interpreter decides, not NumPy, whose sine changes with the processor."""
    angles = np.linspace(0, 10, 40)

    def function(x):
        sines = pnp.sin(pnp.asarray(angles.tolist()))
        return sines, x * 0 + pnp.asarray(sines.tolist())

    traced, known_first = jit(function)(np.zeros(40))
    assert traced.tobytes() == known_first.tobytes()


def test_a_failing_check_is_raised_where_the_value_is_asked_for() -> None:
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        jit(lambda x: x * int(pnp.arange(3)[pnp.asarray([5])[0]]))(X)


def test_more_work_than_the_bound_is_left_to_the_program(monkeypatch) -> None:
    monkeypatch.setattr(known, "ELEMENTS", 100)
    jit(lambda x: x * int(pnp.ones(60).max()))(X)
    for use in (
        lambda x: pnp.ones(120).sum().item(),
        lambda x: (pnp.ones(30) @ pnp.ones(30)).item(),
    ):
        with pytest.raises(PycError, match="needs the value"):
            jit(use)(X)


def test_nothing_is_evaluated_unless_asked(monkeypatch) -> None:
    monkeypatch.setattr(known, "evaluate_eqn", None)
    assert jit(lambda x: x + pnp.arange(3))(X).tolist() == [1.0, 3.0, 5.0]


def test_what_is_computed_once_is_kept(monkeypatch) -> None:
    calls = []
    evaluate_eqn = known.evaluate_eqn
    monkeypatch.setattr(
        known, "evaluate_eqn", lambda e, args: calls.append(e.op.name) or evaluate_eqn(e, args)
    )

    def function(x):
        n = pnp.prod(pnp.asarray([2, 3]))
        return pnp.zeros(n), pnp.ones(n), x * int(n + 1)

    jit(function, purity="off")(X)
    assert calls.count("reduce_prod") == 1


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (lambda x: x, np.ndarray),
        (lambda x: x.sum(), (np.float64, float)),
        (lambda x: x.argmax(), np.integer),
        (lambda x: x > 1, np.ndarray),
        (lambda x: x.sum() > 1, np.bool_),
    ],
)
def test_isinstance_sees_what_numpy_would_give(value, types) -> None:
    assert isinstance(value(X), types)

    def function(x):
        found = value(x)
        assert isinstance(found, types)
        assert not isinstance(found, (list, tuple, str, dict))
        assert isinstance(found, np.ndarray) == (found.ndim > 0)
        return found

    jit(function)(X)


@pytest.mark.parametrize("number", [2, 2.0, 2j])
def test_isinstance_sees_python_numbers(number) -> None:
    def function(n):
        assert isinstance(n, type(number)) and not isinstance(n, (np.generic, np.ndarray))
        assert isinstance(n * 2, type(number))
        return n

    jit(function)(number)


# --- NumPy changes what it is given ---------------------------------------------------------------


def placed(x):
    a = np.zeros(3)
    np.place(a, a < 1, [5.0])
    return x + a


def placed_through_a_view(x):
    a = np.arange(6.0)
    b = a[1:4]
    np.place(b, b > 1, [9.0, 8.0])
    return x * b + a[3]


def masked(x):
    a = np.arange(6.0)[::2]
    np.putmask(a, a > 1, 9.0)
    return x * a


def without_nan(x):
    a = np.array([np.nan, 1.0, 2.0])
    b = np.nan_to_num(a, copy=False)
    b[1] = 7.0
    return x + a


def shuffled(x):
    a = np.arange(3)
    np.random.default_rng(0).shuffle(a)
    return x * a


def list_shuffled(x):
    a = [1, 2, 3]
    np.random.default_rng(0).shuffle(a)
    return x * a[0] + a[1]


def overwritten(x):
    a = np.array([3.0, 1.0, 2.0])
    return x * np.median(a, overwrite_input=True) + a.sum()


@pytest.mark.parametrize(
    "function",
    [
        *(placed, placed_through_a_view, masked, without_nan, shuffled, list_shuffled),
        overwritten,
    ],
)
def test_a_known_array_that_numpy_changes_is_changed(function) -> None:
    """NumPy works on copies of known arrays: what it writes there must not be lost."""
    np.testing.assert_array_equal(jit(function)(X), function(X))


W = np.array([1.0, np.nan, 3.0])


@pytest.mark.parametrize(
    "change",
    [
        lambda: np.place(W, W > 1, [5.0]),
        lambda: np.nan_to_num(W, copy=False),
        lambda: np.random.default_rng(0).shuffle(W),
    ],
)
def test_an_array_from_outside_is_not_changed_by_numpy(change) -> None:
    before = W.copy()
    with pytest.raises(PurityError, match="would change `W`"):
        jit(lambda x: (change(), x)[1])(X)
    np.testing.assert_array_equal(W, before)


def test_views_that_numpy_makes_of_known_arrays_are_not_written_past_each_other() -> None:
    """Constants stand for them: reading both is right, and so is writing to one of them."""
    strided = np.lib.stride_tricks.as_strided

    def reads(x):
        a = np.arange(4.0)
        return x * strided(a, (2, 3), (8, 8))[1] + a[1:]

    def writes_to_the_view(x):
        v = strided(np.arange(4.0), (3,))
        v[0] = 5.0
        return x * v

    def writes_to_the_array(x):
        a = np.arange(4.0)
        v = strided(a, (3,))
        a[0] = 5.0
        return x * v

    def writes_to_the_other(x):
        a = np.arange(3.0)
        strided(a, (3,))[0] = 5.0
        return x * a

    def writes_outside(x):
        strided(W, (3,))[0] = 5.0
        return x

    for function in (reads, writes_to_the_view):
        np.testing.assert_array_equal(jit(function)(X), function(X))
    for function in (writes_to_the_array, writes_to_the_other, writes_outside):
        with pytest.raises(PycError):
            jit(function)(X)
    assert W[0] == 1.0


def test_an_iterator_of_numpy_that_writes_is_refused() -> None:
    def doubled(x):
        a = np.arange(3.0)
        for v in np.nditer(a, op_flags=["readwrite"]):
            v[...] = 2 * v
        return x * a

    with pytest.raises(UnsupportedOpError, match=r"np\.nditer"):
        jit(doubled)(X)
    total = jit(lambda x: x * sum(float(v) for v in np.nditer(np.arange(3.0))))(X)
    np.testing.assert_array_equal(total, 3 * X)
