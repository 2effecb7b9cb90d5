"""Tracing: from a Python function to a Graph.

What only a trace needs is behind lazy doors, so that `import pyc` does not load it: `namespaces()`
translates what a traced function reads, `name_views()` has the names that it sees, `class_views()`,
`library_views()` and `math_views()` its classes, modules that are not the user's and `math`;
`rewriting()` makes loops and branches ops; `known_values()` evaluates what Python asks for,
`concrete_values()` hands it to NumPy; `calling_functions()` calls the user's functions for NumPy's,
`writing()` writes into arrays for them, `combining()` combines elements by ufuncs;
`selecting()` indexes by traced masks, `selections()` has what they select; `insides()` compares
objects of libraries; `strangers()` knows operands of other kinds, `strays()` errors that traced
values cause elsewhere, `modular()` powers of integers, `filters()` comprehensions of which data
decides what they hold, `stacks()` lists that loops made, `folds()` goes over long ones,
`failing()` knows what may fail under a `try`, `checking()` makes exceptions checks.
"""

from __future__ import annotations

from typing import Any

from pyc.forks import load


def known_values() -> Any:
    """`pyc.trace.known`, which evaluates values that depend on no input."""
    return load("pyc.trace.known")


def concrete_values() -> Any:
    """`pyc.trace.concrete`, which hands known values to NumPy and takes its results in."""
    return load("pyc.trace.concrete")


def absent_methods() -> Any:
    """`pyc.trace.absent`, the methods of arrays that traced ones do not have."""
    return load("pyc.trace.absent")


def calling_functions() -> Any:
    """`pyc.trace.callbacks`, NumPy functions that call a function of the user's."""
    return load("pyc.trace.callbacks")


def writing() -> Any:
    """`pyc.trace.in_place`, NumPy functions that write into their first argument."""
    return load("pyc.trace.in_place")


def combining() -> Any:
    """`pyc.trace.ufunc_methods`, `reduce` and its kin of ufuncs that have no operation for them."""
    return load("pyc.trace.ufunc_methods")


def selections() -> Any:
    """`pyc.trace.selected`, functions of what traced masks and slices select."""
    return load("pyc.trace.selected")


def selecting() -> Any:
    """`pyc.trace.select`, which indexes by traced masks and bounds."""
    return load("pyc.trace.select")


def namespaces() -> Any:
    """`pyc.trace.namespace`, which translates what a traced function reads."""
    return load("pyc.trace.namespace")


def name_views() -> Any:
    """`pyc.trace.views`, the names that a traced function sees."""
    return load("pyc.trace.views")


def class_views() -> Any:
    """`pyc.trace.shadows`, the user's classes as a traced function sees them."""
    return load("pyc.trace.shadows")


def insides() -> Any:
    """`pyc.trace.inside`, which compares objects of libraries as a whole."""
    return load("pyc.trace.inside")


def library_views() -> Any:
    """`pyc.trace.libraries`, the views of modules that are not the user's."""
    return load("pyc.trace.libraries")


def math_views() -> Any:
    """`pyc.trace.math_module`, the views of `math` and its kin."""
    return load("pyc.trace.math_module")


def rewriting() -> Any:
    """`pyc.trace.rewrite`, which rewrites functions that decide something."""
    return load("pyc.trace.rewrite")


def strangers() -> Any:
    """`pyc.trace.strangers`, operators beside lists, texts and objects of others."""
    return load("pyc.trace.strangers")


def strays() -> Any:
    """`pyc.trace.strays`, which explains errors of other people's code."""
    return load("pyc.trace.strays")


def modular() -> Any:
    """`pyc.trace.modular`, powers of traced integers by a modulus."""
    return load("pyc.trace.modular")


def filters() -> Any:
    """`pyc.trace.filtered`, comprehensions with conditions on data."""
    return load("pyc.trace.filtered")


def stacks() -> Any:
    """`pyc.trace.rows`, the elements of lists that a loop has made."""
    return load("pyc.trace.rows")


def folds() -> Any:
    """`pyc.trace.folding`, `sum`, `min` and `max` as loops."""
    return load("pyc.trace.folding")


def failing() -> Any:
    """`pyc.trace.attempts`, operations that may fail where the user's code may catch it."""
    return load("pyc.trace.attempts")


def checking() -> Any:
    """`pyc.trace.raising`, which makes exceptions checks of the program."""
    return load("pyc.trace.raising")
