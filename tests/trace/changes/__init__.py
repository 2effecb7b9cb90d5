"""Modules with a function `f`, and a statement that changes what it reads, for `test_captures.py`.

`everyday` has what users read every day. The other ones have what is hard to see: attributes that
appear, objects of the standard library, what lies behind methods written in C, classes whose
lookups are the user's own, what others replace in libraries, objects that become one.
"""

from __future__ import annotations

from tests.trace.changes import (
    classes,
    containers,
    functions,
    identities,
    kinds,
    library,
    names,
    outside,
    refused,
)

HEADER = """
import argparse, array, collections, contextvars, copy, ctypes, dataclasses, decimal, enum
import fractions
import functools, importlib, itertools, locale, logging, math, operator, os, pathlib, queue, random
import re, string, sys, threading, types, uuid, warnings, weakref
import datetime, gc
import numpy as np
from dataclasses import dataclass, field
from typing import NamedTuple
"""

_PARTS = (names, classes, functions, kinds, library, containers, outside, identities)
CHANGES = {what: change for part in _PARTS for what, change in part.CHANGES.items()}
"""A module with a function `f`, and a statement that changes what it reads."""

REFUSED = refused.REFUSED
"""Modules with a function `f` that reads what cannot be watched."""
