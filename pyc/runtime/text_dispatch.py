"""LLVM IR of the native call: from a Python call to an entry and back to its results.

    PyObject *dispatch(self, args, nargs, kwnames)     the vectorcall of a `Dispatcher`

`self` heads a list of records, one per specialisation, each inside a Python object, its owner. The
first that `match` (in `text_match`) accepts is run: the results are allocated, the entry is
called, the results are returned. If no record fits, or no arena is free, or native calls are
suspended, `slow` is called with the same arguments: always correct.

Where the entry runs without the GIL, what was taken out of lists and dicts is held by a reference
of our own; the caller holds the arguments themselves. The record's owner is held from before its
steps to the end of the call, so specialisations may be taken out at any time.

Records and results are plain data that `records` writes; their layouts are in `structures`.
"""

from __future__ import annotations

from pyc.ir.plan import NO_MEMORY
from pyc.runtime.layout import ALIGNED, C_CONTIGUOUS, WRITEABLE
from pyc.runtime.text_match import MAXIMUM_SLOTS

MAXIMUM_RESULTS = 64
"""Results of one call at most."""

ARENAS = 8
"""Arenas that native calls may claim, in all."""

LINE_BYTES = 64
"""Bytes of a line of the caches, and of the longest vectors."""

OWNED = 0x4
"""NumPy's flag of arrays whose memory goes with them."""

TRACE_DOMAIN = 389047
"""The domain of `tracemalloc` in which NumPy's memory is."""

RELEASE, TUPLE = 1, 2
"""Flags of a record: run without the GIL and interruptible; return a tuple even of one result."""

TEXT = """
; --- native calls
%callable = type { [$header x i8], ptr, ptr, ptr }
;   header, vectorcall, owner of the first record, slow

@suspended = hidden global ptr null
@memory_error = hidden global ptr null
@arenas = hidden global [$arenas x %arena] zeroinitializer, align 64

; An arena of so many bytes, claimed; null if none is free.
define hidden ptr @claim_arena(i64 %bytes) nounwind {
entry:
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %look]
  %left = icmp ult i64 %k, $arenas
  br i1 %left, label %look, label %none
look:
  %arena = getelementptr [$arenas x %arena], ptr @arenas, i64 0, i64 %k
  %size.at = getelementptr %arena, ptr %arena, i64 0, i32 $arena_nbytes
  %claimed = load i64, ptr %arena
  %size = load i64, ptr %size.at
  %free = icmp eq i64 %claimed, 0
  %large = icmp uge i64 %size, %bytes
  %good = and i1 %free, %large
  %k.next = add i64 %k, 1
  br i1 %good, label %claim, label %next
claim:
  store i64 1, ptr %arena
  ret ptr %arena
none:
  ret ptr null
}

; Calls function(object) for some objects: takes references, or gives them back.
define internal void @call_each(ptr %function, ptr %objects, i64 %count) noinline nounwind {
entry:
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %at
  call void %function(ptr %object)
  %k.next = add i64 %k, 1
  br label %next
end:
  ret void
}

; A new array of so many bytes, of which the first is the first of a line of the caches, where NumPy
; has its own way to allocate: that gets the memory back. Takes the reference to the descriptor.
; Null if a Python error is set.
define internal ptr @new_aligned(ptr %descriptor, i32 %rank, ptr %dimensions, i64 %bytes)
    noinline nounwind {
entry:
  %create = load ptr, ptr @f_PyArray_NewFromDescr
  %array.type = load ptr, ptr @f_PyArray_Type
  %drop = load ptr, ptr @f_Py_DecRef
  %get = load ptr, ptr @f_PyDataMem_GetHandler
  %default.at = load ptr, ptr @f_PyDataMem_DefaultHandler
  %default = load ptr, ptr %default.at
  %handler = call ptr %get()
  %unknown = icmp eq ptr %handler, null
  br i1 %unknown, label %broken, label %known
broken:
  call void %drop(ptr %descriptor)
  ret ptr null
known:
  %usual = icmp eq ptr %handler, %default
  br i1 %usual, label %allocate, label %plain
allocate:
  %reserve = load ptr, ptr @f_aligned_alloc
  %memory = call ptr %reserve(i64 $line_bytes, i64 %bytes)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %plain, label %wrap
plain:
  call void %drop(ptr %handler)
  %other = call ptr %create(ptr %array.type, ptr %descriptor, i32 %rank, ptr %dimensions,
                            ptr null, ptr null, i32 0, ptr null)
  ret ptr %other
wrap:
  %made = call ptr %create(ptr %array.type, ptr %descriptor, i32 %rank, ptr %dimensions,
                           ptr null, ptr %memory, i32 $own_flags, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %undo, label %own
undo:
  %free = load ptr, ptr @f_free
  call void %free(ptr %memory)
  call void %drop(ptr %handler)
  ret ptr null
own:
  %allocator.at = getelementptr i8, ptr %made, i64 $allocator
  %flags.at = getelementptr i8, ptr %made, i64 $flags
  store ptr %handler, ptr %allocator.at
  %flags = load i32, ptr %flags.at
  %owned = or i32 %flags, $owned_flag
  store i32 %owned, ptr %flags.at
  %track = load ptr, ptr @f_PyTraceMalloc_Track
  %tracked = call i32 %track(i32 $trace_domain, ptr %memory, i64 %bytes)
  ret ptr %made
}

; Allocates the results: arrays, and 16 bytes of `scalars` each for those of rank 0; donated arrays
; are among `values`: they are results, or what their maker makes of them is. False if a Python
; error is set; nothing is then left allocated.
define internal i1 @allocate(ptr %record, ptr %objects, ptr %addresses, ptr %scalars, ptr %values)
    alwaysinline nounwind {
entry:
  %count.at = getelementptr %record, ptr %record, i64 0, i32 $record_result_count
  %results.at = getelementptr %record, ptr %record, i64 0, i32 $record_results
  %count = load i64, ptr %count.at
  %results = load ptr, ptr %results.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %put]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %yes
one:
  %result = getelementptr %result, ptr %results, i64 %k
  %rank.at = getelementptr %result, ptr %result, i64 0, i32 $result_rank
  %dimensions.at = getelementptr %result, ptr %result, i64 0, i32 $result_dimensions
  %maker.at = getelementptr %result, ptr %result, i64 0, i32 $result_maker
  %aligned.at = getelementptr %result, ptr %result, i64 0, i32 $result_aligned
  %object.at = getelementptr ptr, ptr %objects, i64 %k
  %address.at = getelementptr ptr, ptr %addresses, i64 %k
  %scalar = getelementptr [16 x i8], ptr %scalars, i64 %k
  %descriptor = load ptr, ptr %result
  %rank = load i64, ptr %rank.at
  %dimensions = load ptr, ptr %dimensions.at
  %maker = load ptr, ptr %maker.at
  %makes = icmp ne ptr %maker, null
  br i1 %makes, label %make, label %plain
make:
  %is.donated = icmp eq ptr %dimensions, null
  br i1 %is.donated, label %take, label %call.maker
take:
  %donated.at = getelementptr ptr, ptr %values, i64 %rank
  %donated = load ptr, ptr %donated.at
  %is.made = icmp eq ptr %descriptor, null
  br i1 %is.made, label %call.taker, label %keep.donated
keep.donated:
  %hold.donated = load ptr, ptr @f_Py_IncRef
  call void %hold.donated(ptr %donated)
  br label %array
call.taker:
  %call.one = load ptr, ptr @f_PyObject_CallOneArg
  %remade = call ptr %call.one(ptr %maker, ptr %donated)
  br label %array
call.maker:
  %call = load ptr, ptr @f_PyObject_CallNoArgs
  %made = call ptr %call(ptr %maker)
  br label %array
plain:
  %is.scalar = icmp eq i64 %rank, 0
  br i1 %is.scalar, label %put, label %new
new:
  %hold = load ptr, ptr @f_Py_IncRef
  call void %hold(ptr %descriptor)
  %rank.half = trunc i64 %rank to i32
  %aligned = load i64, ptr %aligned.at
  %anywhere = icmp eq i64 %aligned, 0
  br i1 %anywhere, label %new.anywhere, label %new.aligned
new.aligned:
  %placed = call ptr @new_aligned(ptr %descriptor, i32 %rank.half, ptr %dimensions, i64 %aligned)
  br label %array
new.anywhere:
  %create = load ptr, ptr @f_PyArray_NewFromDescr
  %array.type = load ptr, ptr @f_PyArray_Type
  %created = call ptr %create(ptr %array.type, ptr %descriptor, i32 %rank.half, ptr %dimensions,
                              ptr null, ptr null, i32 0, ptr null)
  br label %array
array:
  %object = phi ptr [%made, %call.maker], [%created, %new.anywhere], [%placed, %new.aligned],
                [%donated, %keep.donated], [%remade, %call.taker]
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %undo, label %filled
filled:
  %data.at = getelementptr i8, ptr %object, i64 $header
  %data = load ptr, ptr %data.at
  br label %put
put:
  %keep = phi ptr [null, %plain], [%object, %filled]
  %address = phi ptr [%scalar, %plain], [%data, %filled]
  store ptr %keep, ptr %object.at
  store ptr %address, ptr %address.at
  %k.next = add i64 %k, 1
  br label %next
yes:
  ret i1 true
undo:
  %drop = load ptr, ptr @f_Py_DecRef
  call void @call_each(ptr %drop, ptr %objects, i64 %k)
  ret i1 false
}

; What the call returns; takes over the references in `objects`. Null if a Python error is set.
define internal ptr @give(ptr %record, ptr %objects, ptr %addresses)
    alwaysinline nounwind {
entry:
  %flags.at = getelementptr %record, ptr %record, i64 0, i32 $record_flags
  %count.at = getelementptr %record, ptr %record, i64 0, i32 $record_result_count
  %results.at = getelementptr %record, ptr %record, i64 0, i32 $record_results
  %wrap.at = getelementptr %record, ptr %record, i64 0, i32 $record_wrap
  %flags = load i64, ptr %flags.at
  %count = load i64, ptr %count.at
  %results = load ptr, ptr %results.at
  %wrap = load ptr, ptr %wrap.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %done]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %pack
one:
  %object.at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %object.at
  %k.next = add i64 %k, 1
  %is.scalar = icmp eq ptr %object, null
  br i1 %is.scalar, label %scalar, label %done
scalar:
  %address.at = getelementptr ptr, ptr %addresses, i64 %k
  %address = load ptr, ptr %address.at
  %result = getelementptr %result, ptr %results, i64 %k
  %descriptor = load ptr, ptr %result
  %box = load ptr, ptr @f_PyArray_Scalar
  %boxed = call ptr %box(ptr %address, ptr %descriptor, ptr null)
  store ptr %boxed, ptr %object.at
  %unboxed = icmp eq ptr %boxed, null
  br i1 %unboxed, label %drop, label %done
done:
  br label %next
pack:
  %as.tuple = and i64 %flags, $tuple_flag
  %single = icmp eq i64 %as.tuple, 0
  br i1 %single, label %first, label %tuple
first:
  %only = load ptr, ptr %objects
  br label %wrapped
tuple:
  %create = load ptr, ptr @f_PyTuple_New
  %made = call ptr %create(i64 %count)
  %unmade = icmp eq ptr %made, null
  br i1 %unmade, label %drop, label %fill
fill:
  %set = load ptr, ptr @f_PyTuple_SetItem
  br label %fill.next
fill.next:
  %i = phi i64 [0, %fill], [%i.next, %fill.one]
  %unfilled = icmp ult i64 %i, %count
  br i1 %unfilled, label %fill.one, label %wrapped
fill.one:
  %item.at = getelementptr ptr, ptr %objects, i64 %i
  %item = load ptr, ptr %item.at
  %ok = call i32 %set(ptr %made, i64 %i, ptr %item)
  %i.next = add i64 %i, 1
  br label %fill.next
wrapped:
  %value = phi ptr [%only, %first], [%made, %fill.next]
  %wraps = icmp ne ptr %wrap, null
  br i1 %wraps, label %call, label %end
call:
  %call.one = load ptr, ptr @f_PyObject_CallOneArg
  %drop.value = load ptr, ptr @f_Py_DecRef
  %shaped = call ptr %call.one(ptr %wrap, ptr %value)
  call void %drop.value(ptr %value)
  ret ptr %shaped
end:
  ret ptr %value
drop:
  %drop.object = load ptr, ptr @f_Py_DecRef
  call void @call_each(ptr %drop.object, ptr %objects, i64 %count)
  ret ptr null
}

; Calls failure(owner, code, site, value); what it returns, null if it raised.
define internal ptr @fail(ptr %record, i32 %code, i64 %site, i64 %value)
    noinline optnone nounwind {
entry:
  %arguments = alloca [4 x ptr]
  %owner.at = getelementptr %record, ptr %record, i64 0, i32 $record_owner
  %failure.at = getelementptr %record, ptr %record, i64 0, i32 $record_failure
  %owner = load ptr, ptr %owner.at
  %failure = load ptr, ptr %failure.at
  %number = load ptr, ptr @f_PyLong_FromLongLong
  %call = load ptr, ptr @f_PyObject_Vectorcall
  %code.wide = sext i32 %code to i64
  %code.object = call ptr %number(i64 %code.wide)
  %site.object = call ptr %number(i64 %site)
  %value.object = call ptr %number(i64 %value)
  %code.at = getelementptr ptr, ptr %arguments, i64 1
  %site.at = getelementptr ptr, ptr %arguments, i64 2
  %value.at = getelementptr ptr, ptr %arguments, i64 3
  store ptr %owner, ptr %arguments
  store ptr %code.object, ptr %code.at
  store ptr %site.object, ptr %site.at
  store ptr %value.object, ptr %value.at
  %made.code = icmp ne ptr %code.object, null
  %made.site = icmp ne ptr %site.object, null
  %made.value = icmp ne ptr %value.object, null
  %made.two = and i1 %made.code, %made.site
  %made = and i1 %made.two, %made.value
  br i1 %made, label %raise, label %end
raise:
  %raised = call ptr %call(ptr %failure, ptr %arguments, i64 4, ptr null)
  br label %end
end:
  %result = phi ptr [%raised, %raise], [null, %entry]
  %drop = load ptr, ptr @f_Py_DecRef
  call void @call_each(ptr %drop, ptr %code.at, i64 3)
  ret ptr %result
}

; Runs a record whose steps held, in a claimed arena or without one.
define internal ptr @run(ptr %record, ptr %arena, ptr %slots, ptr %values, i64 %held)
    alwaysinline nounwind {
entry:
  %objects = alloca [$results x ptr], align 16
  %addresses = alloca [$results x ptr], align 16
  %scalars = alloca [$results x [16 x i8]], align 16
  %context = alloca [8 x i64], align 64
  %entry.at = getelementptr %record, ptr %record, i64 0, i32 $record_entry
  %flags.at = getelementptr %record, ptr %record, i64 0, i32 $record_flags
  %calls.at = getelementptr %record, ptr %record, i64 0, i32 $record_calls
  %count.at = getelementptr %record, ptr %record, i64 0, i32 $record_result_count
  %template = getelementptr %record, ptr %record, i64 0, i32 $record_context
  %count = load i64, ptr %count.at
  %has.arena = icmp ne ptr %arena, null
  %holds = icmp ne i64 %held, 0
  br i1 %holds, label %hold, label %allocate
hold:
  %hold.object = load ptr, ptr @f_Py_IncRef
  call void @call_each(ptr %hold.object, ptr %values, i64 %held)
  br label %allocate
allocate:
  %allocated = call i1 @allocate(ptr %record, ptr %objects, ptr %addresses, ptr %scalars,
                                 ptr %values)
  br i1 %allocated, label %prepare, label %unallocated
unallocated:
  %matches = load ptr, ptr @f_PyErr_ExceptionMatches
  %memory.error = load ptr, ptr @memory_error
  %matching = call i32 %matches(ptr %memory.error)
  %lacks = icmp ne i32 %matching, 0
  br i1 %lacks, label %lacking, label %unclaim
lacking:
  %clear = load ptr, ptr @f_PyErr_Clear
  call void %clear()
  %lacked = call ptr @fail(ptr %record, i32 $no_memory, i64 0, i64 0)
  br label %unclaim
prepare:
  %calls = load i64, ptr %calls.at
  %calls.new = add i64 %calls, 1
  store i64 %calls.new, ptr %calls.at
  %fields = load <8 x i64>, ptr %template, align 8
  store <8 x i64> %fields, ptr %context, align 64
  br i1 %has.arena, label %place, label %call
place:
  %data.at = getelementptr %arena, ptr %arena, i64 0, i32 $arena_data
  %data = load ptr, ptr %data.at
  store ptr %data, ptr %context
  br label %call
call:
  %function = load ptr, ptr %entry.at
  %flags = load i64, ptr %flags.at
  %release.bit = and i64 %flags, $release
  %release = trunc i64 %release.bit to i32
  %code = call i32 @invoke(ptr %function, ptr %context, ptr %slots, ptr %addresses, i32 %release)
  %good = icmp eq i32 %code, 0
  br i1 %good, label %results, label %failed
results:
  %given = call ptr @give(ptr %record, ptr %objects, ptr %addresses)
  br label %unclaim
failed:
  %drop.result = load ptr, ptr @f_Py_DecRef
  call void @call_each(ptr %drop.result, ptr %objects, i64 %count)
  %interrupted = icmp eq i32 %code, -2
  br i1 %interrupted, label %unclaim, label %tell
tell:
  %site.at = getelementptr [8 x i64], ptr %context, i64 0, i64 $context_error_site
  %value.at = getelementptr [8 x i64], ptr %context, i64 0, i64 $context_error_value
  %site = load i64, ptr %site.at
  %value = load i64, ptr %value.at
  %told = call ptr @fail(ptr %record, i32 %code, i64 %site, i64 %value)
  br label %unclaim
unclaim:
  %result = phi ptr [null, %unallocated], [%lacked, %lacking], [%given, %results],
                    [null, %failed], [%told, %tell]
  br i1 %has.arena, label %free, label %release.held
free:
  store i64 0, ptr %arena
  br label %release.held
release.held:
  br i1 %holds, label %drop, label %end
drop:
  %drop.object = load ptr, ptr @f_Py_DecRef
  call void @call_each(ptr %drop.object, ptr %values, i64 %held)
  br label %end
end:
  ret ptr %result
}

define hidden ptr @dispatch(ptr %self, ptr %args, i64 %count.flag, ptr %names) nounwind {
entry:
  %values = alloca [$slots x ptr], align 16
  %slots = alloca [$slots_and_one x [16 x i8]], align 16
  %positional = and i64 %count.flag, 9223372036854775807
  %first.owner.at = getelementptr %callable, ptr %self, i64 0, i32 2
  %slow.at = getelementptr %callable, ptr %self, i64 0, i32 3
  %first.owner = load ptr, ptr %first.owner.at
  %hold = load ptr, ptr @f_Py_IncRef
  %drop = load ptr, ptr @f_Py_DecRef
  %has.names = icmp ne ptr %names, null
  br i1 %has.names, label %named, label %begin
named:
  %names.size.at = getelementptr i8, ptr %names, i64 $header
  %names.size = load i64, ptr %names.size.at
  %with.names = add i64 %positional, %names.size
  br label %begin
begin:
  %count = phi i64 [%positional, %entry], [%with.names, %named]
  %suspended.at = load ptr, ptr @suspended
  %suspended = load i32, ptr %suspended.at
  %running = icmp eq i32 %suspended, 0
  %has = icmp ne ptr %first.owner, null
  %any = and i1 %running, %has
  br i1 %any, label %hold.first, label %fallback
hold.first:
  %first.at = getelementptr i8, ptr %first.owner, i64 $header
  %first = load ptr, ptr %first.at
  call void %hold(ptr %first.owner)
  br label %try
try:
  %record = phi ptr [%first, %hold.first], [%next, %advance]
  %owner = phi ptr [%first.owner, %hold.first], [%next.owner, %advance]
  %hit = call i1 @match(ptr %record, ptr %args, i64 %count, ptr %names, ptr %values, ptr %slots)
  br i1 %hit, label %found, label %miss
miss:
  ; The next record lives while this one is held, for its owner holds the next owner.
  %next = load ptr, ptr %record
  %has.next = icmp ne ptr %next, null
  br i1 %has.next, label %advance, label %give.up
advance:
  %next.owner.at = getelementptr %record, ptr %next, i64 0, i32 $record_owner
  %next.owner = load ptr, ptr %next.owner.at
  call void %hold(ptr %next.owner)
  call void %drop(ptr %owner)
  br label %try
found:
  %bytes.at = getelementptr %record, ptr %record, i64 0, i32 $record_arena_bytes
  %values.count.at = getelementptr %record, ptr %record, i64 0, i32 $record_values
  %bytes = load i64, ptr %bytes.at
  %values.count = load i64, ptr %values.count.at
  %held = sub i64 %values.count, %count
  %needs = icmp ne i64 %bytes, 0
  br i1 %needs, label %claim, label %go
claim:
  %claimed = call ptr @claim_arena(i64 %bytes)
  %none = icmp eq ptr %claimed, null
  br i1 %none, label %give.up, label %go
go:
  %arena = phi ptr [null, %found], [%claimed, %claim]
  %result = call ptr @run(ptr %record, ptr %arena, ptr %slots, ptr %values, i64 %held)
  call void %drop(ptr %owner)
  ret ptr %result
give.up:
  call void %drop(ptr %owner)
  br label %fallback
fallback:
  %slow = load ptr, ptr %slow.at
  %has.slow = icmp ne ptr %slow, null
  br i1 %has.slow, label %python, label %broken
python:
  call void %hold(ptr %slow)
  %call = load ptr, ptr @f_PyObject_Vectorcall
  %answer = call ptr %call(ptr %slow, ptr %args, i64 %count.flag, ptr %names)
  call void %drop(ptr %slow)
  ret ptr %answer
broken:
  %bad = load ptr, ptr @f_PyErr_BadInternalCall
  call void %bad()
  ret ptr null
}
"""

EXTERNALS = (
    *("Py_IncRef", "Py_DecRef", "PyObject_Vectorcall", "PyObject_CallNoArgs"),
    *("PyObject_CallOneArg", "PyTuple_New", "PyTuple_SetItem", "PyLong_FromLongLong"),
    *("PyErr_BadInternalCall", "PyErr_ExceptionMatches"),
    *("PyArray_Type", "PyArray_NewFromDescr", "PyArray_Scalar"),
    *("PyDataMem_GetHandler", "PyDataMem_DefaultHandler", "PyTraceMalloc_Track"),
    *("aligned_alloc", "free"),
)
"""C functions (and NumPy's array type) that the code reaches through a variable `f_NAME` each."""

NUMBERS = {
    "slots": MAXIMUM_SLOTS,
    "slots_and_one": MAXIMUM_SLOTS + 1,
    "results": MAXIMUM_RESULTS,
    "arenas": ARENAS,
    "release": RELEASE,
    "tuple_flag": TUPLE,
    "no_memory": NO_MEMORY,
    "line_bytes": LINE_BYTES,
    "owned_flag": OWNED,
    "own_flags": C_CONTIGUOUS | ALIGNED | WRITEABLE,
    "trace_domain": TRACE_DOMAIN,
}
"""The numbers of this text, under the names that it has for them."""
