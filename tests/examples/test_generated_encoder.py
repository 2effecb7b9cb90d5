"""The sentence encoder with generated weights of its sizes: no download, and on a GPU too."""

from __future__ import annotations

import numpy as np
import pytest

import pyc
from pyc.backends import cuda

for needed in ("safetensors", "tokenizers", "scipy"):
    pytest.importorskip(needed, reason=f"{needed} is not there: pip install -e '.[examples]'")

from benchmarks.gpu_networks import generated_encoder  # noqa: E402 - it imports what is asked for
from benchmarks.sentences import sample  # noqa: E402
from examples.sentences.model import embed  # noqa: E402


def off(rows: int, length: int, device: str) -> float:
    """The largest difference from NumPy in float64."""
    encoder = generated_encoder(0)
    tokens, mask = sample(rows, length)
    exact = pyc.tree.map(lambda w: w.astype(np.float64), encoder)
    there = pyc.device_put(encoder, device) if device != "cpu" else encoder
    found = np.asarray(pyc.jit(embed, device=device)(there, tokens, mask))
    assert found.dtype == np.float32
    return float(np.abs(found - embed(exact, tokens, mask)).max())


def test_float32_differs_from_numpy_in_float64_by_less_than_1e_5() -> None:
    assert off(2, 8, "cpu") < 1e-5


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize(("rows", "length"), [(1, 8), (5, 24), (3, 96), (1, 256)])
def test_so_it_does_on_a_gpu(rows: int, length: int) -> None:
    assert off(rows, length, "cuda") < 1e-5
