"""Contractions over labelled axes: the products of matrices that they become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import ShapeError
from pyc.ir.target import SM_90, X86_64_V4, Target
from pyc.numpy.contractions import _form
from pyc.passes import optimise
from pyc.passes.memory import plan

from ..passes.programs import graph_of

Array = np.ndarray[Any, Any]
SIZES = {"b": 5, "c": 3, "k": 24, "l": 10, "m": 17, "n": 20}

IN_PLACE = (
    *("mk,bkn->bmn", "mk,bnk->bmn", "km,bkn->bmn", "km,bnk->bmn", "bkm,kn->bmn", "mk,kn->nm"),
    *("mk,bckn->bcmn", "cmk,bckn->bcmn", "bmk,kcn->cbmn", "kn,bmk->bmn", "bkm,bkn->bmn"),
    "bmk,kn->nbm",
)
COPIED = {
    **dict.fromkeys(("mkl,lkn->mn", "kml,kln->mn", "mkl,knl->mn"), 1),
    **dict.fromkeys(("bmkl,klbn->mn", "mk,bkn->mbn", "bmkl,blkn->bmn", "bmk,bkn->bnm"), 1),
    "kml,knl->mn": 2,
}
"""How many copies each takes."""
GENERIC = ("mkb,knb->mnb", "bm,cn->bmcn", "mkl,mkl->m", "mk,mk->", "lmk,lk->m")


def operands(subscripts: str, dtype: Any) -> list[Array]:
    rng = np.random.default_rng(5)
    shapes = [[SIZES[c] for c in x] for x in subscripts.partition("->")[0].split(",")]
    if np.dtype(dtype).kind == "c":
        return [(rng.normal(size=s) + 1j * rng.normal(size=s)).astype(dtype) for s in shapes]
    return [(rng.normal(size=s) * 4).astype(dtype) for s in shapes]


def kernels(function: Any, arguments: list[Array], target: Target = X86_64_V4) -> list[str]:
    return [k.name for k in plan(optimise(graph_of(function, *arguments)), target).plan.kernels]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int32, np.bool_])
@pytest.mark.parametrize("subscripts", [*IN_PLACE, *COPIED, *GENERIC])
def test_contractions_agree_with_numpy(subscripts: str, dtype: Any) -> None:
    arguments = operands(subscripts, dtype)
    found = pyc.jit(lambda *xs: np.einsum(subscripts, *xs))(*arguments)
    wanted = np.einsum(subscripts, *arguments)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("subscripts", IN_PLACE)
def test_a_product_that_lies_as_one_copies_nothing(subscripts: str) -> None:
    names = kernels(lambda *xs: np.einsum(subscripts, *xs), operands(subscripts, np.float32))
    assert len(names) == 1 and names != ["contraction"]


@pytest.mark.parametrize("subscripts", COPIED)
def test_other_products_copy_an_operand_or_the_result(subscripts: str) -> None:
    names = kernels(lambda *xs: np.einsum(subscripts, *xs), operands(subscripts, np.float32))
    assert len(names) == 1 + COPIED[subscripts] and "contraction" not in names


@pytest.mark.parametrize("subscripts", ["mk,bkn->bmn", "mkl,lkn->mn"])
def test_targets_with_blocks_have_products_of_matrices_too(subscripts: str) -> None:
    names = kernels(lambda *xs: np.einsum(subscripts, *xs), operands(subscripts, np.float32), SM_90)
    assert any(name.startswith("matmul") for name in names)


def test_tensordot_over_axes_apart_is_a_product() -> None:
    a, b = operands("mkl,lkn", np.float64)
    names = kernels(lambda a, b: np.tensordot(a, b, ((1, 2), (1, 0))), [a, b])
    assert len(names) == 2 and "contraction" not in names
    found = pyc.jit(lambda a, b: np.tensordot(a, b, ((2, 1), (0, 1))))(a, b)
    assert np.allclose(found, np.tensordot(a, b, ((2, 1), (0, 1))))


def test_tensordot_refuses_an_axis_twice() -> None:
    with pytest.raises(ShapeError, match="one twice"):
        pyc.jit(lambda a: np.tensordot(a, a, ((0, 0), (0, 1))))(np.ones((3, 3)))


def test_small_parts_are_not_the_products_of_a_large_one() -> None:
    """Two columns for each of 64 would be 64 products; rows of two a result in order."""
    sizes = {"b": 64, "k": 32, "m": 40, "n": 2}
    assert _form("mk", "bkn", "k", "bmn", sizes).columns == "bn"
    assert _form("bmk", "kn", "k", "nbm", sizes).rows == "bm"
    assert _form("mk", "bkn", "k", "bmn", {**sizes, "n": 40}).outer == "b"
