"""`python -m pyc ir FILE:FUNC --args "f32[8,8], 3"`: a function at every level.

Arguments are written as their types, or as Python literals: `f32[8,8]` is an array of zeros,
`f32[]` an array of rank 0, and numbers, texts, tuples, lists and dicts of these are themselves.
`--target sm_90` shows the program for a GPU, which need not be there.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pyc import targets
from pyc.compile import compile_graph
from pyc.config import closest
from pyc.entries import Traced
from pyc.errors import CommandError
from pyc.forks import load
from pyc.ir import dtype as dt
from pyc.ir.target import CPUS, Target
from pyc.ir.types import parse_type
from pyc.jit import jit
from pyc.lowered import lower_graph

STAGES = ("traced", "graph", "logical", "kernels", "plan", "decisions", "llvm", "asm", "ptx")
_TYPES = {t.name: t.short for t in dt.ALL}
"""The names of types in the text of a level, by NumPy's names."""
_WRITTEN = (
    "An array is written as its element type and shape, as f32[8,8] or float32[8,8], and f32[] "
    f"for rank 0;\nelement types are {' '.join(t.short for t in dt.ALL)}.\n"
    "Numbers, texts, None, tuples, lists and dicts are written as in Python."
)
_DESCRIBE = 'Describe each argument: `--args "f32[8,8], 3"`.'
_RANK_0 = re.compile(r"\[\s*\]")


def add_parser(commands: Any) -> None:
    """Adds `ir` to the command line."""
    parser = commands.add_parser("ir", help="the program of a function, at one of its levels")
    parser.add_argument("function", metavar="FILE:FUNC", help="a file and a function in it")
    parser.add_argument("--args", default="", help='such as "f32[8,8], i64[], 3"')
    parser.add_argument("--stage", choices=STAGES, default="graph", help="default: graph")
    parser.add_argument("--target", help=f"native, {', '.join(CPUS)}, or a GPU such as sm_90")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the text of a stage."""
    target = None if options.target is None else targets.named(options.target)
    if (options.stage == "ptx") != (target is not None and target.has_blocks) and (
        options.stage in ("ptx", "asm")
    ):
        raise CommandError(
            f"{options.stage} is not what a {'GPU' if options.stage == 'asm' else 'CPU'} runs",
            fix="`--stage asm` is of processors, `--stage ptx --target sm_90` of GPUs.",
        )
    function = load_callable(options.function)
    arguments = parse_arguments(options.args)
    jitted: Any = function if hasattr(function, "lower") else jit(function)
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise CommandError(
            f"{options.function}: {error}",
            fix=_DESCRIBE,
        ) from None
    if target is not None:
        text = _for_target(jitted.trace(*arguments), options.stage, target)
    elif options.stage in ("llvm", "asm"):
        text = jitted.compile(*arguments).as_text(options.stage)
    else:
        text = jitted.lower(*arguments).as_text(options.stage)
    if not text:
        print("no decisions: all is fused, and nothing is copied or moved to the host")
    sys.stdout.write(text)
    return 0


def _for_target(traced: Traced, stage: str, target: Target) -> str:
    """The text of a stage of the program for a target, whether it is this machine or not."""
    names = [*(x.name for x in traced.inputs), *traced.captures]
    if not target.has_blocks and stage in ("llvm", "asm"):
        compiled = compile_graph(traced.graph, target=target, name=traced.name, arguments=names)
        return compiled.as_text(stage)
    lowered = lower_graph(traced.graph, target=target, name=traced.name, arguments=names)
    if stage not in ("llvm", "ptx"):
        return lowered.as_text(stage)
    emitter = load("pyc.backends.nvptx")
    text: str = emitter.module_text(lowered.kernels, target)[0]
    if stage == "ptx":
        text = emitter.ptx(text, target)
    return text


def load_callable(name: str) -> Any:
    """The function that `FILE:FUNC` names; CommandError: there is none, or it is something else."""
    function = load_function(name)
    if not callable(function):
        raise CommandError(
            f"{name} is not a function, but of type {type(function).__name__}",
            fix="Name a function of the file, jitted or not, or a method as CLASS.NAME.",
        )
    return function


def load_function(name: str) -> Any:
    """The object that `FILE:FUNC` names, its module run as an import would; CommandError."""
    file, _, path = name.rpartition(":")
    if not file or not path:
        raise CommandError(
            f"{name!r} is not of the form FILE:FUNC", fix="Such as model.py:step or model.py:A.f."
        )
    if not Path(file).is_file():
        near = f" (there is {file}.py)" if Path(f"{file}.py").is_file() else ""
        raise CommandError(
            f"there is no file {file}{near}", fix="Name it as seen from the folder you are in."
        )
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise CommandError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    sys.path.insert(0, str(Path(file).resolve().parent))
    spec.loader.exec_module(module)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise CommandError(
                f"{file} has no `{path}`{closest(part, _functions(found))}",
                fix="Name what the file defines at its top, or a method as CLASS.NAME.",
            )
        found = getattr(found, part)
    return found


def _functions(found: Any) -> list[str]:
    """The names of the functions and classes that a module or class defines itself."""
    home = getattr(found, "__module__", None) or getattr(found, "__name__", "")
    return [
        name
        for name, value in getattr(found, "__dict__", {}).items()
        if callable(value) and getattr(value, "__module__", None) == home
    ]


def parse_arguments(text: str) -> tuple[Any, ...]:
    """The arguments that `text` describes; CommandError names the part that is none."""
    if not text.strip():
        return ()
    try:
        # `f32[]` is no Python expression; `f32[()]` is.
        tree = ast.parse(f"({_RANK_0.sub('[()]', text)},)", mode="eval")
    except SyntaxError:
        raise CommandError(
            f"cannot read the arguments {text!r}",
            fix="Put commas between them and quotes around texts: `--args \"f32[8], 3, 'fast'\"`.",
        ) from None
    assert isinstance(tree.body, ast.Tuple)
    return tuple(map(_argument, tree.body.elts))


def _argument(node: ast.expr) -> Any:
    if isinstance(node, ast.Subscript):
        return _array(node)
    if isinstance(node, ast.Tuple):
        return tuple(map(_argument, node.elts))
    if isinstance(node, ast.List):
        return list(map(_argument, node.elts))
    if isinstance(node, ast.Dict):
        keys = [ast.literal_eval(k) for k in node.keys if k is not None]
        return dict(zip(keys, map(_argument, node.values), strict=True))
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise CommandError(
            f"{ast.unparse(node)!r} is neither a type nor a literal", fix=_WRITTEN
        ) from None


def _array(node: ast.Subscript) -> np.ndarray[Any, Any]:
    text = re.sub(r"[\s()]", "", ast.unparse(node)).replace(",]", "]")
    name, _, rest = text.partition("[")
    try:
        type = parse_type(f"{_TYPES.get(name, name)}[{rest}")
        return np.zeros(type.shape, type.dtype.numpy)
    except (KeyError, ValueError):
        raise CommandError(
            f"{text!r} is not an array type such as f32[8,8]", fix=_WRITTEN
        ) from None
    except MemoryError:
        raise CommandError(
            f"an array of type {text} is larger than the memory", fix="Describe a smaller one."
        ) from None
