"""The command line, as a user runs it."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pyc
from pyc import cache, config
from pyc.__main__ import main
from pyc.cli import doctor, explain
from pyc.cli.ir_command import load_function, parse_arguments
from pyc.device import DeviceInfo
from pyc.errors import CLASSES, CommandError
from pyc.ir.evaluate import evaluate
from pyc.ir.op import OPS
from pyc.ir.text_graph import parse_graph
from pyc.jit import jit
from pyc.reasons import BY_CODE, Reason

ROOT = Path(__file__).parents[1]
DOCUMENT = {"graph": "graph() {\n  return\n}\n", "options": {"fastmath": False}}


@pytest.fixture
def run(capsys):
    """run(*arguments) -> (exit status, standard output, standard error)"""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pyc", "explain", "PYC1300"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.startswith("PYC1300 ShapeError\n")


def test_the_version(capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"pyc {pyc.__version__}\n"


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m pyc explain --markdown | head -1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert (done.stdout, done.stderr) == ("# Codes\n", "")


def test_no_command_shows_which_there_are(run) -> None:
    status, out, _ = run()
    assert status == 0
    assert all(f"\n    {name} " in out for name in ("doctor", "cache", "ir", "explain", "demo"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["docter"], "argument COMMAND: invalid choice: 'docter'; did you mean doctor?"),
        (["cache", "statz"], "argument ACTION: invalid choice: 'statz'; did you mean stats?"),
        (
            ["ir", "f.py:f", "--stage", "plans"],
            "argument --stage: invalid choice: 'plans'; did you mean plan?",
        ),
        (
            ["demo", "--pictrues", "x"],
            "demo: error: unrecognized arguments: --pictrues; did you mean --pictures?",
        ),
        (["frobnicate"], "invalid choice: 'frobnicate'; known are doctor, cache, ir, ops, explain"),
    ],
)
def test_what_is_misspelt_names_the_closest_match(capsys, arguments, told) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


# --- explain --------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["PYC1102", "PYC2304", "pyc2810"])
def test_explain_prints_the_page_of_a_code(run, golden, code) -> None:
    status, out, _ = run("explain", code)
    assert status == 0
    golden(out)


def test_explain_without_a_code_lists_all(run) -> None:
    status, out, _ = run("explain")
    assert status == 0
    assert len(out.splitlines()) == len(CLASSES) + len(BY_CODE)


@pytest.mark.parametrize("name", ["PYC1300", "1300", "ShapeError", "shapeerror", "pyc1300"])
def test_explain_takes_a_code_as_it_is_told_anywhere(run, name) -> None:
    assert run("explain", name) == run("explain", "PYC1300")


def test_explain_takes_the_names_of_reasons(run) -> None:
    assert run("explain", "cache_empty")[1].startswith("PYC2301 cache_empty (cache)\n")
    told = "there is no code cache_emty; did you mean cache_empty?\n"
    assert run("explain", "cache_emty") == (1, "", told)
    told = "there is no code shape_error; did you mean ShapeError?\n"
    assert run("explain", "shape_error") == (1, "", told)


def test_explain_says_when_there_is_no_such_code(run) -> None:
    assert run("explain", "PYC9999") == (
        1,
        "",
        "there is no code PYC9999; `python -m pyc explain` lists all\n",
    )


EXPLAINED = """import numpy as np

def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

def noisy(x):
    print(x)
    return x
"""


@pytest.fixture
def explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> Path:
    """A module in the working directory, which holds nothing else."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "model.py").write_text(EXPLAINED)
    monkeypatch.chdir(folder)
    return folder


def test_explain_a_function(run, explained) -> None:
    status, out, err = run("explain", "model.py:softmax", "--args", "f32[8,300]")
    assert (status, err) == (0, "")
    assert out.startswith("explain softmax(x: f32[8,300]) on cpu")
    assert "model.py:4  e = np.exp(x - x.max(axis=axis, keepdims=True))" in out
    assert "measured  share" not in out
    status, out, _ = run("explain", "model.py:softmax", "--args", "f32[8,300]", "--measure")
    assert "measured  share" in out
    assert status == 0


def test_explain_writes_a_page_or_prints_json(run, explained) -> None:
    command = ("explain", "model.py:softmax", "--args", "f32[8,300]")
    assert run(*command, "--html", "out.html") == (0, "", "")
    assert (explained / "out.html").read_text().startswith("<!DOCTYPE html>")
    status, out, _ = run(*command, "--json")
    found = json.loads(out)
    assert status == 0
    assert [k["name"] for k in found["kernels"]["rows"]] == ["k0"]
    assert found["kernels"]["rows"][0]["read"] == 8 * 300 * 4


def test_explain_a_function_that_is_refused(run, explained) -> None:
    status, out, err = run("explain", "model.py:noisy", "--args", "f32[8]")
    assert (status, err) == (1, "")
    assert "refused while it is traced: a call raises" in out
    assert "at model.py:8 in `noisy`:  print(x)" in out


def test_the_page_of_codes_is_up_to_date() -> None:
    """Renew with `python -m pyc explain --markdown > docs/codes.md`."""
    assert (ROOT / "docs" / "codes.md").read_text() == explain.markdown()


def test_the_page_of_operations_is_up_to_date(run) -> None:
    """Renew with `python -m pyc ops --markdown > docs/ops.md`."""
    assert (ROOT / "docs" / "ops.md").read_text() == run("ops", "--markdown")[1]


def test_operations_are_listed_with_their_types(run) -> None:
    status, out, err = run("ops")
    assert (status, err) == (0, "")
    functions, _, operations = out.partition("operations of elements\n")
    lines = {x.split()[0]: x.split()[1:] for x in operations.splitlines() if x[:1] == " "}
    assert {*lines} == {*OPS}
    assert lines["bitwise_and"][:2] == ["bool", "int8"] and "float32" not in lines["bitwise_and"]
    assert " ".join(lines["while"]) == "any CPU: native, GPU: native, placed_on_host"
    rows = {x.split()[0]: x.split()[1:] for x in functions.splitlines() if x[:1] == " "}
    assert {name for name in pyc.numpy.__all__ if inspect.isfunction(getattr(pyc.numpy, name))} <= {
        *rows
    }
    assert rows["gcd"][:4] == ["bool", "int", "uint", "CPU:"] and "complex" in rows["linalg.norm"]
    assert " ".join(rows["linalg.inv"][-4:]) == "CPU: LAPACK, GPU: fallback_host"
    assert " ".join(rows["zeros"]) == "no arrays CPU: native, GPU: native"


# --- cache ----------------------------------------------------------------------------------------


@pytest.fixture
def filled(cache_dir) -> str:
    """The key of one of two entries."""
    for k, function in enumerate(("wave.step", "tree")):
        cache.store({**DOCUMENT, "k": k}, {"vector_bytes": 32}, {"image": b"1234"}, 0.5, function)
    assert len(list(cache_dir.glob("??/*"))) == 2
    return cache.ls("wave.*")[0].key


def test_cache_stats(run, filled, cache_dir, golden) -> None:
    status, out, _ = run("cache", "stats")
    assert status == 0
    golden(out.replace(str(cache_dir), "DIRECTORY"))
    found = json.loads(run("cache", "stats", "--json")[1])
    assert (found["entries"], found["directory"]) == (2, str(cache_dir))


def test_cache_ls(run, filled, golden) -> None:
    golden(re.sub(r"used +\d+ s", "used 0 s", run("cache", "ls")[1]))
    assert run("cache", "ls", "wave.*")[1].splitlines() == [
        line for line in run("cache", "ls")[1].splitlines() if "wave" in line
    ]
    assert run("cache", "ls", "nothing") == (0, "", "no entry is of 'nothing'\n")


def test_cache_show(run, filled, cache_dir, golden) -> None:
    status, out, _ = run("cache", "show", filled[:10])
    assert status == 0
    golden(re.sub(r"\d+ s ago", "0 s ago", out.replace(str(cache_dir), "DIRECTORY")))
    status, out, problem = run("cache", "show", "zzz")
    assert (status, out) == (1, "")
    golden(problem, "no-such-key")


def test_cache_explain_compares_two_entries(run, filled) -> None:
    other = cache.ls("tree")[0].key
    compared = run("cache", "explain", filled, other)[:2]
    assert compared[1].splitlines()[2:] == ["  k: 0 / 1"]
    assert run("cache", "explain", filled)[:2] == compared, "the nearest one"
    assert "the two are one program" in run("cache", "explain", filled, filled)[1]
    assert run("cache", "explain", filled, "zzz")[0] == 1


def test_cache_clear_and_path(run, filled, cache_dir) -> None:
    assert run("cache", "path")[1] == f"{cache_dir}\n"
    assert run("cache", "clear")[1] == f"removed 2 entries from {cache_dir}\n"
    assert cache.stats().entries == 0


# --- doctor ---------------------------------------------------------------------------------------


def test_doctor_finds_no_problem_here(run, cache_dir) -> None:
    status, out, _ = run("doctor")
    assert status == 0, out
    findings = {f["name"]: f for f in json.loads(run("doctor", "--json")[1])}
    assert findings["numpy"]["state"] == "ok"
    assert findings["python"]["text"].startswith("CPython 3.")
    assert findings["cache"]["text"].startswith(f"{cache_dir} (rw): 0 entries")


def test_doctor_finds_an_unsafe_cache_and_bad_settings(run, cache_dir, monkeypatch) -> None:
    cache_dir.mkdir()
    cache_dir.chmod(0o777)
    monkeypatch.setenv("PYC_CACH", "ro")
    status, out, _ = run("doctor")
    assert status == 1
    assert "[PYC2308]\n" in out
    assert "-> chown it to yourself and chmod 700 it" in out
    assert "unknown environment variable PYC_CACH; did you mean PYC_CACHE?" in out


@pytest.mark.usefixtures("unprivileged")
def test_doctor_notes_a_cache_directory_that_cannot_be_written() -> None:
    """It is read, but each process compiles what is not there again."""
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "cache"
        folder.mkdir(mode=0o700)
        with config.using(cache="rw", cache_dir=str(folder)):
            assert {f.name: f for f in doctor.examine()}["cache"].state == "ok"
            assert not list(folder.iterdir())
            folder.chmod(0o500)
            found = {f.name: f for f in doctor.examine()}["cache"]
        with config.using(cache="ro", cache_dir=str(folder)):
            assert {f.name: f for f in doctor.examine()}["cache"].state == "ok"
        folder.chmod(0o700)
    assert found.state == "note"
    assert found.text == (
        f"{folder} (rw): not stored: the cache directory may not be written to; it is only read "
        "from now on (Permission denied) [PYC2310]"
    )
    assert "PYC_CACHE=ro" in found.fix


def test_doctor_notes_a_missing_package(monkeypatch) -> None:
    monkeypatch.setattr(doctor, "CORE", ("numpy", "no-such-package"))
    found = {f.name: f for f in doctor.examine()}["no-such-package"]
    assert (found.state, found.fix) == ("problem", "pip install no-such-package")


def test_doctor_notes_more_threads_than_processors(monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(doctor.threads, "get_num_threads", lambda: 5)
    found = {f.name: f for f in doctor.examine()}["threads"]
    assert found.state == "note"
    assert found.text.startswith("5 threads on 1 usable of ")


def test_doctor_says_why_a_gpu_with_a_driver_cannot_be_used(tmp_path, monkeypatch) -> None:
    driver = tmp_path / "version"
    driver.write_text("NVRM version: 570\nGCC\n")
    monkeypatch.setattr(doctor, "DRIVER", str(driver))
    why = Reason.NO_GPU, "the binding is not installed"
    monkeypatch.setattr(doctor, "cuda_driver", lambda: SimpleNamespace(problem=lambda: why))
    findings = [f for f in doctor.examine() if f.name.startswith("gpu")]
    assert [(f.name, f.state) for f in findings] == [("gpu driver", "ok"), ("gpu", "problem")]
    assert findings[0].text == "NVRM version: 570"
    assert findings[1].text.endswith("the binding is not installed [PYC2701]")


@pytest.mark.parametrize(
    ("solver", "expected"),
    [
        ("none is here", ("note", "linear algebra is done on the host: none is here")),
        (SimpleNamespace(version="cuSOLVER 12000"), ("ok", "cuSOLVER 12000")),
    ],
    ids=["host", "library"],
)
def test_doctor_names_the_gpus_that_can_be_used(tmp_path, monkeypatch, solver, expected) -> None:
    driver = tmp_path / "version"
    driver.write_text("NVRM version: 570\n")
    monkeypatch.setattr(doctor, "DRIVER", str(driver))
    device = SimpleNamespace(solver=solver)
    driver_of = SimpleNamespace(problem=lambda: None, device=lambda: device)
    monkeypatch.setattr(doctor, "cuda_driver", lambda: driver_of)
    gpu = DeviceInfo("cuda", 0, "NVIDIA H200", "sm_90")
    monkeypatch.setattr(pyc, "devices", lambda kind: [gpu])
    found = {f.name: (f.state, f.text) for f in doctor.examine()}
    assert found["gpu"] == ("ok", "cuda:0: NVIDIA H200 (sm_90)")
    assert found["gpu linear algebra"] == expected


# --- ir -------------------------------------------------------------------------------------------


def describe(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(describe, value))
    if isinstance(value, dict):
        return {k: describe(v) for k, v in value.items()}
    return (str(value.dtype), value.shape) if hasattr(value, "dtype") else value


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", ()),
        ("f32[8,8]", (("float32", (8, 8)),)),
        ("float32[8,8], int64[], bool[2]", (("float32", (8, 8)), ("int64", ()), ("bool", (2,)))),
        ("f32[], bf16[ 3 ], b1[0]", (("float32", ()), ("bfloat16", (3,)), ("bool", (0,)))),
        ("3, -0.5, True, 'x', None", (3, -0.5, True, "x", None)),
        ("(f64[2], [1, i8[]])", ((("float64", (2,)), [1, ("int8", ())]),)),
        ("{'a': c64[2,1], 'b': (1,)}", ({"a": ("complex64", (2, 1)), "b": (1,)},)),
    ],
)
def test_arguments_are_types_or_literals(text, arguments) -> None:
    assert describe(parse_arguments(text)) == arguments


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f33[8]", r"'f33\[8\]' is not an array type such as f32\[8,8\]"),
        ("f32[-1]", r"'f32\[-1\]' is not an array type such as f32\[8,8\]"),
        ("f32[1000000, 1000000, 1000]", r"an array of type f32\[1000000,1000000,1000\] is larger"),
        ("f32[n]", r"'f32\[n\]' is not an array type"),
        ("f32", "'f32' is neither a type nor a literal"),
        ("f32[8", r"cannot read the arguments 'f32\[8'"),
    ],
)
def test_arguments_that_are_neither_are_named(text, message) -> None:
    with pytest.raises(CommandError, match=message):
        parse_arguments(text)


def test_functions_are_found_in_files(tmp_path) -> None:
    file = tmp_path / "cli_model.py"
    file.write_text("class A:\n    def f(x):\n        return x + 1\n")
    assert load_function(f"{file}:A.f")(1) == 2
    for name, message in (
        (f"{file}:A.g", "has no `A.g`"),
        (f"{tmp_path}/none.py:f", "there is no file"),
        ("f", "is not of the form FILE:FUNC"),
    ):
        with pytest.raises(CommandError, match=message):
            load_function(name)


def test_mistakes_on_the_command_line_have_a_code(run) -> None:
    status, out, err = run("ir", "nothing.py:f")
    assert (status, out) == (1, "")
    assert err.splitlines() == [
        "CommandError: there is no file nothing.py",
        "  Name it as seen from the folder you are in.",
        "  more: python -m pyc explain PYC1900",
    ]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("softmx", "has no `softmx`; did you mean softmax?"),
        ("Layer.foward", "has no `Layer.foward`; did you mean forward?"),
        ("nothing", "has no `nothing`; known are softmax, Layer"),
        ("np.sin.no", "has no `np.sin.no`"),
    ],
)
def test_a_function_that_is_misspelt_names_the_closest(tmp_path, path, told) -> None:
    file = tmp_path / "misspelt_model.py"
    file.write_text(
        "import numpy as np\ndef softmax(x): ...\nclass Layer:\n    def forward(self): ...\n"
    )
    with pytest.raises(CommandError, match=re.escape(told)):
        load_function(f"{file}:{path}")


def test_ir_names_the_argument_that_is_not_described(run, tmp_path) -> None:
    file = tmp_path / "one_argument.py"
    file.write_text("def f(x):\n    return x\n")
    assert run("ir", f"{file}:f") == (
        1,
        "",
        f"CommandError: {file}:f: missing a required argument: 'x'\n"
        '  Describe each argument: `--args "f32[8,8], 3"`.\n'
        "  more: python -m pyc explain PYC1900\n",
    )


MODEL = """
import numpy as np

def f(x, scale):
    return np.sum(np.sqrt(x) * scale, axis=1)
"""

SHOWN = {
    "traced": "reduce_sum(",
    "graph": "reduce_sum(",
    "logical": "reduce add",
    "kernels": 'kernel "',
    "plan": "launch 0 ",
    "llvm": "define ",
    "asm": ".text",
}


@pytest.mark.parametrize("stage", SHOWN)
@pytest.mark.usefixtures("cache_dir")
def test_ir_prints_every_stage_of_a_function(run, tmp_path, stage) -> None:
    file = tmp_path / "ir_model.py"
    file.write_text(MODEL)
    status, out, err = run("ir", f"{file}:f", "--args", "f32[4,8], f32[4,8]", "--stage", stage)
    assert (status, err) == (0, "")
    assert SHOWN[stage] in out


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize(
    ("stage", "target", "shown"),
    [
        ("kernels", "sm_90", " grid {"),
        ("kernels", "x86-64-v3", 'kernel "'),
        ("plan", "native", "launch 0 "),
        ("asm", "x86-64-v3", "%ymm0"),
        ("asm", "x86-64-v4", "%zmm0"),
        ("llvm", "sm_80", "nvvm"),
        ("ptx", "sm_80", ".target sm_80"),
        ("ptx", "sm_90", ".target sm_90a"),
    ],
)
@pytest.mark.usefixtures("cache_dir")
def test_ir_shows_the_program_for_other_targets(run, tmp_path, stage, target, shown) -> None:
    """Without a GPU, and on a processor that could not run it."""
    file = tmp_path / "targets_model.py"
    file.write_text("def f(x):\n    return x * 2 + 1\n")
    arguments = ("ir", f"{file}:f", "--args", "f32[4096]", "--stage", stage, "--target", target)
    status, out, err = run(*arguments)
    assert (status, err) == (0, "") and shown in out


def test_ir_says_where_there_is_nothing_to_show(run, tmp_path) -> None:
    file = tmp_path / "plain_model.py"
    file.write_text("def f(x):\n    return x * 2 + 1\n")
    status, out, _ = run("ir", f"{file}:f", "--args", "f32[4]", "--stage", "decisions")
    assert status == 0 and out.startswith("no decisions: all is fused")


def test_the_graph_that_ir_prints_is_the_program(run, tmp_path) -> None:
    file = tmp_path / "ir_model.py"
    file.write_text(MODEL)
    _, out, _ = run("ir", f"{file}:f", "--args", "f32[4,8], f32[4,8]", "--stage", "traced")
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    scale = np.full((4, 8), 2, np.float32)
    (found,) = evaluate(parse_graph(out), [x, scale])
    np.testing.assert_allclose(found, np.sum(np.sqrt(x) * scale, axis=1), rtol=1e-6)


# --- demo -----------------------------------------------------------------------------------------


def test_demo_names_its_programs(run) -> None:
    status, out, err = run("demo", "nothing")
    assert (status, out) == (1, "")
    assert err.startswith("CommandError: there is no demo program 'nothing'\n  There are ")


@pytest.mark.usefixtures("cache_dir")
def test_explain_of_a_jitted_function_is_a_hit_after_its_first_call() -> None:
    f = jit(lambda x: x * 2 + 1)
    x = np.ones(5, np.float32)
    assert cache.explain(f, x).reason is Reason.CACHE_EMPTY
    f(x)
    assert cache.explain(f, x).reason is None
    report = cache.explain(f, np.ones(6, np.float32))
    assert report.reason is Reason.CACHE_KEY_DIFFERS
    fields = [(d.field, d.stored, d.asked) for d in report.differing_fields]
    assert fields[0] == ("argument `x`", "f32[5]", "f32[6]")
    assert fields[1][0] == "graph line 3 (and 3 more)"
    assert str(report).startswith("cache miss: no entry has this key [PYC2302]\nnearest entry: ")
