"""The demo programs against NumPy, their pictures, and what `python -m pyc demo` prints."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pyc import cache, demo
from pyc.__main__ import main
from pyc.backends import cuda
from pyc.demo import data, generated
from pyc.demo.program import Outcome, Program, difference
from pyc.demo.program import run as run_one
from pyc.errors import DeviceError
from pyc.frozen import replace
from pyc.jit import jit

WITH_PICTURES = tuple(p for p in demo.PROGRAMS if p.picture is not None)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[str, tuple[Outcome, Path]]:
    """What each program gave, and where its picture lies; run once for all tests."""
    if data.sample_folder() is None:
        pytest.skip("the sample data comes with matplotlib, which is not installed")
    folder = tmp_path_factory.mktemp("pictures")
    return {p.name: (run_one(p, folder), folder / f"{p.name}.png") for p in demo.PROGRAMS}


@pytest.mark.parametrize("name", demo.NAMES)
def test_a_program_agrees_with_numpy(outcomes, name) -> None:
    outcome, _ = outcomes[name]
    assert outcome.agrees, f"{name}: relative difference {outcome.difference:.2e}"
    assert min(outcome.numpy, outcome.pyc, outcome.first_call) > 0


@pytest.mark.parametrize("name", [p.name for p in WITH_PICTURES])
def test_a_picture_is_not_blank(outcomes, name) -> None:
    _, path = outcomes[name]
    image = data.matplotlib_image().imread(path)
    assert min(image.shape[:2]) >= 200
    colours = np.unique(image.reshape(-1, image.shape[2]), axis=0)
    # The photograph is shown in the few colours that were found for it, all of them.
    assert len(colours) == 12 if name == "colours" else len(colours) > 50


def test_every_program_with_something_to_see_has_a_picture() -> None:
    assert {p.name for p in WITH_PICTURES} == {"waves", "colours", "terrain", "mandelbrot"}


def test_results_are_not_trivial() -> None:
    """An agreement of constants would say nothing: each result varies."""
    for program in (generated.NBODY, generated.MANDELBROT, generated.TRANSFORMER):
        results = program.reference(*program.arguments())
        for result in results if isinstance(results, tuple) else (results,):
            assert np.std(np.asarray(result, np.float64)) > 0, program.name


# --- on a GPU -------------------------------------------------------------------------------------


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize("program", demo.PROGRAMS, ids=demo.NAMES)
def test_a_program_agrees_with_numpy_on_a_gpu(program: Program) -> None:
    if program.sample is not None and data.sample_folder() is None:
        pytest.skip("the sample data comes with matplotlib, which is not installed")
    outcome = run_one(program, device="cuda")
    assert outcome.agrees, f"{program.name}: relative difference {outcome.difference:.2e}"


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
def test_the_command_names_the_gpu(capsys) -> None:
    assert main(["demo", "mandelbrot", "--device", "cuda:0"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\ndevice: cuda:0 \(sm_\d+, .+\)\n$", out) and "agrees (0.0e+00)" in out


def test_programs_are_compiled_for_the_device_that_is_named(monkeypatch, capsys) -> None:
    """No GPU is needed to see that it is asked for; there is none of this number."""
    asked: list[str] = []

    def stand_in(name: str) -> object:
        asked.append(name)
        raise DeviceError("no such GPU")

    monkeypatch.setattr(demo, "gpu", stand_in)
    assert main(["demo", "bodies", "--device", "cuda:7"]) == 1
    assert asked == ["cuda:7"]
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("DeviceError: no such GPU")
    compiled: list[str | None] = []
    monkeypatch.setattr(
        "pyc.demo.program.jit", lambda f, *, device: compiled.append(device) or jit(f)
    )
    run_one(small(), device="cuda:7")
    run_one(small())
    assert compiled == ["cuda:7", "cpu"]


# --- the comparison -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "found", "worst"),
    [
        ([1.0, 4.0], [1.0, 4.0], 0.0),
        ([1.0, 4.0], [2.0, 4.0], 0.25),
        ([1.0, np.nan], [1.0, np.nan], 0.0),
        ([1.0, np.nan], [1.0, 2.0], np.inf),
        ([1.0, 2.0], [1.0, np.inf], np.inf),
        ([1.0, 2.0], [1.0], np.inf),
        ([np.nan], [np.nan], 0.0),
    ],
)
def test_difference_finds_the_largest_one(expected, found, worst) -> None:
    assert difference(np.array(expected), np.array(found)) == worst


def test_a_wrong_result_is_reported(monkeypatch, capsys) -> None:
    def wrong(*arguments):
        return tuple(x * 1.001 for x in generated.bodies_numpy(*arguments))

    monkeypatch.setattr(demo, "PROGRAMS", (replace(generated.NBODY, reference=wrong),))
    assert demo.run() == 1
    assert re.search(r"256 bodies.* DIFFERS \(1\.0e-03\)", capsys.readouterr().out)


# --- what is printed ------------------------------------------------------------------------------


def small() -> Program:
    """A program that takes no time, and another that needs a sample file."""
    return Program(
        name="small",
        title="a small program",
        function=lambda x: np.sin(x) * 2,
        reference=lambda x: np.sin(x) * 2,
        arguments=lambda: (np.linspace(0, 1, 50),),
        tolerance=1e-14,
    )


def test_the_table_has_a_row_for_each_program(monkeypatch, capsys) -> None:
    monkeypatch.setattr(demo, "PROGRAMS", (small(), replace(small(), name="b", title="another")))
    assert demo.run() == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == (
        ["program", "NumPy", "ms", "pyc", "ms", "faster", "first", "ms", "against", "NumPy"]
    )
    for row, title in zip(rows, ("a small program", "another"), strict=False):
        assert re.fullmatch(title + r"( +[\d.]+){2} +[\d.]+x +[\d.]+  agrees \([\d.e+-]+\)", row)


@pytest.mark.usefixtures("cache_dir")
def test_statistics_and_the_device_follow_the_table(monkeypatch, capsys) -> None:
    monkeypatch.setattr(demo, "PROGRAMS", (small(),))
    assert demo.run() == 0
    out = capsys.readouterr().out
    assert re.search(r"\ncache .* entr(y|ies), ", out)
    assert re.search(r"\ndevice: cpu \(x86-64-v\d(-\w+)?, \d+ threads\), x86_64\n$", out)


def test_the_command_runs_named_programs(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(demo, "PROGRAMS", (small(), replace(small(), name="b", title="another")))
    monkeypatch.setattr(demo, "NAMES", ("small", "b"))
    assert main(["demo", "b", "--pictures", str(tmp_path / "new" / "folder")]) == 0
    out = capsys.readouterr().out
    assert "another" in out
    assert "a small program" not in out
    assert (tmp_path / "new" / "folder").is_dir()


def test_a_folder_that_cannot_be_made_is_named(capsys, tmp_path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert main(["demo", "bodies", "--pictures", str(file)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"CommandError: cannot write pictures to {file}: File exists",
        "  Name a folder that you may write to; it is made if it is not there.",
        "  more: python -m pyc explain PYC1900",
    ]


# --- without matplotlib ---------------------------------------------------------------------------


def test_without_matplotlib_the_rest_runs(monkeypatch, capsys, tmp_path) -> None:
    needy = replace(small(), name="needy", title="with data", sample="goog.npz")
    monkeypatch.setattr(demo, "PROGRAMS", (needy, replace(small(), picture=_refused)))
    monkeypatch.setattr(demo, "sample_folder", lambda: None)
    assert demo.run((), tmp_path) == 0
    _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("a small program ")
    assert second == (
        f"{'with data':<58} not run: goog.npz comes with matplotlib, "
        "which is not installed (pip install 'pyc-jit[demo]')"
    )


def _refused(*_: object) -> None:
    raise AssertionError("pictures are written by matplotlib, which is not there")


def test_a_missing_sample_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(data, "sample_folder", lambda: None)
    with pytest.raises(FileNotFoundError, match=r"goog.npz comes with matplotlib.*pyc-jit\[demo\]"):
        data.sample("goog.npz")


def test_refining_keeps_the_corners_and_interpolates() -> None:
    grid = np.array([[0.0, 2.0], [4.0, 6.0]])
    fine = data.refine(grid, 2)
    np.testing.assert_array_equal(fine, [[0, 1, 2], [2, 3, 4], [4, 5, 6]])


@pytest.mark.usefixtures("cache_dir")
def test_the_statistics_are_those_of_the_programs_that_ran(capsys) -> None:
    """A cache that has been used holds more, which is `python -m pyc cache stats`."""
    document = {"graph": "graph() {\n  return\n}\n", "options": {}}
    cache.store(document, {"vector_bytes": 32}, {"image": b"1234"}, 0.5, "elsewhere")
    cache.reset_stats()
    assert demo.run(["bodies"]) == 0
    shown = capsys.readouterr().out
    assert "\n  bodies: 1 entry, " in shown and "elsewhere" not in shown
    assert "\n  1 other function: 1 entry, " in shown
