"""Loops and branches as NumPy users write them; `test_rolled.py` compares each with NumPy."""

# ruff: noqa: F403
from __future__ import annotations

from tests.trace.loop_programs.numerical import *
from tests.trace.loop_programs.searches import *
from tests.trace.loop_programs.values import *
