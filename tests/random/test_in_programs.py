"""Keys and draws where users write them: jitted functions, loops, captures, trees, devices."""

from __future__ import annotations

import functools
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax, random, reasons
from pyc.errors import PurityError
from tests.random import reference

KEY = random.key(99)


def same(a: Any, b: Any) -> None:
    left, right = pyc.tree.leaves(a), pyc.tree.leaves(b)
    assert len(left) == len(right)
    for x, y in zip(left, right, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


def test_keys_are_unpacked() -> None:
    def two(key: Any) -> Any:
        key, part = random.split(key)
        a, b, c = random.split(part, 3)
        return random.uniform(key), random.uniform(a), random.uniform(b), random.uniform(c)

    same(pyc.jit(two)(KEY), two(KEY))


def test_a_loop_of_python_over_keys() -> None:
    def total(key: Any) -> Any:
        found = 0.0
        for part in random.split(key, 40):
            found = found + random.normal(part)
        return found

    same(pyc.jit(total)(KEY), total(KEY))


def test_a_loop_of_python_that_splits_in_each_iteration() -> None:
    def steps(key: Any, n: Any) -> Any:
        x = np.zeros(3)
        for _ in range(n):
            key, part = random.split(key)
            x = x + random.normal(part, (3,))
        return x, key

    for n in (0, 3, 50):
        same(pyc.jit(steps)(KEY, n), steps(KEY, n))


def test_a_loop_that_ends_by_what_is_drawn() -> None:
    def tosses(key: Any) -> Any:
        count = 0
        while True:
            key, part = random.split(key)
            count += 1
            if random.uniform(part) < 0.1:
                return count

    assert pyc.jit(tosses)(KEY) == tosses(KEY)


def test_scan_over_keys() -> None:
    def walk(key: Any) -> Any:
        def step(x: Any, part: Any) -> Any:
            x = x + random.normal(part, (2,))
            return x, x

        return lax.scan(step, np.zeros(2), random.split(key, 12))

    def by_hand(key: Any) -> Any:
        x, seen = np.zeros(2), []
        for part in random.split(key, 12):
            x = x + random.normal(part, (2,))
            seen.append(x)
        return x, np.array(seen)

    same(pyc.jit(walk)(KEY), by_hand(KEY))
    same(walk(KEY), by_hand(KEY))


def test_map_and_switch() -> None:
    keys = random.split(KEY, 5)

    def drawn(keys: Any) -> Any:
        return lax.map(lambda key: random.normal(key, (2,)), keys)

    expected = np.array([random.normal(key, (2,)) for key in keys])
    same(pyc.jit(drawn)(keys), expected)
    same(drawn(keys), expected)
    draws = [random.uniform, random.normal, random.gumbel]
    one = pyc.jit(lambda key, k: lax.switch(k, draws, key))
    same([one(KEY, k) for k in range(3)], [draw(KEY) for draw in draws])


def test_the_counter_of_a_loop_is_folded_in() -> None:
    def numbers(key: Any) -> Any:
        def put(i: Any, x: Any) -> Any:
            return x.at[i].set(random.uniform(random.fold_in(key, i)))

        return lax.fori_loop(0, 9, put, pnp.zeros(9))

    expected = np.array([random.uniform(random.fold_in(KEY, i)) for i in range(9)])
    same(pyc.jit(numbers)(KEY), expected)


def test_branches_draw() -> None:
    def either(key: Any, c: Any) -> Any:
        return lax.cond(
            c > 0, lambda k: random.normal(k, (3,)), lambda k: random.uniform(k, (3,)), key
        )

    same(pyc.jit(either)(KEY, 1.0), random.normal(KEY, (3,)))
    same(pyc.jit(either)(KEY, -1.0), random.uniform(KEY, (3,)))


def test_a_captured_key_is_read_at_each_call() -> None:
    kept = {"key": random.key(1)}

    @pyc.jit
    def draw(x: Any) -> Any:
        return x + random.uniform(kept["key"], x.shape)

    x = np.zeros(4)
    same(draw(x), random.uniform(random.key(1), (4,)))
    kept["key"] = random.key(2)
    same(draw(x), random.uniform(random.key(2), (4,)))
    assert draw.cache_info().misses == 1


def test_a_seed_is_an_argument() -> None:
    draw = pyc.jit(lambda seed: random.normal(random.key(seed), (3,)))
    for seed in (0, 5, -1, 2**40):
        same(draw(seed), random.normal(random.key(seed), (3,)))
    assert draw.cache_info().misses == 1
    for dtype in (np.int32, np.uint8, np.int64):
        same(draw(dtype(7)), random.normal(random.key(7), (3,)))
    same(draw(np.int32(-7)), random.normal(random.key(-7), (3,)))
    same(draw(np.array(7)), random.normal(random.key(7), (3,)))


def test_a_seed_in_a_program_is_a_constant() -> None:
    def numbers(x: Any) -> Any:
        key = random.key(12)
        first, second = random.split(key)
        return x + random.normal(first, (3,)) + random.uniform(random.fold_in(second, 4))

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # overflow of NumPy's scalars, which would tell of them
        same(pyc.jit(numbers)(np.zeros(3)), numbers(np.zeros(3)))


def test_parameters_are_traced() -> None:
    def all_of(key: Any, low: Any, high: Any, p: Any, n: Any) -> Any:
        return (
            random.uniform(key, (5,), np.float32, low, high),
            random.bernoulli(key, p, (5,)),
            random.randint(key, (5,), n, n + 10),
            random.randint(key, (5,), 0, n, np.uint8),
        )

    args = KEY, 0.1, 7, 0.3, 5
    same(pyc.jit(all_of)(*args), all_of(*args))
    one = pyc.jit(all_of)
    one(*args)
    same(one(KEY, 0.5, 9, 0.7, 8), all_of(KEY, 0.5, 9, 0.7, 8))
    assert one.cache_info().misses == 1


def test_a_size_may_be_a_static_argument_or_a_shape() -> None:
    sized = pyc.jit(lambda key, n: random.uniform(key, (n, 2)), static_argnames="n")
    same(sized(KEY, n=3), random.uniform(KEY, (3, 2)))
    shaped = pyc.jit(lambda key, x: random.normal(key, x.shape, x.dtype) + x)
    same(shaped(KEY, np.ones((2, 3), np.float32)), random.normal(KEY, (2, 3), np.float32) + 1)
    ordered = pyc.jit(lambda key, x: random.permutation(key, len(x)))
    same(ordered(KEY, np.ones(9)), random.permutation(KEY, 9))


def test_the_functions_themselves_are_jitted() -> None:
    drawn = pyc.jit(random.uniform, static_argnames=("shape", "dtype"))
    same(drawn(KEY, shape=(3,), dtype=np.float32), random.uniform(KEY, (3,), np.float32))
    same(pyc.jit(random.split, static_argnums=1)(KEY, 3), random.split(KEY, 3))
    same(pyc.jit(functools.partial(random.normal, shape=(3,)))(KEY), random.normal(KEY, (3,)))
    same(pyc.jit(random.permutation)(KEY, np.arange(9.0)), random.permutation(KEY, np.arange(9.0)))
    same(pyc.jit(random.key)(7), random.key(7))


def test_a_method_draws_by_a_key_of_its_object() -> None:
    class Layer:
        def __init__(self, seed: int) -> None:
            self.key, self.rate = random.key(seed), 0.5

        @pyc.jit
        def dropped(self, x: Any) -> Any:
            return np.where(random.bernoulli(self.key, self.rate, x.shape), x / self.rate, 0)

    layer = Layer(4)
    for rate in (0.5, 0.25):
        layer.rate = rate
        kept = random.bernoulli(random.key(4), rate, (50,))
        same(layer.dropped(np.ones(50)), np.where(kept, 1 / rate, 0))


def test_keys_are_leaves_of_trees() -> None:
    @pyc.jit
    def step(state: Any) -> Any:
        key, part = random.split(state["key"])
        return {"key": key, "x": state["x"] + random.normal(part, state["x"].shape)}

    state = {"key": KEY, "x": np.zeros(2)}
    key, part = random.split(KEY)
    same(step(state), {"key": key, "x": random.normal(part, (2,))})


def test_a_key_may_be_donated() -> None:
    step = pyc.jit(lambda key: random.split(key)[0], donate_argnums=0)
    same(step(KEY.copy()), reference.split(KEY, 2)[0])


def test_keys_of_any_layout() -> None:
    keys = random.split(KEY, 6)
    same(random.uniform(keys[4]), random.uniform(keys[::2][2]))
    same(random.uniform(np.asfortranarray(keys)[3]), random.uniform(keys[3]))
    frozen = KEY.copy()
    frozen.flags.writeable = False
    same(random.uniform(frozen), random.uniform(KEY))


def on_cpu(x: Any) -> Any:
    return pyc.device_put(x, "cpu")


def test_arrays_of_pyc() -> None:
    """Keys that are `pyc.Array`s give numbers that are, on their device."""
    there = pyc.device_put(KEY, "cpu")
    high = np.array([2.0, 3.0])
    draws: list[Callable[[Any, Any], Any]] = [
        lambda key, put: random.split(key, 3),
        lambda key, put: random.fold_in(key, 7),
        lambda key, put: random.fold_in(key, put(np.array(7))),
        lambda key, put: random.normal(key, (5,), np.float32),
        lambda key, put: random.uniform(key, (2,), float, 1, put(high)),
        lambda key, put: random.randint(key, (2,), 0, put(np.array([5, 9]))),
        lambda key, put: random.choice(key, put(high), (3,)),
        lambda key, put: random.choice(key, 2, (3,), p=put(high)),
        lambda key, put: random.permutation(key, 6),
        lambda key, put: random.categorical(key, put(high)),
        lambda key, put: random.bernoulli(key, 0.5, (3,)),
    ]
    for draw in draws:
        expected = draw(KEY, lambda x: x)
        for put in (lambda x: x, on_cpu):
            found = draw(there, put)
            assert type(found) is pyc.Array and found.device == "cpu"
            same(np.asarray(found), np.asarray(expected))
    first, second = random.split(there)
    same(np.asarray(random.bits(first)), np.asarray(random.bits(random.split(KEY)[0])))
    assert type(second) is pyc.Array
    made = random.key(pyc.device_put(np.array(99), "cpu"))
    same(np.asarray(made), KEY)


def test_other_ways_to_run_a_function() -> None:
    def draw(key: Any) -> Any:
        return random.normal(key, (3,)).sum()

    assert pyc.interpret(draw)(KEY) == pyc.jit(draw)(KEY) == draw(KEY)
    assert pyc.eval_shape(draw, KEY).shape == ()
    pyc.verify(draw, KEY)
    same(pyc.jit(draw, purity="off")(KEY), draw(KEY))
    same(pyc.jit(draw, loops="unroll")(KEY), draw(KEY))


def test_equal_draws_are_drawn_once() -> None:
    """As equal expressions are computed once."""
    once = pyc.make_graph(lambda k: random.uniform(k, (9,)))(KEY)
    twice = pyc.make_graph(lambda k: random.uniform(k, (9,)) + random.uniform(k, (9,)))(KEY)
    assert len(twice.eqns) == len(once.eqns) + 1


def test_draws_leave_the_states_of_others_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index]
    random.normal(random.key(0), (100,))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index]


def test_an_eager_call_of_a_known_kind_compiles_nothing() -> None:
    random.uniform(KEY, (17,), np.float32)
    keys = random.split(KEY, 20)
    with reasons.collecting() as found:
        for k in keys:
            random.uniform(k, (17,), np.float32)
        random.split(KEY, 20)
    assert found == []


def test_threads_draw_the_same() -> None:
    """Also while the first of them compiles."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: random.gumbel(random.key(k % 4), (1013,)), range(32)))
    for k, x in enumerate(found):
        same(x, random.gumbel(random.key(k % 4), (1013,)))


def test_programs_are_made_again_after_the_caches_are_cleared() -> None:
    before = random.exponential(KEY, (11,))
    pyc.clear_caches()
    same(random.exponential(KEY, (11,)), before)


def test_the_first_draw_may_be_in_a_jitted_function() -> None:
    """`pyc.random` is loaded then, which is no effect of the function."""
    code = (
        "import numpy as np, pyc\n"
        "f = pyc.jit(lambda key: pyc.random.bits(key, (2,)))\n"
        "print(*f(np.zeros(2, np.uint32)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(0x6627E8D5), str(0xE169C58D)]


def test_numpys_generators_are_refused_with_the_way_to_draw() -> None:
    with pytest.raises(PurityError, match=r"pyc\.random\.normal"):
        pyc.jit(lambda x: x + np.random.normal(size=3))(np.zeros(3))
