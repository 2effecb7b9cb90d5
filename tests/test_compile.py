"""The pipeline as one function: what it leaves on disk when asked."""

from __future__ import annotations

import numpy as np
import pytest

from pyc import config
from pyc.errors import ArgumentError
from pyc.jit import jit
from pyc.lowered import STAGES

X = np.arange(6.0)


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("attempt", ["compiled", "from the cache"])
def test_every_level_is_dumped_on_request(tmp_path, attempt) -> None:
    """Also where the code comes from the cache: what one looks for is the program."""
    if attempt == "from the cache":
        jit(lambda x: np.sin(x) + 1)(X)
    with config.using(dump_dir=str(tmp_path / "new" / "folder")):
        jit(lambda x: np.sin(x) + 1)(X)
    files = {p.name.split(".")[-2]: p for p in (tmp_path / "new" / "folder").iterdir()}
    assert set(files) == {*STAGES, "llvm"}
    assert len({p.name.split(".")[0] for p in files.values()}) == 1
    assert all(p.name.startswith("_lambda_-") for p in files.values())
    assert "sin(%0)" in files["traced"].read_text()
    assert "define " in files["llvm"].read_text()


def test_nothing_is_dumped_otherwise(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    jit(lambda x: x + 1)(X)
    assert list(tmp_path.iterdir()) == []


def test_a_stage_that_does_not_exist_is_named() -> None:
    lowered = jit(lambda x: x + 1).lower(X)
    with pytest.raises(
        ArgumentError, match=r"'code' is no level of this program\n.*decisions; compiled"
    ):
        lowered.as_text("code")
