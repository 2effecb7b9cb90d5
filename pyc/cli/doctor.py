"""`python -m pyc doctor`: what this machine has, what pyc can use of it, and what to fix.

Each finding is "ok", a "note" (works, but not at its best, or a part is absent) or a "problem"
(something that should work does not); the exit status is 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import pyc
from pyc import cache, config
from pyc.backends import cuda_driver, llvm_library
from pyc.backends.host import host_target
from pyc.cache.report import entries_in_words
from pyc.errors import PycError
from pyc.runtime import layout, threads

DRIVER = "/proc/driver/nvidia/version"
CORE = ("numpy", "llvmlite", "ml-dtypes", "msgpack")
OPTIONAL = {
    "cuda-bindings": "needed for NVIDIA GPUs: pip install 'pyc-jit[cuda]'",
    "matplotlib": "needed by some demo programs: pip install 'pyc-jit[demo]'",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. state: "ok", "note" or "problem"; fix: what to do, or empty."""

    name: str
    state: str
    text: str
    fix: str = ""


def add_parser(commands: Any) -> None:
    """Adds `doctor` to the command line."""
    parser = commands.add_parser("doctor", help="what this machine has, and what to fix")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the findings."""
    findings = examine()
    if options.json:
        print(json.dumps([asdict(f) for f in findings], indent=2))
    else:
        marks = {"ok": " ", "note": "-", "problem": "!"}
        for f in findings:
            print(f"{marks[f.state]} {f.name:<18} {f.text}")
            if f.fix:
                print(f"  {'':<18} -> {f.fix}")
    return int(any(f.state == "problem" for f in findings))


def examine() -> list[Finding]:
    """Every finding about this machine and installation."""
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        *(_python, _packages, _processor, _calls, _gpu, _settings, _cache),
    )
    return [finding for check in checks for finding in check()]


def _python() -> Iterator[Finding]:
    yield Finding("pyc", "ok", f"{pyc.__version__} in {os.path.dirname(pyc.__file__)}")
    version = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding("python", "ok", f"{version} at {sys.executable}")
    machine = f"{platform.system()} {platform.machine()}"
    if machine == "Linux x86_64":
        yield Finding("platform", "ok", machine)
    else:
        yield Finding("platform", "problem", f"{machine} is not supported", "use Linux on x86-64")


def _packages() -> Iterator[Finding]:
    for name in CORE:
        try:
            yield Finding(name, "ok", metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(name, "problem", "not installed", f"pip install {name}")
    for name, otherwise in OPTIONAL.items():
        try:
            yield Finding(name, "ok", metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(name, "note", f"not installed: {otherwise}")


def _processor() -> Iterator[Finding]:
    try:
        yield Finding("LLVM", "ok", llvm_library.version())
    except (ImportError, OSError, AttributeError) as error:
        yield Finding("LLVM", "problem", f"cannot be loaded: {error}", "pip install llvmlite")
    try:
        target = host_target(config.current().target)
        yield Finding("target", "ok", f"{target.id}, vectors of {8 * target.vector_bytes} bits")
    except PycError as error:
        yield Finding("target", "problem", error.message, "unset PYC_TARGET")
    usable, count = len(threads.usable_processors()), threads.get_num_threads()
    text = f"{count} threads on {usable} usable of {os.cpu_count()} processors"
    if count > usable:
        yield Finding("threads", "note", text, "PYC_NUM_THREADS is more than there are processors")
    else:
        yield Finding("threads", "ok", text)


def _calls() -> Iterator[Finding]:
    found = layout.problem()
    if found is None:
        yield Finding("calls", "ok", "native")
        return
    reason, detail = found
    yield Finding("calls", "note", f"{reason.meaning}: {detail} [{reason.code}]", reason.remedy)


def _gpu() -> Iterator[Finding]:
    if not os.path.exists(DRIVER):
        yield Finding("gpu", "note", f"no NVIDIA driver ({DRIVER} is absent): the CPU is used")
        return
    with open(DRIVER) as file:
        yield Finding("gpu driver", "ok", file.readline().strip())
    why = cuda_driver().problem()
    if why is not None:
        reason, detail = why
        text = f"{reason.meaning}: {detail} [{reason.code}]"
        yield Finding("gpu", "problem", text, reason.remedy)
        return
    for found in pyc.devices("cuda"):
        yield Finding("gpu", "ok", f"{found}: {found.name} ({found.target})")
    solver = cuda_driver().device().solver
    if isinstance(solver, str):
        text = f"linear algebra is done on the host: {solver}"
        yield Finding("gpu linear algebra", "note", text)
    else:
        yield Finding("gpu linear algebra", "ok", solver.version)


def _settings() -> Iterator[Finding]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config.from_environment(os.environ)
    for warning in caught:
        yield Finding("setting", "problem", str(warning.message), "correct or unset it")
    now, default = config.current(), config.Settings()
    pairs = [(k, getattr(now, k), getattr(default, k)) for k in config.names()]
    changed = ", ".join(f"{k}={a!r}" for k, a, b in pairs if a != b)
    yield Finding("settings", "ok", changed or "all at their defaults")


def _cache() -> Iterator[Finding]:
    found = cache.stats()
    problem = cache.problem()
    if problem is not None:
        details = ", ".join(f"{k}={v}" for k, v in problem.details.items())
        text = f"{problem.reason.meaning} ({details}) [{problem.reason.code}]"
        yield Finding("cache", "problem", text, problem.reason.remedy)
        return
    size = cache.readable_bytes(found.bytes)
    text = f"{found.directory} ({found.mode}): {entries_in_words(found.entries)}, {size}"
    refused = cache.write_problem()
    if refused is not None:
        text = f"{found.directory} ({found.mode}): {refused.reason.meaning}"
        text = f"{text} ({refused.details['error']}) [{refused.reason.code}]"
        yield Finding("cache", "note", text, refused.reason.remedy)
        return
    if found.corrupt:
        yield Finding(
            "cache", "note", f"{text}, {found.corrupt} set aside", "python -m pyc cache prune"
        )
    else:
        yield Finding("cache", "ok", text)
