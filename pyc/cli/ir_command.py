"""`python -m pyc ir FILE:FUNC --args "f32[8,8], 3"`: a function at every level.

Arguments are written as their types, or as Python literals: `f32[8,8]` is an array of zeros,
`f32[]` an array of rank 0, and numbers, texts, tuples, lists and dicts of these are themselves.
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

from pyc.errors import CommandError
from pyc.ir.types import parse_type
from pyc.jit import jit

STAGES = ("traced", "graph", "logical", "kernels", "plan", "decisions", "llvm", "asm")


_RANK_0 = re.compile(r"\[\s*\]")


def add_parser(commands: Any) -> None:
    """Adds `ir` to the command line."""
    parser = commands.add_parser("ir", help="the program of a function, at one of its levels")
    parser.add_argument("function", metavar="FILE:FUNC", help="a file and a function in it")
    parser.add_argument("--args", default="", help='such as "f32[8,8], i64[], 3"')
    parser.add_argument("--stage", choices=STAGES, default="graph")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the text of a stage."""
    function = load_function(options.function)
    arguments = parse_arguments(options.args)
    jitted: Any = function if hasattr(function, "lower") else jit(function)
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise CommandError(
            f"{options.function}: {error}",
            fix='Describe each argument: `--args "f32[8,8], 3"`.',
        ) from None
    if options.stage in ("llvm", "asm"):
        text = jitted.compile(*arguments).as_text(options.stage)
    else:
        text = jitted.lower(*arguments).as_text(options.stage)
    sys.stdout.write(text)
    return 0


def load_function(name: str) -> Any:
    """The object that `FILE:FUNC` names, its module run as an import would; CommandError."""
    file, _, path = name.rpartition(":")
    if not file or not path:
        raise CommandError(f"{name!r} is not of the form FILE:FUNC")
    if not Path(file).is_file():
        raise CommandError(f"there is no file {file}")
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
            raise CommandError(f"{file} has no `{path}`")
        found = getattr(found, part)
    return found


def parse_arguments(text: str) -> tuple[Any, ...]:
    """The arguments that `text` describes; CommandError names the part that is none."""
    if not text.strip():
        return ()
    try:
        # `f32[]` is no Python expression; `f32[()]` is.
        tree = ast.parse(f"({_RANK_0.sub('[()]', text)},)", mode="eval")
    except SyntaxError:
        raise CommandError(f"cannot read the arguments {text!r}") from None
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
        raise CommandError(f"{ast.unparse(node)!r} is neither a type nor a literal") from None


def _array(node: ast.Subscript) -> np.ndarray[Any, Any]:
    text = re.sub(r"[\s()]", "", ast.unparse(node)).replace(",]", "]")
    try:
        type = parse_type(text)
        return np.zeros(type.shape, type.dtype.numpy)
    except (KeyError, ValueError):
        raise CommandError(f"{text!r} is not an array type such as f32[8,8]") from None
    except MemoryError:
        raise CommandError(f"an array of type {text} is larger than the memory") from None
