"""Random functions with loops, branches, early exits, aliases, views and objects, as text.

Each takes two arrays of `LENGTH` elements, a number of iterations and a number, and returns numbers
and arrays. What they compute stays small, and is exact but for rounding.
"""

from __future__ import annotations

import random

LENGTH = 6
HEADER = '''
import numpy as np


class Box:
    """Holds a number and an array."""

    def __init__(self, value, array):
        self.value = value
        self.array = array

    def shift(self, by):
        if by > 0:
            self.value = 0.5 * self.value + by
        return self.value


def changed(array, value):
    array[1] = 0.5 * array[1] + value
    return array


def longest(array, limit):
    for k in range(len(array)):
        if array[k] > limit:
            return k
    return -1


'''
_RESULT = "return s, t, k, a, b, box.value, box.array, items[0], items[1], table['m']"


class Writer:
    """Writes one function. aliases: whether one array may get several names; raises: whether
    branches may raise exceptions, each another one."""

    def __init__(self, seed: int, aliases: bool, raises: bool = False) -> None:
        self.random = random.Random(seed)
        self.aliases = aliases
        self.raises = raises
        self.exceptions = 0
        self.lines: list[str] = []
        self.loops = 0
        self.depth = 0
        self.left = 14
        """How many statements may still be written."""

    def text(self) -> str:
        """The function, named `f`."""
        self.lines = [
            "def f(x, y, n, c):",
            "    s, t, k = 0.5, c, 0",
            "    a, b = x.copy(), y.copy()",
            "    box = Box(1.0, np.zeros(len(x)))",
            "    items = [0.25, x + y]",
            "    table = {'m': c}",
        ]
        while self.left > 0:
            self.statement(1, False)
        self.line(1, "w = s")
        self.line(1, _RESULT)
        return HEADER + "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def one_of(self, *options: str) -> str:
        return self.random.choice(options)

    # --- expressions ------------------------------------------------------------------------------

    def number(self, depth: int = 2) -> str:
        """A float expression."""
        if depth == 0 or self.random.random() < 0.3:
            known = ["s", "t", "c", "0.25", "a[2]", "b[k % 6]", "box.value", "items[0]"]
            return self.one_of(*known, *known, *known, "w")
        one, other = self.number(depth - 1), self.number(depth - 1)
        return self.one_of(
            f"({one} - 0.5 * {other})",
            f"0.5 * ({one} + {other})",
            f"min({one}, {other})",
            f"abs({one})",
            f"({one} if {self.test(depth - 1)} else {other})",
            f"{self.array(0)}.sum() / 8",
            "table['m']",
            f"box.shift({one} / 4)",
        )

    def array(self, depth: int = 2) -> str:
        """An array expression, of `LENGTH` elements."""
        if depth == 0 or self.random.random() < 0.3:
            return self.one_of("a", "b", "x", "box.array", "items[1]", "a[::-1]")
        one, other = self.array(depth - 1), self.array(depth - 1)
        return self.one_of(
            f"(0.5 * ({one} - {other}))",
            f"np.minimum({one}, {self.number(0)})",
            f"np.where({one} > {self.number(0)}, {one}, {other})",
            f"(({one} + {self.number(0)}) / 2)",
            f"{one}.copy()",
        )

    def new(self) -> str:
        """An array that a variable gets."""
        found = self.array()
        return found if self.aliases else f"np.array({found})"

    def test(self, depth: int = 1) -> str:
        """A condition."""
        if depth > 0 and self.random.random() < 0.3:
            one, other = self.test(depth - 1), self.test(depth - 1)
            return self.one_of(f"({one} and {other})", f"({one} or {other})", f"(not {one})")
        return self.one_of(
            f"{self.number(0)} < {self.number(0)}",
            f"k % {self.random.randint(2, 4)} == 1",
            f"-1 < {self.number(0)} < 1",
            "k > 3",
            "len(a) > 3",
            f"{self.array(0)}.max() > {self.number(0)}",
        )

    # --- statements -------------------------------------------------------------------------------

    def block(self, depth: int, looping: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, looping)

    def statement(self, depth: int, looping: bool) -> None:
        """One statement; looping: it is in a loop."""
        self.left -= 1
        choice = self.random.random()
        if self.raises and self.random.random() < 0.2:
            self.exception(depth)
        elif depth < 4 and choice < 0.2:
            self.loop(depth)
        elif depth < 5 and choice < 0.4:
            self.branch(depth, looping)
        else:
            self.line(depth, self.simple())

    def simple(self) -> str:
        index = self.one_of("0", "-1", "k % 6", "2")
        aliasing = (
            "b = a",
            "a, b = b, a",
            f"b = changed({self.one_of('a', 'b', 'box.array')}, {self.number()})",
        )
        return self.one_of(
            f"s = {self.number()}",
            f"t += {self.number()} / 4",
            "k += 1",
            f"k = longest({self.array(0)}, {self.number(0)})",
            f"a = {self.new()}",
            f"b = {self.new()}",
            f"a[{index}] = {self.number()}",
            f"b[1:-1] += 0.5 * {self.array(0)}[2:]",
            f"a *= {self.one_of('0.5', '-0.75', 'np.float64(0.5)')}",
            f"v = a[1:4]; v[0] = {self.number(0)}",
            f"box.value = {self.number()}",
            f"box.array = {self.new()}",
            f"box.array[{index}] = {self.number()}",
            f"items[0] = {self.number()}",
            f"items[1] = {self.new()}",
            f"items[1][{index}] -= {self.number()}",
            f"table['m'] = {self.number()}",
            f"changed({self.one_of('a', 'b', 'box.array')}, {self.number()})",
            f"w = {self.number()}",
            *(aliasing if self.aliases else ()),
        )

    def branch(self, depth: int, looping: bool) -> None:
        self.line(depth, f"if {self.test()}:")
        self.block(depth + 1, looping)
        if looping and self.random.random() < 0.3:
            self.line(depth + 1, self.one_of("break", "continue"))
        elif self.random.random() < 0.15:
            self.line(depth + 1, _RESULT)
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, looping)

    def exception(self, depth: int) -> None:
        """A statement that raises for some data."""
        self.exceptions += 1
        number = self.exceptions
        bound = self.random.randint(1, 3)
        text = self.one_of(
            f"raise ValueError({number})",
            f"raise ValueError({number}, k)",
            f"raise ValueError('{number}: {{}}'.format(k))",
        )
        if self.random.random() < 0.3:
            self.line(depth, f"assert abs({self.number(1)}) < {bound}, {number}")
            return
        self.line(depth, f"if {self.number(1)} > {bound} or k > {2 * bound}:")
        if self.random.random() < 0.3:
            self.statement(depth + 1, False)
        self.line(depth + 1, text)

    def loop(self, depth: int) -> None:
        self.loops += 1
        name = f"i{self.loops}"
        if self.random.random() < 0.25:
            self.line(depth, f"{name} = 0")
            self.line(depth, f"while {name} < {self.one_of('n', '20', '4')} and {self.test()}:")
            self.line(depth + 1, f"{name} += 1")
        else:
            items = self.one_of("range(n)", "range(20)", "range(3)", "range(n, 0, -1)", "a")
            self.line(depth, f"for {name} in {items}:")
        if self.random.random() < 0.5:
            self.line(depth + 1, f"t = 0.5 * t + {name} / 32")
        self.block(depth + 1, True)


__all__ = ["LENGTH", "Writer"]
