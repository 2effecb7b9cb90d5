"""Tracing: from a Python function to a Graph.

What only a trace needs is behind lazy doors, so that `import pyc` does not load it: `namespaces()`
has the views that a traced function runs in, `class_views()` and `math_views()` those of classes
and of `math`; `rewriting()` makes loops and branches ops; `known_values()` evaluates what Python
asks for, `concrete_values()` hands it to NumPy.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def known_values() -> Any:
    """`pyc.trace.known`, which evaluates values that depend on no input."""
    return import_module("pyc.trace.known")


@cache
def concrete_values() -> Any:
    """`pyc.trace.concrete`, which hands known values to NumPy and takes its results in."""
    return import_module("pyc.trace.concrete")


@cache
def namespaces() -> Any:
    """`pyc.trace.namespace`, the views of what a traced function reads."""
    return import_module("pyc.trace.namespace")


@cache
def class_views() -> Any:
    """`pyc.trace.shadows`, the user's classes as a traced function sees them."""
    return import_module("pyc.trace.shadows")


@cache
def math_views() -> Any:
    """`pyc.trace.math_module`, the views of `math` and its kin."""
    return import_module("pyc.trace.math_module")


@cache
def rewriting() -> Any:
    """`pyc.trace.rewrite`, which rewrites functions that decide something."""
    return import_module("pyc.trace.rewrite")
