"""The sample data that ships with matplotlib, and finer grids of it."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def sample_folder() -> Path | None:
    """Where matplotlib keeps its sample data; None without matplotlib."""
    found = importlib.util.find_spec("matplotlib")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "mpl-data" / "sample_data"


def sample(name: str) -> Path:
    """The path of one sample file; FileNotFoundError says what to install."""
    folder = sample_folder()
    if folder is None or not (folder / name).exists():
        raise FileNotFoundError(
            f"{name} comes with matplotlib, which is not installed: pip install 'pyc-jit[demo]'"
        )
    return folder / name


def matplotlib_image() -> Any:
    """`matplotlib.image`, loaded when a picture is read or written: it is an optional extra."""
    return importlib.import_module("matplotlib.image")


def refine(grid: Array, factor: int) -> Array:
    """Bilinear interpolation to a grid `factor` times finer along both axes."""
    rows, columns = grid.shape
    y = np.linspace(0, rows - 1, (rows - 1) * factor + 1)
    x = np.linspace(0, columns - 1, (columns - 1) * factor + 1)
    i = np.minimum(y.astype(int), rows - 2)
    j = np.minimum(x.astype(int), columns - 2)
    v, u = (y - i)[:, None], (x - j)[None, :]
    i, j = i[:, None], j[None, :]
    top = grid[i, j] * (1 - u) + grid[i, j + 1] * u
    bottom = grid[i + 1, j] * (1 - u) + grid[i + 1, j + 1] * u
    return np.ascontiguousarray((top * (1 - v) + bottom * v).astype(grid.dtype))
