"""The runtime's own code comes compiled, and is what compiling its text gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyc.backends import llvm_library
from pyc.fingerprint import versions
from pyc.runtime import device_calls, native, shipped, text_watch, transposed
from tests.runtime.test_native import run_child

OTHER_HOOKS = native.Part(
    "hooks", *text_watch.parts(profile=not text_watch.HAS_PROFILE), lambda _: None
)
"""Of the other versions of Python."""
native.PARTS.remove(OTHER_HOOKS)
OURS = (
    *(native.HOOKS, OTHER_HOOKS, native.CALLS, native.THREADS),
    *(device_calls.CODE, transposed.CODE),
)


def test_every_part_comes_compiled(request: pytest.FixtureRequest) -> None:
    """Of the very text; and by the release of LLVM that made it, the very bytes."""
    if request.config.getoption("--update-golden"):
        made = {part.text(): part.object_code() for part in OURS}
        Path(shipped.FILE).write_bytes(shipped.pack(made))
        shipped._shipped.cache_clear()
    for part in OURS:
        code = shipped.object_of(part.text())
        assert code is not None, f"{part.name} changed: run pytest {__file__} --update-golden"
        if versions(("llvmlite",))["llvmlite"].startswith(llvm_library.KNOWN):
            assert code == part.object_code()


def test_a_first_call_compiles_nothing_but_the_program() -> None:
    run_child(
        CHILD + "assert f(x)[4] == 8 and texts == []",
        cache="off",
    )


def test_another_text_is_compiled() -> None:
    """As that of another layout of memory would be."""
    text = native.CALLS.text()
    assert shipped.object_of(text) is not None and shipped.object_of(text + " ") is None


@pytest.mark.parametrize("content", ["None", "b'broken'", "open(shipped.FILE, 'rb').read()[:-9]"])
def test_without_a_whole_file_everything_is_compiled(content: str, tmp_path: Path) -> None:
    run_child(
        f"""
from pathlib import Path
from pyc.runtime import shipped
content = {content}
shipped.FILE, place = {str(tmp_path / "images")!r}, shipped.FILE
if content is not None:
    Path(shipped.FILE).write_bytes(content)
"""
        + CHILD
        + """
assert f(x)[4] == 8 and f(x)[4] == 8
assert len(texts) == 2, "hooks and calls"
""",
        cache="off",
    )


def test_an_object_that_is_not_whole_is_not_used() -> None:
    packed = shipped.pack({"text": b"object"})
    broken = packed.replace(b"object", b"objekt")
    run_child(f"""
from pathlib import Path
import os, tempfile
from pyc.runtime import shipped
with tempfile.TemporaryDirectory() as folder:
    shipped.FILE = os.path.join(folder, "images")
    for content, expected in (({packed!r}, b"object"), ({broken!r}, None)):
        Path(shipped.FILE).write_bytes(content)
        shipped._shipped.cache_clear()
        assert shipped.object_of("text") == expected
""")


CHILD = """
import numpy as np
import pyc
from pyc.backends import assemble

texts, true = [], assemble.assemble
def told(text):
    texts.append(text)
    return true(text)
assemble.assemble = told
x = np.arange(5.0)
f = pyc.jit(lambda x: x * 2)
"""
