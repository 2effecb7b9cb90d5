"""Native code: emitters of LLVM text, and the drivers that load and run what they give.

This module is the one lazy door to heavy imports: `compiler()` imports the passes and emitters on
first use, so that a process that finds all its code in the cache never loads them.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from pyc.forks import load


@cache
def llvm_binding() -> Any:
    """`llvmlite.binding`, with every target that pyc emits for initialised: 28 ms, and not needed
    where `llvm_library` knows the installed release."""
    binding = load("llvmlite.binding")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def compiler() -> Any:
    """`pyc.pipeline`, the module of all that turns a Graph into code."""
    return load("pyc.pipeline")


def interpreters() -> Any:
    """`pyc.backends.oracle`, the Graph and the Plan interpreter."""
    return load("pyc.backends.oracle")


@cache
def cuda_binding() -> Any:
    """`cuda.bindings.driver`; ImportError where the package is not installed."""
    return load("cuda.bindings.driver")


def cuda_driver() -> Any:
    """`pyc.backends.cuda`, the module of the GPUs of this machine."""
    return load("pyc.backends.cuda")


def gpus_in_use() -> list[Any]:
    """The GPUs that this process has used, if any; loads nothing."""
    driver = sys.modules.get("pyc.backends.cuda")
    return driver.devices_in_use() if driver is not None else []


def gpu_compiler() -> Any:
    """`pyc.compile_cuda`, the module that compiles and runs Graphs on a GPU."""
    return load("pyc.compile_cuda")


def gpu_emitter() -> Any:
    """`pyc.backends.nvptx`, which turns kernels into PTX."""
    return load("pyc.backends.nvptx")
