"""The image loader: code runs, pages are protected, and no malformed object crashes it."""

from __future__ import annotations

import ctypes
import gc
import random
import struct
import time

import llvmlite.binding as llvm
import pytest

from pyc.backends.image import Image
from pyc.errors import CompileError

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

SUM = """
@weights = private constant [4 x double] [double 1.0, double 2.0, double 4.0, double 8.0]
define double @weighted(ptr %x) {
entry: br label %loop
loop:
  %i = phi i64 [0, %entry], [%n, %loop]
  %s = phi double [0.0, %entry], [%t, %loop]
  %p = getelementptr double, ptr %x, i64 %i
  %w = getelementptr double, ptr @weights, i64 %i
  %a = load double, ptr %p
  %b = load double, ptr %w
  %m = fmul double %a, %b
  %t = fadd double %s, %m
  %n = add i64 %i, 1
  %c = icmp ult i64 %n, 4
  br i1 %c, label %loop, label %end
end: ret double %t
}
"""

VARIABLES = """
@shared = global i64 40
@empty = global [5000 x i64] zeroinitializer
@table = constant [2 x ptr] [ptr @next, ptr @shared]
define i64 @next() {
  %a = load i64, ptr @shared
  %b = add i64 %a, 1
  store i64 %b, ptr @shared
  %p = getelementptr i64, ptr @empty, i64 4999
  store i64 %b, ptr %p
  ret i64 %b
}
define i64 @through_table() noinline {
  %f = load volatile ptr, ptr @table
  %r = call i64 %f()
  %p = getelementptr i64, ptr @empty, i64 4999
  %q = load i64, ptr %p
  %s = add i64 %q, %r
  ret i64 %s
}
"""


def emit(text: str, *, reloc: str = "pic", optimisation: int = 2) -> bytes:
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(opt=optimisation, reloc=reloc, codemodel="small")
    module = llvm.parse_assembly(text)
    module.triple = "x86_64-unknown-linux-gnu"
    module.verify()
    return bytes(machine.emit_object(module))


def test_code_reads_its_constants() -> None:
    weighted = Image(emit(SUM)).function("weighted", ctypes.c_double, ctypes.c_void_p)
    gc.collect()
    x = (ctypes.c_double * 4)(1, 10, 100, 1000)
    assert weighted(ctypes.addressof(x)) == 8421.0


@pytest.mark.parametrize("optimisation", [0, 2])
def test_variables_tables_and_calls_inside_are_resolved(optimisation: int) -> None:
    """Covers the address table (GOT), jump relocations, words in read-only data and .bss."""
    image = Image(emit(VARIABLES, optimisation=optimisation))
    through_table = image.function("through_table", ctypes.c_int64)
    assert [through_table(), through_table()] == [82, 84]
    assert ctypes.c_int64.from_address(image.address("shared")).value == 42
    assert set(image.symbols) == {"shared", "empty", "table", "next", "through_table"}


def test_two_images_of_one_object_share_no_variable() -> None:
    code = emit(VARIABLES)
    first, second = Image(code), Image(code)
    assert first.function("next", ctypes.c_int64)() == 41
    assert second.function("next", ctypes.c_int64)() == 41


def _permissions(start: int, nbytes: int) -> list[str]:
    """Of each mapping that holds one of these bytes (neighbours may be merged into one)."""
    found = []
    with open("/proc/self/maps") as lines:
        for line in lines:
            span, permission = line.split()[:2]
            first, end = (int(part, 16) for part in span.split("-"))
            if first < start + nbytes and end > start:
                found.append(permission)
    return found


def test_no_page_is_writable_and_executable() -> None:
    """And code and constants cannot be written at all."""
    variables, functions = Image(emit(VARIABLES)), Image(emit(SUM))
    permissions = _permissions(variables.base, variables.nbytes)
    assert sorted({p[:3] for p in permissions}) == ["r--", "r-x", "rw-"]
    permissions = _permissions(functions.base, functions.nbytes)
    assert {p[:3] for p in permissions} == {"r--", "r-x"}


def test_the_code_is_unmapped_with_the_image() -> None:
    image = Image(emit(SUM))
    function = image.function("weighted", ctypes.c_double, ctypes.c_void_p)
    base, nbytes = image.base, image.nbytes
    del image
    gc.collect()
    assert _permissions(base, nbytes)
    del function
    gc.collect()
    assert not _permissions(base, nbytes)


CALLER = """
declare hidden i64 @inner(i64)
define i64 @outer(i64 %x) {
  %y = call i64 @inner(i64 %x)
  %z = mul i64 %y, 10
  ret i64 %z
}
define ptr @where() { ret ptr @inner }"""
CALLED = """
@number = internal constant i64 7
define hidden i64 @inner(i64 %x) {
  %n = load i64, ptr @number
  %y = add i64 %x, %n
  ret i64 %y
}"""


@pytest.mark.parametrize("reverse", [False, True])
def test_an_object_calls_what_another_one_defines(reverse: bool) -> None:
    objects = [emit(CALLER), emit(CALLED)]
    image = Image(*(objects[::-1] if reverse else objects))
    assert image.function("outer", ctypes.c_int64, ctypes.c_int64)(5) == 120
    assert image.function("where", ctypes.c_size_t)() == image.address("inner")
    with pytest.raises(CompileError, match="does not define: inner"):
        Image(emit(CALLER))


def test_what_two_objects_define_is_refused() -> None:
    with pytest.raises(CompileError, match="inner is defined twice"):
        Image(emit(CALLED), emit(CALLER), emit(CALLED))


def test_undefined_symbols_are_named() -> None:
    text = """
    declare double @beta(double)
    declare double @alpha(double)
    define double @f(double %x) {
      %y = call double @beta(double %x)
      %z = call double @alpha(double %y)
      ret double %z
    }"""
    with pytest.raises(CompileError, match="does not define: alpha, beta"):
        Image(emit(text))


def test_thread_local_variables_are_refused() -> None:
    text = "@t = thread_local global i32 1\ndefine ptr @f() { ret ptr @t }"
    with pytest.raises(CompileError, match="thread-local"):
        Image(emit(text))


def test_absolute_addresses_that_do_not_fit_are_refused() -> None:
    """Code made for a fixed low address says what to do instead."""
    text = """
    @data = internal global [100 x i64] zeroinitializer
    define ptr @f(i64 %i) { %p = getelementptr i64, ptr @data, i64 %i
      ret ptr %p }"""
    with pytest.raises(CompileError, match="reloc='pic'"):
        Image(emit(text, reloc="static"))


def test_a_missing_name_lists_what_is_there() -> None:
    with pytest.raises(CompileError, match="does not define entry; it has weighted"):
        Image(emit(SUM)).address("entry")


def test_other_files_are_refused() -> None:
    for data in (b"", b"\x7fELF", b"MZ" + bytes(200), bytes(64), b"\x7fELF\x02\x01" + bytes(500)):
        with pytest.raises(CompileError):
            Image(data)


@pytest.mark.parametrize("text", [SUM, VARIABLES])
def test_malformed_objects_raise_and_never_crash(text: str) -> None:
    """Every prefix length class and thousands of damaged copies load, or raise our error."""
    code = emit(text, optimisation=0)
    source = random.Random(20)
    refused = 0
    for trial in range(3000):
        damaged = bytearray(code)
        if trial % 3 == 0:
            damaged = damaged[: source.randrange(len(code))]
        for _ in range(source.choice((1, 1, 2, 8))):
            if not damaged:
                break
            at = source.randrange(len(damaged))
            if trial % 3 == 1 and at + 8 <= len(damaged):
                value = source.choice((0, 1, 2**31 - 1, 2**32, 2**63, 2**64 - 1, 2**64 - 4096))
                struct.pack_into("<Q", damaged, at, value)
            else:
                damaged[at] = source.randrange(256)
        try:
            Image(bytes(damaged))
        except CompileError:
            refused += 1
    assert refused > 1000


def test_every_byte_of_the_headers_may_be_damaged() -> None:
    code = emit(SUM)
    (table,) = struct.unpack_from("<Q", code, 40)
    for at in [*range(64), *range(table, len(code))]:
        for value in (0, 0xFF, code[at] ^ 0x80):
            damaged = bytearray(code)
            damaged[at] = value
            try:
                Image(bytes(damaged))
            except CompileError:
                continue


def test_loading_takes_less_than_a_millisecond() -> None:
    """The aim is 0.2 ms; the bound leaves room for a busy machine."""
    code = emit(SUM)
    Image(code)
    times = []
    for _ in range(50):
        start = time.perf_counter()
        Image(code)
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-3
