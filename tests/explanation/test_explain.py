"""`pyc.explain`: what it says is so, and it leaves nothing behind."""

from __future__ import annotations

import functools
import json
import re
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import config, reasons
from pyc.errors import ArgumentError, CacheMissError
from pyc.explanation import ceilings as ceilings_module
from pyc.explanation.ceilings import Ceilings
from pyc.ir.text_plan import print_plan
from pyc.jit import Jitted
from pyc.lowered import lower_graph
from pyc.reasons import Reason
from pyc.report import Report
from pyc.runtime import call, native, pool
from tests.explanation import programs

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
MACHINE = Ceilings(
    "a processor (x86-64-v3)",
    2,
    {
        "read": ((1 << 12, 2e11), (1 << 20, 1e11), (1 << 28, 2e10)),
        "copy": ((1 << 12, 1e11), (1 << 20, 5e10), (1 << 28, 2e10)),
        "fill": ((1 << 12, 1e11), (1 << 20, 5e10), (1 << 28, 1e10)),
    },
    {"f32": (1e11, 2e11), "f64": (5e10, 1e11)},
)


def of(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    """What pyc itself keeps in the cache does not lie in the directories of tests."""
    for part in native.PARTS:
        part.image()


@pytest.fixture(autouse=True)
def _one_machine(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> Iterator[None]:
    """Ceilings that are the same everywhere, code for the same processor, places in the project."""
    monkeypatch.setattr(ceilings_module, "measure", lambda: MACHINE)
    monkeypatch.setattr(ceilings_module, "_known", {})
    monkeypatch.setattr(ceilings_module, "processor", lambda: MACHINE.processor)
    monkeypatch.chdir(ROOT)
    with config.using(target="x86-64-v3"):
        yield


# --- golden texts ---------------------------------------------------------------------------------

TYPICAL: dict[str, tuple[Any, ...]] = {
    "elementwise_chain": (of(100), of(100)),
    "softmax": (of(64, 300),),
    "layer": (of(128, 64), of(64, 96), of(96)),
    "heat": (of(1000, dtype=np.float64),),
    "captured": (of(8, 32),),
    "unrolled": (of(50),),
    "printing": (of(4),),
    "shapes": (of(4), of(5)),
}


@pytest.mark.parametrize("name", TYPICAL)
def test_the_report_of_a_typical_function(name: str, golden: Any) -> None:
    report = pyc.explain(getattr(programs, name), *TYPICAL[name])
    golden(without_keys(report.text()))


def test_the_report_of_a_static_argument(golden: Any) -> None:
    function = pyc.jit(programs.chosen, static_argnames=("mode", "power"))
    golden(without_keys(function.explain(of(20), "sorted", power=3).text()))


def test_the_page_of_a_typical_function(golden: Any) -> None:
    report = pyc.explain(programs.heat, *TYPICAL["heat"])
    golden(without_keys(report.html()))


def without_keys(text: str) -> str:
    """The key depends on the sources of pyc."""
    return re.sub(r"key (<code>)?[0-9a-f]{16}", r"key \1KEY", text)


# --- it is so -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in TYPICAL if n not in ("printing", "shapes")])
def test_what_is_explained_is_what_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Plan, its memory, and the arena that a call takes."""
    function = pyc.jit(getattr(programs, name))
    args = TYPICAL[name]
    report = function.explain(*args)
    lowered = function.lower(*args)
    assert report.kernels is not None and report.memory is not None
    assert [k.name for k in report.kernels.rows] == [k.name for k in lowered.plan.kernels]
    memory = lowered.memory_analysis()
    assert report.memory.peak == memory.peak == lowered.plan.peak
    assert len(report.memory.copies) == memory.copies
    assert sum(b.nbytes for b in report.memory.buffers if b.place == "arena") == memory.requested
    allocated = []
    monkeypatch.setattr(
        call.pool, "arena", lambda n, make=pool.arena: (allocated.append(n), make(n))[1]
    )
    compiled = function.compile(*args)
    compiled(*args)
    assert allocated == [report.memory.peak]
    assert report.cache is not None
    assert report.cache.key == compiled.key


def test_the_plan_with_a_trail_is_the_plan() -> None:
    for name in ("softmax", "layer", "heat"):
        traced = pyc.jit(getattr(programs, name)).trace(*TYPICAL[name])
        plans = []
        for trail in (None, []):
            lowered = lower_graph(traced.graph)
            lowered.trail = trail
            plans.append(print_plan(lowered.plan))
        assert plans[0] == plans[1]


def test_every_operation_is_in_a_kernel_on_its_line() -> None:
    report = pyc.explain(programs.softmax, of(64, 300))
    assert report.fusion is not None
    (joined,) = report.fusion.joined
    shown = {line.text: names for line, names in joined.rows}
    assert shown == {
        "e = np.exp(x - x.max(axis=-1, keepdims=True))": ("reduce_max", "sub", "exp"),
        "return e / e.sum(axis=-1, keepdims=True)": ("reduce_sum", "div"),
    }
    assert joined.count == 5


def test_bytes_are_those_of_the_arrays() -> None:
    x = of(1000)
    report = pyc.explain(lambda x: np.exp(x) + 1, x)
    assert report.kernels is not None
    (row,) = report.kernels.rows
    assert (row.read, row.written, row.loads, row.stores) == (x.nbytes, x.nbytes, 1000, 1000)


def test_a_bound_is_that_of_the_bytes_or_of_the_flops() -> None:
    report = pyc.explain(lambda x: x + 1, of(1 << 18))
    assert report.kernels is not None
    (row,) = report.kernels.rows
    assert row.limit == "memory"
    assert row.bound == pytest.approx(MACHINE.memory_seconds(1 << 20, 1 << 20))
    report = pyc.explain(lambda x, w: x @ w, of(264, 256), of(256, 256))
    assert report.kernels is not None
    (row,) = report.kernels.rows
    assert row.limit == "flops"
    assert row.bound == pytest.approx(2 * 264 * 256 * 256 / 2e11)


def test_promotions_are_those_that_the_user_did_not_write() -> None:
    def mixed(x, y, i):
        a = x + y
        b = x.astype(np.float64) * 2
        return a, b, np.sqrt(i), i + True, x * 2.0

    report = pyc.explain(mixed, of(3), of(3, dtype=np.float64), np.arange(3, dtype=np.int32))
    assert [(p.line.text, p.before, p.after, p.operation) for p in report.promotions] == [
        ("a = x + y", "f32[3]", "f64[3]", "add"),
        ("return a, b, np.sqrt(i), i + True, x * 2.0", "i32[3]", "f64[3]", "sqrt"),
    ]


def test_equal_calls_give_equal_reports() -> None:
    """But for the times that passes took."""
    first, second = (pyc.explain(programs.layer, *TYPICAL["layer"]).as_dict() for _ in range(2))
    first.pop("timings"), second.pop("timings")
    assert first == second


# --- nothing is left behind -----------------------------------------------------------------------


def test_it_runs_nothing_and_counts_nothing(cache_dir: Path) -> None:
    ran = []

    @pyc.jit
    def function(x):
        pyc.debug.callback(ran.append, x.sum())
        return x + 1

    before = reasons.counts(), reasons.events(), pyc.cache.stats().as_dict()
    with reasons.collecting() as collected:
        report = function.explain(of(5), measure=True)
    assert (reasons.counts(), reasons.events(), pyc.cache.stats().as_dict()) == before
    assert collected == ran == []
    assert function.cache_info() == (0, 0)
    assert function.signatures() == ()
    assert [p.name for p in cache_dir.rglob("*") if p.is_file()] == [
        p.name for p in cache_dir.glob("ceilings-*")
    ]
    assert report.kernels is not None
    assert "calls Python functions back" in report.kernels.problem


def test_a_call_afterwards_is_as_if_there_had_been_none() -> None:
    function = pyc.jit(programs.elementwise_chain)
    function.explain(of(5), of(5))
    with reasons.collecting() as events:
        function(of(5), of(5))
    assert Reason.COMPILE_FIRST_CALL in [e.reason for e in events]
    assert function.cache_info() == (1, 1)
    counts = pyc.cache.stats().per_function["elementwise_chain"]
    assert (counts.misses.total(), counts.hits_memory, counts.hits_disk) == (1, 0, 0)
    report = function.explain(of(5), of(5))
    assert report.cache is not None
    assert report.cache.process and report.cache.disk and report.cache.compiled is None
    assert pyc.cache.stats().per_function["elementwise_chain"].as_dict() == counts.as_dict()
    assert function.cache_info() == (1, 1)


def test_arguments_are_as_before_also_if_they_are_donated_and_measured() -> None:
    x, y = of(1000), of(1000)
    before = x.copy(), y.copy()
    function = pyc.jit(lambda x, y: (x * 2, x + y), donate_argnums=(0, 1))
    report = function.explain(x, y, measure=True)
    assert np.array_equal(x, before[0]) and np.array_equal(y, before[1])
    assert report.kernels is not None and report.memory is not None
    assert all(row.measured is not None for row in report.kernels.rows)
    assert report.memory.donated > 0
    device = pyc.device_put(x, "cpu")
    pyc.jit(lambda x: x + 1, donate_argnums=0).explain(device)
    assert np.array_equal(np.asarray(device), x)


def test_no_levels_are_dumped(tmp_path: Path) -> None:
    with config.using(dump_dir=str(tmp_path / "dumped")):
        pyc.explain(programs.softmax, of(4, 5))
    assert not (tmp_path / "dumped").exists()


# --- measured -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "layer", "heat", "unrolled"])
def test_kernels_are_measured_where_that_is_asked_for(name: str) -> None:
    report = pyc.explain(getattr(programs, name), *TYPICAL[name], measure=True)
    assert report.kernels is not None
    for row in report.kernels.rows:
        assert row.measured is not None and row.measured >= 0
        assert row.share is None or row.share == row.bound / row.measured
    assert report.kernels.program is not None
    assert report.kernels.program > 0
    assert "measured" in report.text()


def test_a_kernel_of_a_known_time_is_measured_so() -> None:
    """A chain of a hundred thousand dependent additions takes at least a cycle each."""
    report = pyc.explain(lambda x: np.cumsum(x), of(100_000, dtype=np.float64), measure=True)
    assert report.kernels is not None
    (row,) = report.kernels.rows
    assert row.measured is not None
    assert 1e-5 < row.measured < 0.1
    assert report.kernels.program is not None
    assert row.measured < 3 * report.kernels.program


def test_a_program_that_raises_is_not_measured() -> None:
    def checked(x, i):
        return x[i]

    report = pyc.explain(checked, of(5), np.array([7]), measure=True)
    assert report.kernels is not None
    assert report.kernels.problem.endswith("a call with these arguments raises")
    assert report.kernels.rows[0].measured is None


# --- which program --------------------------------------------------------------------------------


def test_the_program_that_is_there_is_explained() -> None:
    rate = {"value": 0.5}
    function = pyc.jit(lambda x: x * rate["value"])
    first = function.explain(of(3))
    assert first.signature is not None and first.cache is not None
    assert first.signature.guards == ("rate['value'] = 0.5",)
    assert first.cache.compiled is not None
    assert first.cache.compiled.code == Reason.COMPILE_FIRST_CALL.code
    function(of(3))
    rate["value"] = 0.75
    for _ in range(2):  # what is explained changes nothing
        second = function.explain(of(3))
        assert second.cache is not None and second.signature is not None
        assert second.cache.compiled is not None
        assert second.cache.compiled.code == Reason.GUARD_CAPTURE_CHANGED.code
        assert [a.name for a in second.signature.captured] == ["rate['value']"]
    function(of(3))
    rate["value"] = 0.25
    third = function.explain(of(3))
    assert third.cache is not None and third.signature is not None
    assert third.cache.process and third.cache.compiled is None
    assert [a.name for a in third.signature.captured] == ["rate['value']"]
    assert third.cache.key == function.compile(of(3)).key


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ((np.ones(3),), (np.ones(4),), Reason.COMPILE_NEW_SHAPE),
        ((np.ones(3),), (np.ones(3, np.float32),), Reason.COMPILE_NEW_DTYPE),
        ((np.ones(3),), ([np.ones(3)],), Reason.COMPILE_NEW_STRUCTURE),
    ],
)
def test_why_a_call_would_be_compiled(first: Any, second: Any, why: Reason) -> None:
    function = pyc.jit(lambda x: x[0] * 2)
    function(*first)
    report = function.explain(*second)
    assert report.cache is not None and report.cache.compiled is not None
    assert report.cache.compiled.code == why.code


def test_another_function_finds_the_program_on_the_disk() -> None:
    pyc.jit(programs.softmax)(of(4, 5))
    report = pyc.explain(programs.softmax, of(4, 5))
    assert report.cache is not None
    assert report.cache.disk and report.cache.process
    pyc.cache.memory.clear()
    report = pyc.explain(programs.softmax, of(4, 5))
    assert report.cache is not None
    assert report.cache.disk and not report.cache.process
    other = pyc.explain(programs.softmax, of(6, 5))
    assert other.cache is not None
    assert ("argument `x`", "f32[4,5]", "f32[6,5]") in other.cache.nearest
    with config.using(cache="off"):
        without = pyc.explain(programs.softmax, of(4, 5))
    assert without.cache is not None and without.cache.note is not None
    assert without.cache.note.code == Reason.CACHE_DISABLED.code


def test_a_frozen_cache_says_that_a_call_would_raise() -> None:
    with config.using(cache="frozen"):
        report = pyc.explain(programs.softmax, of(4, 5))
        assert "the cache is frozen: a call raises CacheMissError" in report.text()
        with pytest.raises(CacheMissError):
            pyc.jit(programs.softmax)(of(4, 5))
    pyc.jit(programs.softmax)(of(4, 5))
    with config.using(cache="frozen"):
        assert "frozen" not in pyc.explain(programs.softmax, of(4, 5)).text()


class Scaled:
    """An object that is called."""

    scale = 2.0

    def __call__(self, x):
        return x * self.scale

    def method(self, x, y=1.0):
        return x * self.scale + y


@pytest.mark.parametrize(
    "function",
    [
        Scaled().method,
        functools.partial(Scaled().method, y=2.0),
        lambda x: Scaled().method(x),
        pyc.jit(programs.heat, loops="unroll"),
        pyc.jit(programs.softmax, name="another"),
        np.sqrt,
    ],
)
def test_whatever_is_jitted_is_explained(function: Any) -> None:
    x = of(6)
    report = pyc.explain(function, x)
    jitted = function if isinstance(function, Jitted) else pyc.jit(function)
    assert report.refusal is None, report
    assert report.memory is not None
    assert report.memory.peak == jitted.lower(x).memory_analysis().peak


def test_methods_keywords_and_plain_functions() -> None:
    class Model:
        scale = 2.0

        @pyc.jit
        def step(self, x, *, shift=0.0):
            return x * self.scale + shift

    model = Model()
    for report in (model.step.explain(of(3), shift=1.0), pyc.explain(model.step, of(3), shift=1.0)):
        assert report.signature is not None
        assert report.signature.text == f"step(self: {Model.__qualname__}, x: f32[3], shift: float)"
        assert "Model.scale = 2.0" in report.signature.guards
    with pytest.raises(TypeError, match="expected a function, got int"):
        pyc.explain(3)  # type: ignore[arg-type]


def test_an_argument_that_is_copied_says_so() -> None:
    report = pyc.explain(programs.softmax, of(5, 4).T)
    assert report.signature is not None
    assert "PYC2512" in report.signature.arguments[0].note
    assert Reason.ARGUMENT_COPIED_NOT_CONTIGUOUS.code in [n.code for n in report.notes]


def test_effects_of_the_mode_that_warns_are_listed() -> None:
    function = pyc.jit(programs.printing, purity="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = function.explain(of(4))
    assert report.purity.mode == "warn"
    assert "`print` writes" in report.purity.found[0]
    assert report.refusal is None


# --- refused --------------------------------------------------------------------------------------


def generator(x):
    yield x


@pytest.mark.parametrize(
    ("function", "args", "stage", "error", "code"),
    [
        (programs.printing, (of(4),), "while it is traced", "PurityError", "PYC2001"),
        (programs.shapes, (of(4), of(5)), "while it is traced", "ShapeError", "PYC1300"),
        (generator, (of(4),), "when it is decorated", "PurityError", "PYC2012"),
        (programs.softmax, ("text",), "while it is traced", "AttributeError", ""),
        (
            programs.softmax,
            (object(),),
            "when its arguments are looked at",
            "DTypeError",
            "PYC1310",
        ),
        (programs.softmax, (), "while it is traced", "TypeError", ""),
        (
            pyc.jit(programs.softmax, device="cuda"),
            (of(2, 2),),
            "when it is compiled",
            "DeviceError",
            "PYC1600",
        ),
    ],
)
def test_a_refused_function_says_what_a_call_raises(
    function: Any, args: Any, stage: str, error: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if error == "DeviceError":
        monkeypatch.setattr(pyc.backends.cuda_driver(), "problem", lambda: (Reason.NO_GPU, "none"))
    report = pyc.explain(function, *args)
    assert report.refusal is not None
    assert (report.refusal.stage, report.refusal.error, report.refusal.code) == (stage, error, code)
    assert report.refusal.shown.strip() in re.sub(r"(?m)^  ", "", report.text())
    assert report.kernels is None
    with pytest.raises(Exception) as raised:
        (pyc.jit(function) if not hasattr(function, "lower") else function)(*args)
    assert type(raised.value).__name__ == error
    assert Report.html(report).count("Refused") == 1


# --- forms ----------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The tags of a page, and what it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.add(tag)
        if tag not in ("meta", "br", "rect"):
            self.open.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        assert tag in ("rect",) or self.open.pop() == tag


def test_the_page_needs_nothing_else() -> None:
    report = pyc.explain(lambda x: np.where(x < 1, x, "<script>" > "" and x), of(3), measure=True)
    page = Page()
    page.feed(report.html())
    assert not page.open, "every tag is closed"
    assert not page.links
    assert "script" not in page.names
    assert not re.search(r"<(?![a-zA-Z/!])", report.html()), "what is no tag is escaped"
    assert "prefers-color-scheme: dark" in report.html()
    assert "<script>" not in report.html()
    assert report._repr_html_().startswith("<style>")


def test_a_report_is_saved_in_the_form_of_its_name(tmp_path: Path) -> None:
    report = pyc.explain(programs.layer, *TYPICAL["layer"])
    for ending, form in (("html", report.html()), ("json", report.json()), ("txt", report.text())):
        report.save(tmp_path / f"report.{ending}")
        assert (tmp_path / f"report.{ending}").read_text() == form
    with pytest.raises(ArgumentError, match=r"does not end in \.html, \.json or \.txt"):
        report.save(tmp_path / "report.pdf")
    found = json.loads(report.json())
    assert found["kernels"]["rows"][0]["share"] is None
    assert found["signature"]["arguments"][0]["name"] == "x"
    assert repr(report) == report.text().rstrip("\n") == str(report).rstrip("\n")
